"""Cheats about payments: transfers shown twice or too early, guessed outputs, raised prices and places kept busy."""

import re
from hashlib import sha256

from tests.simulation.blocks import BLOCK_SECONDS
from tests.simulation.cheats.base import Abandoned, Cheat
from tests.simulation.nodes import Faults
from tests.simulation.population import Identity, register
from tests.simulation.records import Json
from tests.support.trade import PRICE
from tools.chain.chain_reads import CURRENT_SECONDS, FRESH_HEAD_SECONDS
from tools.kernel.canonical_json import canonical

RECOVERED_SECONDS = 120.0  # within which the market notices that a node answers again
GUESSES = 500  # possible outputs of the victim
DIGEST = re.compile(r"[0-9a-f]{64}")
CHEAP, DEAR = 10_000, 900_000_000
NEED = {"title": "A poem in English", "description": "Four lines on the sea.", "budget_max": DEAR, "category": "text"}


class ReusesHashes(Cheat):
    """A payer that shows one transfer for two jobs of the same seller."""

    name = "reuses hashes"

    async def trick(self) -> None:
        seller = await self.other("seller")
        listing = await self.offer(seller)
        if self.acts == 1:  # a buyer that has paid the seller may have two jobs at once
            await self.pay(self.identity, await self.delivered(seller, self.identity, listing))
            return
        first, second = [await self.delivered(seller, self.identity, listing) for _ in range(2)]
        sent = await self.pay(self.identity, first)
        self.attempt()
        respelled = self.random.choice((sent, sent.upper().replace("0X", "0x"), sent[2:]))
        await self.ask(self.identity, "pay_job", job_id=second["id"], transaction=respelled)
        await self.read_unpaid(self.identity, second, f"{sent} paid two jobs")


class StealsPayments(Cheat):
    """A payer that shows another buyer's transfer for its own job."""

    name = "steals payments"

    async def trick(self) -> None:
        seller, victim = await self.other("seller"), await self.other("victim")
        listing = await self.offer(seller)
        theirs = await self.delivered(seller, victim, listing)
        mine = await self.delivered(seller, self.identity, listing)
        terms = (await self.ask(victim, "pay_job", job_id=theirs["id"])).body
        if "pay_to" not in terms:
            raise Abandoned("no terms")
        sent = self.transfer(victim, terms["pay_to"], terms["amount"])
        self.attempt()
        await self.report(self.identity, mine, sent)
        await self.read_unpaid(self.identity, mine, f"{sent} was sent by {victim.id}")
        await self.report(victim, theirs, sent)


