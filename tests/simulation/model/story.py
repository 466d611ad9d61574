"""Tell one short story on a real market, each answer named, for tests that change an answer."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.model import Model, Observation
from tests.simulation.model.walk import Watched
from tests.support.bounties import NEED
from tests.support.market import Agent
from tests.support.panels import REASON
from tests.support.trade import OFFER, PRICE, Trade

KEY = "the key of the first order, 22"
_INPUT = {"text": "guten Tag"}
_WORK = {"english": "good day"}


@dataclass
class Story:
    """Named answers in the order of their observation."""

    named: dict[str, Observation] = field(default_factory=dict)

    def replayed(self, answers: Mapping[str, Observation] | None = None) -> Model:
        """Show the answers to a new model. Raises Violation."""
        model = Model(grace=timedelta())
        model.doubts.oldest = lambda: model.observed
        for one in (self.named if answers is None else answers).values():
            model.observe(one)
        return model

    def changed(self, name: str, **paths: Any) -> dict[str, Observation]:
        """Return the answers with values of one body replaced.

        `a__b` is a path into the body. A function makes the new value from the old one.
        """
        body = deepcopy(self.named[name].body)
        for path, value in paths.items():
            *folders, last = path.split("__")
            inner = body
            for one in folders:
                inner = inner[int(one) if one.isdecimal() else one]
            inner[last] = value(inner[last]) if callable(value) else value
        return self.with_answer(name, body=body)

    def with_answer(self, name: str, **fields: Any) -> dict[str, Observation]:
        """Return the answers with fields of one observation replaced."""
        return self.named | {name: replace(self.named[name], **fields)}

    def swapped(self, name: str, other: str) -> dict[str, Observation]:
        """Return the answers with one body replaced by another answer's."""
        return self.with_answer(name, body=self.named[other].body)

    def without(self, name: str) -> dict[str, Observation]:
        """Return the answers without one. The order that remains is that of the positions."""
        kept = [one for other, one in self.named.items() if other != name]
        return {str(place): replace(one, after=place) for place, one in enumerate(kept)}

    def refused(self, name: str, code: str, status: int = 409) -> dict[str, Observation]:
        """Return the answers up to one that is refused instead."""
        until = list(self.named)[: list(self.named).index(name)]
        refusal = replace(self.named[name], status=status, body={"error": {"code": code}})
        return {one: self.named[one] for one in until} | {name: refusal}


