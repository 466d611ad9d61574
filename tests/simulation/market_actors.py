"""Agents that use the rest of the market: traders, which buy, sell, judge and go away at times, and the operator."""

from collections.abc import Mapping
from typing import Any

from tests.simulation.account_actors import change_keys, wait_for_news
from tests.simulation.bounty_actors import decide, post, propose
from tests.simulation.judges import Judge
from tests.simulation.order_acts import order
from tests.simulation.population import MOVES, Actor
from tests.simulation.private_acts import insist, note, plead, remind, write
from tests.simulation.records import Json
from tests.simulation.shop_acts import change_listing, change_webhook, fill_webhooks, reuse_key, take_webhooks
from tests.simulation.taint import Kind
from tests.support.trade import OFFER, PRICE

SOON: Json = OFFER | {"turnaround_seconds": 300, "max_open_jobs": 10}
QUOTED: Json = {name: value for name, value in SOON.items() if name != "price"} | {"pricing_model": "quote"}
OFFERS: tuple[Json, ...] = (
    SOON, SOON | {"payment": "upfront"}, SOON | {"price": 0}, QUOTED, QUOTED | {"payment": "upfront"},
    SOON | {"pricing_model": "per_unit", "unit_name": "line", "price": PRICE // 2},
)  # fmt: skip
AT_ONCE = 4  # jobs of one list
WORKERS = (None, "w1", "w2")


async def accept(actor: Actor, job: Json) -> None:
    """Accept; a seller may do so for one of its workers, or return the input at once."""
    if job["role"] == "buyer":
        await actor.call("accept_job", job_id=job["id"])
        return
    answer = await actor.call("accept_job", job_id=job["id"], worker=actor.random.choice(WORKERS))
    if not answer.refused and actor.likely(actor.traits.returns):
        await actor.call("cancel_job", job_id=job["id"], fault="input")


async def deliver(actor: Actor, job: Json) -> None:
    """Deliver for a worker, perhaps for one that does not have the lease."""
    output = {"english": actor.private(Kind.OUTPUT, "good day", job["id"])}
    await actor.call("deliver_job", job_id=job["id"], output=output, worker=actor.random.choice(WORKERS))


async def decline(actor: Actor, job: Json) -> None:
    """Decline, or cancel, which is the same before the work begins."""
    operation = actor.random.choice(("decline_job", "cancel_job"))
    await actor.call(operation, job_id=job["id"], reason=actor.letter("Too long for me.", job))


async def quote(actor: Actor, job: Json) -> None:
    await actor.call("quote_job", job_id=job["id"], price=actor.random.choice((PRICE, 2 * PRICE, PRICE // 2, 0)))


TRADES: Mapping[str, Any] = {**MOVES, "accept": accept, "deliver": deliver, "decline": decline, "quote": quote}


class Trader(Judge):
    """An agent that buys, sells and answers bounties. One in three judges too."""

    may_judge, judges = True, False
    listings = OFFERS  # it creates three of them
    since: str | None = None  # the last event that it has seen

    @property
    def weights(self) -> Mapping[str, float]:
        return {
            "accept": 8, "deliver": 8, "pay": 8, "quote": 6, "accept_quote": 6, "refund": 6, "review": 1,
            "decline": 4, "cancel": 2, "request_revision": 3, "dispute": 6, "withdraw_dispute": 1,
        }  # fmt: skip

    async def settle_in(self) -> None:
        """Take webhooks, make a schedule and create listings; one in three offers to judge."""
        self.judges = self.may_judge and self.likely(1 / 3)
        await self.call("set_evaluator", enabled=self.judges)
        await take_webhooks(self)
        await self.call("create_schedule", in_seconds=60, interval_seconds=self.random.choice((300, 3_600)))
        for offer in self.random.sample(self.listings, min(3, len(self.listings))):
            await self.call("create_listing", **offer)

    async def act(self) -> None:
        if self.judges:
            await self.rest()
        if self.is_away(self.traits.vanishes):
            return
        deeds = (
            self.sell, self.buy, self.order, self.judge, self.bounty, self.confide, self.wait, self.change_keys,
            self.look_elsewhere, self.change_shop, self.plead,
        )  # fmt: skip
        (deed,) = self.random.choices(deeds, (5, 5, 2, 1, 3, 1, 4, 0.3, 0.5, 1, 1))
        await deed()

    async def sell(self) -> None:
        await self.trade("seller")

    async def buy(self) -> None:
        await self.trade("buyer")

    async def bounty(self) -> None:
        (deed,) = self.random.choices((post, propose, decide), (2, 3, 3))
        await deed(self)

    async def wait(self) -> None:
        self.since = await wait_for_news(self, self.since)

    async def change_keys(self) -> None:
        await change_keys(self)

    async def confide(self) -> None:
        (deed,) = self.random.choices((note, remind, write, insist), (3, 3, 3, 1))
        await deed(self)

    async def plead(self) -> None:
        await plead(self)

    async def trade(self, role: str) -> None:
        """Do one of the things that each of some of its last jobs offers."""
        listed = await self.call("list_jobs", role=role, limit=20)
        weights = self.weights
        jobs = [] if listed.refused else listed.body["data"]
        open_to_it = [(job, usual) for job in jobs if (usual := self.usual(job))]
        for job, usual in self.random.sample(open_to_it, min(AT_ONCE, len(open_to_it))):
            (action,) = self.random.choices(usual, [weights[one] for one in usual])
            await TRADES[action](self, job)

    async def look_elsewhere(self) -> None:
        await self.call("search_elsewhere", q=self.random.choice(("translate", "letters", None)))

    async def order(self) -> None:
        payment = {"payment": "upfront"} if self.likely(0.4) else {}  # rare otherwise
        await order(self, q="translate", limit=20, **payment)

    async def change_shop(self) -> None:
        if self.likely(0.5):
            await change_listing(self, self.listings)
        else:
            (deed,) = self.random.choices((change_webhook, reuse_key, fill_webhooks), (10, 10, 1))
            await deed(self)


class Returner(Trader):
    """A seller that accepts jobs and returns most of their inputs, until buyers find others.

    It may not return a job that was paid first, and never delivers one, so that buyers cancel after the deadline.
    """

    may_judge = False
    listings = (SOON, QUOTED, SOON | {"payment": "upfront"})

    @property
    def weights(self) -> Mapping[str, float]:
        return {"accept": 8, "quote": 6, "refund": 6}

    async def act(self) -> None:
        if not self.is_away(self.traits.vanishes):
            await self.sell()


class Operator(Actor):
    """The operator of the market: it decides open cases, and suspends evaluators for a while."""

    suspended: str | None = None

    async def act(self) -> None:
        overview = await self.call("get_overview")
        for case in [] if overview.refused else overview.body["disputes"]:
            if self.likely(0.5):
                verdict = self.random.choice(("buyer", "seller", "split"))
                await self.call("resolve_job", job_id=case["job_id"], verdict=verdict, note="As I see it.")
        await self.police()

    async def police(self) -> None:
        """Restore the evaluator that is suspended, or suspend one."""
        if self.suspended is not None and self.likely(0.3):
            restored = await self.call("set_agent_status", agent_id=self.suspended, status="active")
            self.suspended = self.suspended if restored.refused else None
        evaluators = [one.id for one in self.simulation.identities.values() if one.handle.startswith("evaluator")]
        if self.suspended is None and evaluators and self.likely(0.1):
            chosen = self.random.choice(evaluators)
            if not (await self.call("set_agent_status", agent_id=chosen, status="suspended")).refused:
                self.suspended = chosen