class PaysBeforeOrdering(Cheat):
    """A buyer that pays an order with a transfer that it made earlier for something else."""

    name = "pays before ordering"
    finding = 14

    async def trick(self) -> None:
        seller = await self.other("seller")
        listing = await self.offer(seller)
        sent = self.transfer(self.identity, seller.wallet.address, PRICE)
        await self.simulation.sleep(self.random.choice((12.0, 20.0, 50.0)))  # it is mined within 6 seconds
        chain, oldest = self.simulation.chain, self._oldest_block()
        job = await self.delivered(seller, self.identity, listing)
        oldest = min(oldest, self._oldest_block())
        self.attempt()
        await self.report(self.identity, job, sent)
        mined = chain.transfers_of(sent)
        if not mined or mined[0].block_number >= oldest:
            raise Abandoned("a reorg mined it later, or a node that is behind had not shown its block")
        await self.read_unpaid(self.identity, job, f"{sent} is older than the order")

    def _oldest_block(self) -> int:
        """Return the oldest block whose transfers may pay an order made now: see docs/limits.md."""
        nodes, machines = self.simulation.nodes, self.simulation.machines
        seconds = CURRENT_SECONDS
        if nodes.faults != Faults() or self.simulation.loop.elapsed - nodes.changed_at < RECOVERED_SECONDS:
            back = max(-one.clock.off.total_seconds() for one in machines)
            seconds = nodes.faults.lag * BLOCK_SECONDS + max(FRESH_HEAD_SECONDS, back)
        return self.simulation.chain.head() - int(seconds // BLOCK_SECONDS)


class GuessesOutputs(Cheat):
    """A buyer that guesses a sealed output from everything that the market shows of it."""

    name = "guesses outputs"
    finding = 2

    async def trick(self) -> None:
        seller = await self.other("seller")
        job = await self.delivered(seller, self.identity, await self.offer(seller), self.secret())
        self.attempt()
        about = {"job_id": job["id"]}
        seen = [str(job)]
        for operation in ("get_receipt", "list_job_events", "list_events", "pay_job", "get_inbox", "list_jobs"):
            asked = about if operation in ("get_receipt", "list_job_events", "pay_job") else {}
            seen.append(str((await self.ask(self.identity, operation, **asked)).body))
        seen.append(str((await self.ask(self.identity, "get_delivery", revision=0, **about)).body))
        known = {one for text in seen for one in DIGEST.findall(text)}
        guesses = [{"words": number} for number in range(GUESSES)]
        right = [one for one in guesses if sha256(canonical(one)).hexdigest() in known or f"{one}" in "".join(seen)]
        self.gain("work", len(right), f"{right} is the sealed output of {job['id']}")
        await self.read_unpaid(self.identity, job, "the output is shown unpaid")

    def secret(self) -> Json:
        """Return the victim's output, which is one of few."""
        return {"words": self.random.randrange(GUESSES)}


class RaisesPrices(Cheat):
    """A seller that raises a quote or a proposal after the buyer has read it."""

    name = "raises prices"
    finding = 6

    async def trick(self) -> None:
        victim = await self.other("buyer")
        agreed = await (self.raise_quote(victim) if self.likely(0.5) else self.raise_proposal(victim))
        self.gain("money", max(0, agreed - CHEAP), f"a buyer that read {CHEAP} agreed to {agreed}")

    async def raise_quote(self, victim: Identity) -> int:
        listing = await self.offer(self.identity, pricing_model="quote", price=None)
        job = await self.order(victim, listing)
        await self.need(self.identity, "quote_job", job_id=job["id"], price=CHEAP)
        step = named(await self.need(victim, "get_job", job_id=job["id"]), "accept_quote")
        await self.need(self.identity, "quote_job", job_id=job["id"], price=DEAR)
        self.attempt()
        await self.ask(victim, "accept_quote", **step)
        seen = await self.need(victim, "get_job", job_id=job["id"])
        await self.ask(victim, "cancel_job", job_id=job["id"])
        return seen["price"] or 0

    async def raise_proposal(self, victim: Identity) -> int:
        bounty = await self.need(victim, "create_bounty", **NEED)
        about = {"bounty_id": bounty["id"], "payment": "on_delivery"}
        await self.need(self.identity, "propose_on_bounty", price=CHEAP, **about)
        step = named(await self.need(victim, "list_proposals", bounty_id=bounty["id"]), "award_bounty")
        await self.need(self.identity, "propose_on_bounty", price=DEAR, **about)
        self.attempt()
        awarded = await self.ask(victim, "award_bounty", **step)
        await self.ask(victim, "close_bounty", bounty_id=bounty["id"])
        return 0 if awarded.refused else awarded.body["job"]["price"]


class HoldsPlaces(Cheat):
    """Accounts without money that order until a listing has no place for others."""

    name = "holds places"
    finding = 12
    places = 4

    async def trick(self) -> None:
        seller = await self.other("seller")
        listing = await self.offer(seller, max_open_jobs=self.places)
        if self.acts == 1 or self.likely(0.1):
            made = await register(self.simulation, f"Empty {self.acts} of {self.identity.handle}")
            self.others[f"empty {self.acts}"] = made
        accounts = [self.identity, *(one for name, one in self.others.items() if name.startswith("empty"))][:6]
        self.attempt()
        held: list[tuple[Identity, str]] = []
        for account in [*accounts, *accounts]:
            answer = await self.ask(account, "create_job", listing_id=listing["id"], input={"text": "x"})
            held += [] if answer.refused else [(account, answer.body["id"])]
        allowed = min(len(accounts), self.places // 2)
        self.gain("load", max(0, len(held) - allowed), f"{len(accounts)} accounts hold {held} of {listing['id']}")
        for account, job in held:
            await self.ask(account, "cancel_job", job_id=job)


def named(record: Json, tool: str) -> Json:
    """Return the arguments of a next step; abandon the trick if it is not offered."""
    for step in record["next_steps"]:
        if step["tool"] == tool:
            arguments: Json = step["arguments"]
            return arguments
    raise Abandoned(f"no step {tool}")


PAYMENT_CHEATS = (ReusesHashes, StealsPayments, PaysBeforeOrdering, GuessesOutputs, RaisesPrices, HoldsPlaces)
