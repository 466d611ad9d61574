"""Walk a market of tests at random, with legal and illegal calls, and show each answer to the model."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson

from tests.simulation.model import NO_ANSWER, Model, Observation
from tests.support.bounties import NEED
from tests.support.evm import Evm
from tests.support.market import OPERATOR_SECRET, Agent, TestMarket
from tests.support.trade import OFFER, Trade

_ENV = "test"
_MINUTE, _HOUR = 60, 3_600
_LOST_SHARE = 0.05
_PROGRESS = 4  # how much more often than others a call is made that brings a job forward


@dataclass
class Watched:
    """A market whose answers the model observes in the order of their completion."""

    market: TestMarket
    model: Model = field(default_factory=lambda: Model())
    seen: list[Observation] = field(default_factory=list)
    flying: list[int] = field(default_factory=list)  # for each call in flight, the answers observed before it
    dice: random.Random | None = None  # decides which answers to calls with a key are lost

    def __post_init__(self) -> None:
        self.model.doubts.oldest = lambda: min(self.flying, default=self.model.observed)

    async def call(self, operation: str, by: Agent | None, given: Mapping[str, Any], key: str | None = None) -> Any:
        """Call an operation and show its answer to the model; return the parsed body."""
        after, began = self.model.observed, self.market.clock.now()
        self.flying.append(after)
        approach: dict[str, Any] = {"key": by.keys[_ENV]} if by else {"admin_token": OPERATOR_SECRET}
        answer = await self.market.answer(operation, given, repeat=key, **approach)
        body = orjson.loads(answer.body)
        self.flying.remove(after)
        agent, ended = by.id if by else None, self.market.clock.now()
        status = answer_status(answer, operation)
        if key and self.dice and self.dice.random() < _LOST_SHARE:
            status, body = NO_ANSWER, {}
        made = (
            len(self.seen),
            agent,
            _ENV,
            operation,
            dict(given),
            key,
            status,
            body,
            began,
            ended,
        )
        self.seen.append(Observation(*made, after=after))
        self.model.observe(self.seen[-1])
        return body


def answer_status(answer: Any, operation: str) -> int:
    """Return the HTTP status of an answer; a success without one has its operation's."""
    created = ("create_job", "hire", "review_job", "create_bounty", "propose_on_bounty", "create_listing")
    return int(answer.status or (201 if operation in created else 200))


