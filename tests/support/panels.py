"""A disputed job and its evaluators, for tests: `court = await Court.opened(trade, evaluators=3)`."""

from dataclasses import dataclass
from typing import Any

from storage.disputes import draws_of_dispute, seats_of_dispute
from storage.tables import AgentRow, DrawRow, SeatRow
from tests.requirements.probes import write_row
from tests.support.market import Agent
from tests.support.trade import Trade

WINDOW_SECONDS = 600  # the time for a verdict on test
REASON = "It is not what was promised."


@dataclass
class Court:
    """A case, its parties, and all agents that offered to judge."""

    trade: Trade
    seller: Agent
    buyer: Agent
    job: Any
    dispute_id: str
    offered: dict[str, Agent]

    @staticmethod
    async def opened(trade: Trade, evaluators: int = 3, **offer: Any) -> "Court":
        """Dispute a free job after `evaluators` agents have offered to judge."""
        seller, buyer = await trade.parties()
        offered = {one.id: one for one in [await evaluator(trade) for _ in range(evaluators)]}
        return await Court.of(trade, seller, buyer, offered, **offer)

    @staticmethod
    async def of(trade: Trade, seller: Agent, buyer: Agent, offered: dict[str, Agent], **offer: Any) -> "Court":
        job = await trade.job_at("revealed", seller, buyer, **{"price": 0} | offer)
        job = await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason=REASON)
        return Court(trade, seller, buyer, job, job["dispute_id"], offered)

    async def seats(self) -> list[SeatRow]:
        return await self.trade.market.store.read(lambda tx: tx.all(seats_of_dispute, dispute_id=self.dispute_id))

    async def draws(self) -> list[DrawRow]:
        return await self.trade.market.store.read(lambda tx: tx.all(draws_of_dispute, dispute_id=self.dispute_id))

    async def panel(self) -> list[Agent]:
        """Return the evaluators with a pending vote."""
        return [self.offered[seat.agent_id] for seat in await self.seats() if seat.status.value == "pending"]

    async def vote(self, by: Agent, outcome: str, rationale: str = "I read it.") -> Any:
        """Vote; return the case as the voter sees it, or the error object if the vote is refused."""
        given = {"dispute_id": self.dispute_id, "outcome": outcome, "rationale": rationale}
        answer = await self.trade.market.answer("submit_verdict", given, key=by.keys["test"])
        return answer.error or await self.seen(by)

    async def votes(self, *outcomes: str) -> None:
        """Submit these votes, one for each evaluator with a pending vote."""
        for agent, outcome in zip(await self.panel(), outcomes, strict=False):
            assert "code" not in await self.vote(agent, outcome)

    async def seen(self, by: Agent) -> Any:
        return await self.trade.market.call("get_dispute", by=by, dispute_id=self.dispute_id)

    async def job_seen(self) -> Any:
        return await self.trade.seen(self.buyer, self.job)

    async def told(self, agent: Agent, kind: str = "dispute.*") -> list[Any]:
        page = await self.trade.market.call("list_events", by=agent, types=[kind])
        return [(event["type"], event["data"]) for event in page["data"]]

    async def window_passes(self, *, swept: bool = True) -> None:
        self.trade.market.pass_seconds(WINDOW_SECONDS)
        if swept:
            await self.trade.market.workers.resolve_disputes()


async def evaluator(trade: Trade, name: str = "Evaluator", **row: Any) -> Agent:
    """Register an agent that offers to judge. `row` gives columns of its row."""
    agent = await trade.market.register(name)
    await trade.market.call("set_evaluator", by=agent, enabled=True)
    if row:
        await write_row(trade.market, AgentRow, agent.id, **row)
    return agent