@dataclass
class Teller:
    """Make the calls of the story and name their answers."""

    trade: Trade
    watched: Watched
    story: Story = field(default_factory=Story)

    async def tell(self, name: str, operation: str, by: Agent | None, key: str | None = None, **given: Any) -> Any:
        body = await self.watched.call(operation, by, given, key)
        self.story.named[name] = self.watched.seen[-1]
        return body

    def wait(self, seconds: int) -> None:
        self.trade.market.pass_seconds(seconds)
        self.trade.evm.node.warp(seconds)

    async def first_job(self, seller: Agent, buyer: Agent) -> Any:
        """Order, deliver sealed, pay, revise, complete and review."""
        listing = await self.tell("listing", "create_listing", seller, **OFFER, max_open_jobs=2)
        order = {"listing_id": listing["id"], "input": _INPUT, "reference": "first"}
        job = await self.tell("order", "create_job", buyer, KEY, **order)
        await self.tell("order again", "create_job", buyer, KEY, **order)
        await self.tell("busy", "create_job", buyer, **order | {"reference": "second"})
        named = {"job_id": job["id"]}
        await self.tell("open", "get_job", buyer, **named)
        await self.tell("open for the seller", "get_job", seller, **named)
        await self.tell("inbox", "get_inbox", seller)
        await self.tell("accept", "accept_job", seller, **named)
        await self.tell("deliver", "deliver_job", seller, **named, output=_WORK)
        await self.tell("sealed", "get_job", buyer, **named)
        await self.tell("terms", "pay_job", buyer, **named)
        sent = self.trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)
        await self.tell("pay", "pay_job", buyer, **named, transaction=sent)
        await self.tell("revise", "request_revision", buyer, **named, message="Again.")
        await self.tell("deliver again", "deliver_job", seller, **named, output={"english": "hello"})
        await self.tell("revealed", "get_job", buyer, **named)
        await self.tell("complete", "accept_job", buyer, **named)
        await self.tell("review", "review_job", buyer, **named, rating=5)
        await self.tell("reviews", "list_reviews", buyer, agent_id=seller.id, env="test")
        await self.tell("refused", "decline_job", seller, **named)
        await self.tell("completed", "get_job", buyer, **named)
        await self.tell("settlements", "list_settlements", buyer)
        await self.tell("counted", "get_listing", buyer, listing_id=listing["id"])
        return listing

    async def owed_back(self, seller: Agent, buyer: Agent) -> None:
        """Pay upfront; the seller gives up and sends the money back."""
        listing = await self.tell("upfront", "create_listing", seller, **OFFER, payment="upfront")
        job = await self.tell("order upfront", "create_job", buyer, listing_id=listing["id"], input=_INPUT)
        named = {"job_id": job["id"]}
        await self.tell("accept upfront", "accept_job", seller, **named)
        sent = self.trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)
        await self.tell("pay upfront", "pay_job", buyer, **named, transaction=sent)
        await self.tell("give up", "cancel_job", seller, **named)
        sent = self.trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
        await self.tell("refund", "refund_job", seller, **named, transaction=sent)
        await self.tell("jobs", "list_jobs", buyer)

    async def quoted(self, seller: Agent, buyer: Agent) -> None:
        """Quote twice, agree, and let the work time out; another order is never quoted."""
        offer = OFFER | {"pricing_model": "quote", "price": None}
        listing = await self.tell("quotes", "create_listing", seller, **offer)
        job = await self.tell("ask", "create_job", buyer, listing_id=listing["id"], input=_INPUT)
        named = {"job_id": job["id"]}
        await self.tell("quote", "quote_job", seller, **named, price=30_000)
        self.wait(60)
        await self.tell("quote more", "quote_job", seller, **named, price=40_000)
        await self.tell("changed", "accept_quote", buyer, **named, price=30_000)
        await self.tell("agree", "accept_quote", buyer, **named, price=40_000)
        other = await self.tell("ask again", "create_job", buyer, listing_id=listing["id"], input=_INPUT)
        self.wait(7_201)
        await self.tell("timed out", "get_job", buyer, **named)
        await self.tell("expired", "get_job", buyer, job_id=other["id"])

    async def disputed(self, seller: Agent, buyer: Agent, judges: list[Agent]) -> None:
        """Dispute a free job before three evaluators."""
        listing = await self.tell("free", "create_listing", seller, **OFFER | {"price": 0})
        job = await self.tell("order free", "create_job", buyer, listing_id=listing["id"], input=_INPUT)
        named = {"job_id": job["id"]}
        await self.tell("deliver free", "deliver_job", seller, **named, output=_WORK)
        job = await self.tell("dispute", "dispute_job", buyer, **named, reason=REASON)
        case = {"dispute_id": job["dispute_id"]}
        await self.tell("case", "get_dispute", buyer, **case)
        for number, judge in enumerate(judges):
            await self.tell(f"vote {number}", "submit_verdict", judge, **case, outcome="split", rationale="Half.")
        await self.tell("late vote", "submit_verdict", judges[2], **case, outcome="buyer", rationale="No.")
        await self.tell("closed case", "get_dispute", buyer, **case)
        await self.tell("closed case again", "get_dispute", seller, **case)

    async def bounties(self, seller: Agent, buyer: Agent) -> None:
        """Award one bounty, close another."""
        posted = await self.tell("bounty", "create_bounty", buyer, **NEED)
        named = {"bounty_id": posted["id"]}
        proposal = await self.tell("propose", "propose_on_bounty", seller, **named, price=PRICE)
        await self.tell("bounty with one", "get_bounty", buyer, **named)
        await self.tell("award", "award_bounty", buyer, **named, proposal_id=proposal["id"], price=PRICE)
        await self.tell("awarded", "get_bounty", buyer, **named)
        await self.tell("closed to others", "propose_on_bounty", seller, **named, price=1)
        other = await self.tell("other bounty", "create_bounty", buyer, **NEED)
        await self.tell("close", "close_bounty", buyer, bounty_id=other["id"])


async def tell_story(trade: Trade) -> Story:
    """Tell the whole story on a market."""
    teller = Teller(trade, Watched(trade.market))
    seller, buyer = await trade.agent("Sela", 10_000_000), await trade.agent("Bo", 10_000_000)
    judges = [await trade.market.register(f"Judge {number}") for number in range(3)]
    for judge in judges:
        await trade.market.call("set_evaluator", by=judge, enabled=True)
    await teller.first_job(seller, buyer)
    await teller.owed_back(seller, buyer)
    await teller.quoted(seller, buyer)
    await teller.disputed(seller, buyer, judges)
    await teller.bounties(seller, buyer)
    return teller.story


def second(text: str, seconds: int) -> str:
    """Return a timestamp some seconds later, in the form of records."""
    moved = datetime.fromisoformat(text) + timedelta(seconds=seconds)
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Change = Callable[[Story], Mapping[str, Observation]]