@dataclass
class Walk:
    """Some agents, their listings and a seed."""

    watched: Watched
    evm: Evm
    dice: random.Random
    sellers: list[Agent]
    buyers: list[Agent]
    judges: list[Agent]
    jobs: list[Any] = field(default_factory=list)
    listings: list[Any] = field(default_factory=list)
    bounties: list[Any] = field(default_factory=list)
    proposals: list[Any] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    keys: list[tuple[str, Agent, Mapping[str, Any], str]] = field(default_factory=list)

    @staticmethod
    async def opened(trade: Trade, seed: int) -> "Walk":
        """Register the agents and publish the listings."""
        watched = Watched(trade.market)
        sellers = [await trade.agent(f"Seller {n}", 5_000_000) for n in range(2)]
        buyers = [await trade.agent(f"Buyer {n}", 50_000_000) for n in range(3)]
        judges = [await trade.market.register(f"Judge {n}") for n in range(5)]
        for judge in judges:
            await watched.call("set_evaluator", judge, {"enabled": True})
        watched.dice = random.Random(seed)
        made = Walk(watched, trade.evm, random.Random(seed), sellers, buyers, judges)
        for number, change in enumerate(_OFFERS):
            offer = OFFER | change | {"title": f"Offer {number}"}
            made.listings.append(await watched.call("create_listing", sellers[number % 2], offer))
        return made

    async def steps(self, count: int, at_once: int = 1) -> None:
        """Make about `count` calls, `at_once` of them together, with time between."""
        for _ in range(count // at_once):
            meanwhile = [self.tick()] if at_once > 1 and self.dice.random() < 0.3 else []
            await asyncio.gather(*(self.step() for _ in range(at_once)), *meanwhile)
            if self.dice.random() < 0.1:
                await self.wait(self.dice.choice((1, 30, 30, 5 * _MINUTE, 16 * _MINUTE, 2 * _HOUR + 1)))

    async def tick(self) -> None:
        """Let some seconds pass while calls are in flight."""
        for _ in range(self.dice.randint(1, 40)):
            await asyncio.sleep(0)
        self.watched.market.pass_seconds(self.dice.choice((1, 20, 400)))

    async def wait(self, seconds: int) -> None:
        """Let time pass for the market and its chain, and let the workers act."""
        self.watched.market.pass_seconds(seconds)
        self.evm.node.warp(seconds)
        if self.dice.random() < 0.5:
            await self.watched.market.workers.resolve_disputes()
            await self.watched.market.workers.sweep()

    async def settle(self) -> None:
        """Let all cases end, read all that is open, and check that it has ended in time."""
        for _ in range(self.watched.model.contract.rounds):
            await self.watched.market.workers.resolve_disputes()
            self.watched.market.pass_seconds(self.watched.model.contract.verdict_seconds[_ENV] + 1)
        await self.watched.market.workers.resolve_disputes()
        for one in self.watched.model.unfinished():
            if one.kind == "job":
                job = self.watched.model.jobs.known[one.id]
                await self.watched.call("get_job", self.agent(job.buyer), {"job_id": one.id})
            elif one.kind == "bounty":
                await self.watched.call("get_bounty", self.buyers[0], {"bounty_id": one.id})
            else:
                case = self.watched.model.disputes.known[one.id]
                buyer = self.watched.model.jobs.known[case.job_id or ""].buyer
                await self.watched.call("get_dispute", self.agent(buyer), {"dispute_id": one.id})
        self.watched.model.check_liveness(self.watched.market.clock.now(), timedelta(hours=2))

    async def step(self) -> None:
        """Make one call: on a job mostly a legal one of a party, sometimes any call of any agent."""
        roll = self.dice.random()
        if roll < 0.10 or not self.jobs:
            await self.order()
        elif roll < 0.18:
            await self.trade_bounties()
        elif roll < 0.24:
            await self.read()
        elif roll < 0.28 and self.keys:
            await self.repeat()
        else:
            await self.act()

    async def order(self) -> None:
        listing, buyer = self.dice.choice(self.listings), self.dice.choice(self.buyers)
        given: dict[str, Any] = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
        if listing["pricing"]["model"] == "per_unit":
            given["units"] = self.dice.randint(1, 9)
        if self.dice.random() < 0.3:
            given["reference"] = f"order-{self.dice.randint(1, 9)}"
        if self.dice.random() < 0.2:
            given["max_price"] = self.dice.choice((100_000, 10**9))
        operation = self.dice.choice(("create_job", "create_job", "hire"))
        wait = {"wait_seconds": 0} if operation == "hire" else {}
        body = await self.keyed(operation, buyer, given | wait | {"max_revisions": self.dice.randint(0, 2)})
        body = body.get("job", body)
        self.jobs += [body] if "id" in body else []

    async def keyed(self, operation: str, by: Agent, given: Mapping[str, Any]) -> Any:
        """Call with an idempotency key half of the time, and keep the call for a repeat."""
        key = f"key-{len(self.keys)}-{'x' * 20}" if self.dice.random() < 0.5 else None
        if key:
            self.keys.append((operation, by, given, key))
        return await self.watched.call(operation, by, given, key)

    async def repeat(self) -> None:
        """Repeat an earlier call with its key, sometimes changed, sometimes as another agent."""
        operation, by, given, key = self.dice.choice(self.keys)
        roll = self.dice.random()
        if roll < 0.2 and "reason" in given:
            given = {**given, "reason": "another"}
        await self.watched.call(operation, by if roll < 0.8 else self.dice.choice(self.buyers), given, key)

    async def read(self) -> None:
        agent = self.dice.choice(self.sellers + self.buyers)
        operation, given = self.dice.choice(
            (
                ("get_inbox", {}),
                ("list_jobs", {"limit": 100}),
                ("list_jobs", {"role": "buyer", "status": ["open", "delivered"]}),
                ("list_settlements", {"limit": 100}),
                ("list_reviews", {"agent_id": self.sellers[0].id, "env": _ENV}),
                ("list_my_bounties", {}),
                ("search_listings", {"env": _ENV}),
                ("get_listing", {"listing_id": self.dice.choice(self.listings)["id"]}),
                ("list_disputes", {}),
                ("get_delivery", {"job_id": self.dice.choice(self.jobs)["id"], "revision": 0}),
            )
        )
        await self.watched.call(operation, agent, given)
        if self.dice.random() < 0.2:
            await self.change_price()

    async def change_price(self) -> None:
        listing = self.listings[0]
        change = {"listing_id": listing["id"], "price": self.dice.choice((240_000, 250_000))}
        await self.watched.call("update_listing", self.agent(listing["seller"]["id"]), change)

    # -- jobs --------------------------------------------------------------------------------------------------------

    async def act(self) -> None:
        """Read a job as one of its parties, then mostly do what it offers."""
        job = self.dice.choice(self.jobs[-8:])
        role = self.dice.choice(("buyer", "seller"))
        agent = self.agent(job[role]["id"])
        if self.dice.random() < 0.05:
            agent = self.dice.choice(self.buyers + self.sellers)
        record = await self.watched.call("get_job", agent, {"job_id": job["id"]})
        offered = [one for one in record.get("available_actions", ()) if one in _CALLS]
        if self.dice.random() < 0.15:
            offered = list(_CALLS)
        weights = [1 if one in ("cancel", "decline") else _PROGRESS for one in offered]
        if offered:
            action = self.dice.choices(offered, weights)[0]
            await self.do(action, agent, record if "id" in record else job)

    async def do(self, action: str, agent: Agent, job: Any) -> None:
        given: dict[str, Any] = {"job_id": job["id"]}
        if action in ("pay", "refund"):
            await self.transfer(action, agent, job, given)
        elif action == "dispute":
            await self.dispute(agent, given)
        else:
            given |= {name: self.dice.choice(values) for name, values in _GIVEN.get(action, {}).items()}
            await self.keyed(_CALLS[action], agent, given)

    async def transfer(self, action: str, agent: Agent, job: Any, given: dict[str, Any]) -> None:
        if action == "pay" and self.dice.random() < 0.2:
            await self.watched.call("pay_job", agent, given)
            return
        other = self.agent(job["seller" if action == "pay" else "buyer"]["id"])
        owed = (job["price"] if action == "pay" else job["refund_expected"]) or 1_000
        if self.sent and self.dice.random() < 0.1:
            given["transaction"] = self.dice.choice(self.sent)
        else:
            amount = self.dice.choice((owed, owed, owed, owed // 2 or 1, owed + 1))
            given["transaction"] = self.evm.transfer(agent.wallet, other.wallet, amount)
            self.sent.append(given["transaction"])
        await self.keyed(_CALLS[action], agent, given)

    async def dispute(self, agent: Agent, given: dict[str, Any]) -> None:
        body = await self.keyed("dispute_job", agent, given | {"reason": "It is not what was promised."})
        case = {"dispute_id": body.get("dispute_id")}
        if not case["dispute_id"]:
            return
        for judge in self.dice.sample(self.judges, 4):
            vote = {"outcome": self.dice.choice(("buyer", "seller", "split")), "rationale": "I read it."}
            if self.dice.random() < 0.8:
                await self.watched.call("submit_verdict", judge, case | vote)
        if self.dice.random() < 0.3:
            await self.watched.call("withdraw_dispute", agent, case)
        if self.dice.random() < 0.3:
            await self.watched.call("resolve_job", None, {"job_id": given["job_id"], "verdict": "split"})
        await self.watched.call("get_dispute", agent, case)

    def agent(self, agent_id: str) -> Agent:
        return next(one for one in self.sellers + self.buyers if one.id == agent_id)

    # -- bounties ----------------------------------------------------------------------------------------------------

    async def trade_bounties(self) -> None:
        roll, buyer, seller = self.dice.random(), self.dice.choice(self.buyers), self.dice.choice(self.sellers)
        if roll < 0.25 or not self.bounties:
            body = await self.keyed("create_bounty", buyer, NEED | {"expires_in_seconds": 3_600})
            self.bounties += [body] if "id" in body else []
            return
        named = {"bounty_id": self.dice.choice(self.bounties[-4:])["id"]}
        if roll < 0.6:
            terms = {"price": self.dice.randint(0, 4) * 20_000, "payment": self.dice.choice(("on_delivery", "upfront"))}
            body = await self.keyed("propose_on_bounty", seller, named | terms)
            self.proposals += [body] if "id" in body else []
        elif roll < 0.85 and self.proposals:
            await self.award(self.dice.choice(self.proposals[-4:]))
        else:
            operation = self.dice.choice(("close_bounty", "list_proposals", "get_bounty", "withdraw_proposal"))
            await self.watched.call(operation, self.dice.choice((buyer, seller)), named)

    async def award(self, proposal: Any) -> None:
        posted = next(one for one in self.bounties if one["id"] == proposal["bounty_id"])
        given = {"bounty_id": posted["id"], "proposal_id": proposal["id"]}
        if self.dice.random() < 0.5:
            given |= {"price": proposal["price"], "payment": proposal["payment"]}
        body = await self.keyed("award_bounty", self.agent(posted["buyer"]["id"]), given)
        self.jobs += [body["job"]] if "job" in body else []


_OFFERS: tuple[dict[str, Any], ...] = (
    {"max_open_jobs": 3},
    {"payment": "upfront", "max_open_jobs": 4},
    {"pricing_model": "quote", "price": None},
    {"price": 0, "turnaround_seconds": 600},
    {"pricing_model": "per_unit", "unit_name": "page", "price": 10_000, "accept_timeout_seconds": 1_200},
    {"pricing_model": "quote", "price": None, "payment": "upfront"},
)
_CALLS = {
    "accept": "accept_job",
    "decline": "decline_job",
    "quote": "quote_job",
    "accept_quote": "accept_quote",
    "deliver": "deliver_job",
    "request_revision": "request_revision",
    "dispute": "dispute_job",
    "cancel": "cancel_job",
    "pay": "pay_job",
    "refund": "refund_job",
    "review": "review_job",
}
_GIVEN: dict[str, dict[str, tuple[Any, ...]]] = {
    "decline": {"reason": ("no", "not now")},
    "cancel": {"reason": ("no", "not now")},
    "quote": {"price": (0, 30_000, 40_000)},
    "accept_quote": {"price": (0, 30_000, 40_000, None)},
    "deliver": {"output": ({"english": "good day"}, {"english": "hello"}, {"wrong": 1})},
    "request_revision": {"message": ("Again, please.",)},
    "review": {"rating": (1, 5)},
}
