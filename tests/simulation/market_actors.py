"""Agents that use the rest of the market: traders, which buy, sell, judge and go away at times, and the operator."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.simulation.bounty_actors import decide, post, propose
from tests.simulation.population import MOVES, WORDS, Actor, Evaluator, Identity, Traits, register
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import OFFER, PRICE

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

Json = dict[str, Any]
AWAY_SECONDS = (900, 1_800, 4_000, 9_000)  # long enough that each deadline of its jobs passes at times
SOON: Json = OFFER | {"turnaround_seconds": 300, "max_open_jobs": 10}
QUOTED: Json = {name: value for name, value in SOON.items() if name != "price"} | {"pricing_model": "quote"}
OFFERS: tuple[Json, ...] = (
    SOON, SOON | {"payment": "upfront"}, SOON | {"price": 0}, QUOTED, QUOTED | {"payment": "upfront"},
)  # fmt: skip
AT_ONCE = 4  # jobs of one list
WORKERS = (None, "w1", "w2")


async def accept(actor: Actor, job: Json) -> None:
    """Accept; a seller may do so for one of its workers, or return the input at once."""
    if job["role"] == "buyer":
        await actor.call("accept_job", job_id=job["id"])
        return
    answer = await actor.call("accept_job", job_id=job["id"], worker=actor.random.choice(WORKERS))
    if not answer.refused and actor.likely(0.35):
        await actor.call("cancel_job", job_id=job["id"], fault="input")


async def deliver(actor: Actor, job: Json) -> None:
    """Deliver for a worker, perhaps for one that does not have the lease."""
    output = {"english": f"good day {actor.simulation.taint(actor.identity.id, job['id'])}"}
    await actor.call("deliver_job", job_id=job["id"], output=output, worker=actor.random.choice(WORKERS))


async def decline(actor: Actor, job: Json) -> None:
    """Decline, or cancel, which is the same before the work begins."""
    operation = actor.random.choice(("decline_job", "cancel_job"))
    await actor.call(operation, job_id=job["id"], reason="Too long for me.")


async def quote(actor: Actor, job: Json) -> None:
    await actor.call("quote_job", job_id=job["id"], price=actor.random.choice((PRICE, 2 * PRICE, PRICE // 2, 0)))


TRADES: Mapping[str, Any] = {**MOVES, "accept": accept, "deliver": deliver, "decline": decline, "quote": quote}


class Trader(Actor):
    """An agent that buys, sells, judges and answers bounties, and is away at times."""

    back_at = 0.0  # virtual seconds

    @property
    def weights(self) -> Mapping[str, float]:
        return {
            "accept": 8, "deliver": 8, "pay": 8, "quote": 6, "accept_quote": 6, "refund": 6, "review": 1,
            "decline": 2, "cancel": 2, "request_revision": 3, "dispute": 6, "withdraw_dispute": 1,
        }  # fmt: skip

    async def settle_in(self) -> None:
        """Take webhooks, make a schedule and create listings; one in three offers to judge."""
        await self.call("set_evaluator", enabled=self.likely(1 / 3))
        await self.call("create_webhook", url=f"https://{self.identity.handle}.hooks.example.com/in")
        await self.call("create_schedule", in_seconds=60, interval_seconds=self.random.choice((300, 3_600)))
        for offer in self.random.sample(OFFERS, 3):
            await self.call("create_listing", **offer)

    async def act(self) -> None:
        now = self.simulation.loop.time()
        if now < self.back_at:
            return
        if self.likely(0.01):
            self.back_at = now + self.random.choice(AWAY_SECONDS)
            return
        deeds = self.sell, self.buy, self.order, self.judge, self.bounty, self.look_elsewhere
        (deed,) = self.random.choices(deeds, (5, 5, 2, 1, 3, 0.5))
        await deed()

    async def sell(self) -> None:
        await self.trade("seller")

    async def buy(self) -> None:
        await self.trade("buyer")

    async def judge(self) -> None:
        await Evaluator.judge(self)

    async def bounty(self) -> None:
        (deed,) = self.random.choices((post, propose, decide), (2, 3, 3))
        await deed(self)

    async def trade(self, role: str) -> None:
        """Do one of the things that each of some of its last jobs offers."""
        listed = await self.call("list_jobs", role=role, limit=20)
        weights = self.weights
        jobs = [] if listed.refused else listed.body["data"]
        open_to_it = [job for job in jobs if any(action in weights for action in job["available_actions"])]
        for job in self.random.sample(open_to_it, min(AT_ONCE, len(open_to_it))):
            usual = [action for action in job["available_actions"] if action in weights]
            (action,) = self.random.choices(usual, [weights[one] for one in usual])
            await TRADES[action](self, job)

    async def look_elsewhere(self) -> None:
        await self.call("search_elsewhere", q=self.random.choice(("translate", "letters", None)))

    async def order(self) -> None:
        found = await self.call("search_listings", q="translate", limit=20)
        if not found.refused and found.body["data"]:
            listing = self.random.choice(found.body["data"])
            await self.call("create_job", listing_id=listing["id"], input={"text": self.random.choice(WORDS)})


class Operator(Actor):
    """The operator of the market: it decides the cases that their panels did not decide."""

    async def act(self) -> None:
        overview = await self.call("get_overview")
        for case in [] if overview.refused else overview.body["disputes"]:
            if self.likely(0.5):
                verdict = self.random.choice(("buyer", "seller", "split"))
                await self.call("resolve_job", job_id=case["job_id"], verdict=verdict, note="As I see it.")


async def more_actors(simulation: "Simulation") -> list[Actor]:
    """Register the traders; return them and the operator."""
    traders = [
        Trader(simulation, await register(simulation, f"Trader {number}"), Traits())
        for number in range(simulation.scenario.traders)
    ]
    for trader in traders:
        await trader.settle_in()
    itself = Identity("operator", "operator", {"test": OPERATOR_SECRET}, b"", None)
    return [*traders, Operator(simulation, itself, Traits())]
