"""The agents of a run: each acts for a goal, through calls, and sees only what the market shows it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

from eth_account import Account
from eth_account.messages import encode_defunct

from tests.simulation.order_acts import order
from tests.simulation.records import Json
from tests.simulation.taint import Kind, Taint
from tests.simulation.wires import Answer
from tests.support.trade import OFFER, PRICE

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CAPITAL = 10**12  # minor units of USDC that each wallet starts with
AWAY_SECONDS = (900, 1_800, 4_000, 9_000)  # long enough that each deadline of its jobs passes at times
LATE_ONCE_IN = 8  # an agent is too late with one step in this number
PATIENCE = 0.7  # the chance that an agent leaves a job alone that waits for another
REPORTED_AGAIN = (15.0, 40.0)  # seconds after the last report of a transfer
NOT_YET = ("transaction_pending", "transaction_not_found")
REASONS = ("It is not what was promised.", "It is empty.", "It came late.")


@dataclass(frozen=True)
class Traits:
    """The chance of each habit, from 0 to 1."""

    late: float = 0.05  # it does nothing when something waits for it
    cancels: float = 0.05
    disputes: float = 0.08
    wrong: float = 0.05  # it pays or delivers something wrong
    stale: float = 0.05  # it tries an action that its job does not offer
    vanishes: float = 0.01  # it goes away, each time it acts
    returns: float = 0.35  # it returns the input of a job that it has accepted


@dataclass
class Identity:
    id: str
    handle: str
    keys: Mapping[str, str]
    seed: bytes
    wallet: Any


def number_of(text: str, below: int) -> int:
    """Return a number that the text alone decides, so that it is the same each time."""
    return crc32(text.encode()) % below


class Actor(ABC):
    """An agent with goals. `act` makes a few calls."""

    back_at = 0.0  # virtual seconds
    found_before: Json | None = None  # the listing that it chose last
    named_order: Json | None = None  # its last order with a reference
    insisted_in: str | None = None  # the thread in which it wrote until the market refused it

    def __init__(self, simulation: "Simulation", identity: Identity, traits: Traits) -> None:
        self.simulation, self.identity, self.traits = simulation, identity, traits
        self.random = Random(simulation.random.getrandbits(64))

    async def call(self, operation: str, /, **given: Any) -> Answer:
        return await self.simulation.call(self.identity.id, self.identity.keys["test"], operation, **given)

    def is_away(self, chance: float) -> bool:
        """Tell if this agent is away; with this chance it goes away now."""
        now = self.simulation.loop.time()
        if now >= self.back_at and self.likely(chance):
            self.back_at = now + self.random.choice(AWAY_SECONDS)
        return now < self.back_at

    def likely(self, chance: float) -> bool:
        return self.random.random() < chance

    def private(self, kind: Kind, words: str, about: str = "") -> str:
        """Return words with a token that only their readers may see."""
        return f"{words} {self.simulation.oracle(Taint).token(kind, self.identity.id, about)}"

    def letter(self, words: str, job: Json) -> str:
        """Return words for the other party of a job."""
        return self.private(Kind.LETTER, words, job["seller" if job["role"] == "buyer" else "buyer"]["id"])

    @abstractmethod
    async def act(self) -> None: ...

    # -- jobs ------------------------------------------------------------------------------------------------------

    def usual(self, job: Json) -> list[str]:
        """Return the offered actions that this agent may take now.

        It leaves some steps until it is too late, and mostly leaves a job alone that waits for another.
        """
        role, awaited = job["role"], (job["waiting_on"] or {}).get("who")
        late = awaited == role and number_of(f"{role} {job['status']} {job['id']}", LATE_ONCE_IN) == 0
        if late or (awaited not in (role, None) and self.likely(PATIENCE)):
            return []
        disputes = self.simulation.scenario.disputes
        if disputes and "dispute" in job["available_actions"] and self.likely(disputes):
            return ["dispute"]
        insists = number_of(f"dispute {job['id']}", 100) >= 100 * self.simulation.scenario.withdraws
        usual = self.weights.keys() - ({"withdraw_dispute"} if insists else set())
        return [action for action in job["available_actions"] if action in usual]

    async def tend_a_job(self, role: str) -> None:
        """Do something about a job that waits for this agent, or about any job of its."""
        listed = await self.call("list_jobs", role=role, limit=self.random.choice((5, 20)))
        if listed.refused or not listed.body["data"] or self.likely(self.traits.late):
            return
        jobs = listed.body["data"]
        waiting = [job for job in jobs if (job["waiting_on"] or {}).get("who") == role]
        chosen = self.random.choice(waiting or jobs)
        await self.move(chosen)

    async def move(self, job: Json) -> None:
        """Do one of the things that a job offers, or rarely one that it does not."""
        usual = self.usual(job)
        if self.likely(self.traits.stale):
            action = self.random.choice(sorted(MOVES))
        elif usual:
            weights = [self.weights[action] for action in usual]
            action = self.random.choices(usual, weights)[0]
        else:
            return
        await MOVES[action](self, job)

    async def transfer_and_report(self, operation: str, job_id: str, payee: str, amount: int) -> None:
        sent = self.simulation.chain.send_transfer(self.identity.wallet.address, payee, amount)
        self.simulation.log.write("transfer", sender=self.identity.id, payee=payee, amount=amount, hash=sent)
        for seconds in (self.random.choice((0.5, 5.0, 30.0)), *REPORTED_AGAIN):
            await self.simulation.sleep(seconds)
            if (await self.call(operation, job_id=job_id, transaction=sent)).code not in NOT_YET:
                break

    @property
    def weights(self) -> Mapping[str, float]:
        return {
            "accept": 10, "deliver": 10, "pay": 10, "quote": 10, "accept_quote": 8, "review": 3, "message": 0.5,
            "decline": 0.5, "request_revision": 1, "refund": 10, "withdraw_dispute": 1,
            "cancel": 20 * self.traits.cancels, "dispute": 10 * self.traits.disputes,
        }  # fmt: skip


async def accept(actor: Actor, job: Json) -> None:
    await actor.call("accept_job", job_id=job["id"])


async def decline(actor: Actor, job: Json) -> None:
    await actor.call("decline_job", job_id=job["id"], reason=actor.letter("Too long for me.", job))


async def cancel(actor: Actor, job: Json) -> None:
    await actor.call("cancel_job", job_id=job["id"], reason=actor.letter("It takes too long.", job))


async def quote(actor: Actor, job: Json) -> None:
    price = actor.random.choice((PRICE, 2 * PRICE, 1))
    await actor.call("quote_job", job_id=job["id"], price=price, message=actor.letter("For all of it.", job))


async def accept_quote(actor: Actor, job: Json) -> None:
    await actor.call("accept_quote", job_id=job["id"])


async def deliver(actor: Actor, job: Json) -> None:
    english = actor.private(Kind.OUTPUT, "good day", job["id"])
    output = {"englisch": english} if actor.likely(actor.traits.wrong) else {"english": english}
    await actor.call("deliver_job", job_id=job["id"], output=output)


async def request_revision(actor: Actor, job: Json) -> None:
    await actor.call("request_revision", job_id=job["id"], message=actor.letter("Warmer, please.", job))


async def dispute(actor: Actor, job: Json) -> None:
    await actor.call("dispute_job", job_id=job["id"], reason=actor.letter(actor.random.choice(REASONS), job))


async def withdraw_dispute(actor: Actor, job: Json) -> None:
    await actor.call("withdraw_dispute", dispute_id=job["dispute_id"] or "dsp_none")


async def review(actor: Actor, job: Json) -> None:
    await actor.call("review_job", job_id=job["id"], rating=actor.random.choice((5, 5, 4, 1)))


async def message(actor: Actor, job: Json) -> None:
    await actor.call("post_message", thread_id=job["thread_id"], body=actor.letter("How is it going?", job))


async def pay(actor: Actor, job: Json) -> None:
    """Ask for the terms, send the transfer and report it; sometimes a wrong amount."""
    terms = await actor.call("pay_job", job_id=job["id"])
    pay_to, amount = terms.body.get("pay_to"), terms.body.get("amount")
    if not pay_to or not amount:
        return
    if actor.likely(actor.traits.wrong):
        amount = actor.random.choice((amount - 1, amount + 1, 1))
    await actor.transfer_and_report("pay_job", job["id"], pay_to, amount)


async def refund(actor: Actor, job: Json) -> None:
    buyer = actor.simulation.identities.get(job["buyer"]["id"])
    if buyer is not None and job["refund_expected"]:
        await actor.transfer_and_report("refund_job", job["id"], buyer.wallet.address, job["refund_expected"])


MOVES: Mapping[str, Any] = {
    made.__name__: made
    for made in (
        accept, decline, cancel, quote, accept_quote, deliver, request_revision, dispute, withdraw_dispute, review,
        message, pay, refund,
    )
}  # fmt: skip


class Seller(Actor):
    """An agent that offers work and does it."""

    async def act(self) -> None:
        await self.tend_a_job("seller")


class Buyer(Actor):
    """An agent that orders work and pays for it."""

    async def act(self) -> None:
        if self.likely(0.25):
            await order(self, q=self.random.choice(("translate", "english", None)), limit=10)
        else:
            await self.tend_a_job("buyer")


async def register(simulation: "Simulation", name: str) -> Identity:
    answer = await simulation.call(None, None, "register_agent", name=name)
    assert not answer.refused, answer
    made = answer.body
    wallet = Account.from_key(simulation.machine.dice.random_bytes(32))
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    identity = Identity(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed, wallet)
    simulation.identities[identity.id] = identity
    text = f"service:wallet:{identity.id}:{wallet.address.lower()}"
    signed = Account.sign_message(encode_defunct(text=text), wallet.key)
    await simulation.call(
        identity.id,
        identity.keys["test"],
        "set_wallet_address",
        address=wallet.address,
        signature="0x" + bytes(signed.signature).hex(),
    )
    simulation.chain.fund(wallet.address, CAPITAL)
    return identity


async def open_shop(seller: Actor) -> None:
    quoted = {name: value for name, value in OFFER.items() if name != "price"} | {"pricing_model": "quote"}
    offers: list[Json] = [OFFER, OFFER | {"payment": "upfront"}, quoted, OFFER | {"price": 0}]
    for offer in seller.random.sample(offers, 2):
        await seller.call("create_listing", **offer, max_open_jobs=seller.random.choice((2, 10)))
