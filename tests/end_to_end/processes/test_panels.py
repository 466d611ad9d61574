"""Panels with two sweeping processes: each seat is drawn once, each miss replaced once, each verdict counted once."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.end_to_end.processes.pair import Pair, Reply
from tests.support.databases import PostgresServer
from tests.support.market import Agent
from tests.support.panels import REASON
from tests.support.trade import Trade

WINDOW_SECONDS, CASES, RUNS = 2, 6, 8


@pytest.fixture(scope="module")
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    """Both processes, with their own database and a verdict window of two seconds."""
    forged.serve(postgres.create("panels"), verdict_window_seconds_test=WINDOW_SECONDS)
    yield forged
    forged.kill()


@pytest.fixture
def patient(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    """The same with enough time to vote."""
    forged.serve(postgres.create("verdicts"))
    yield forged
    forged.kill()


async def disputed(trade: Trade, seller: Agent, buyer: Agent, listing: Any) -> Any:
    job = await trade.order(buyer, listing)
    ref = {"job_id": job["id"]}
    await trade.market.call("accept_job", by=seller, **ref)
    await trade.market.call("deliver_job", by=seller, **ref, output={"english": "good day"})
    return await trade.market.call("dispute_job", by=buyer, **ref, reason=REASON)


async def evaluators(trade: Trade, count: int) -> dict[str, Agent]:
    found = [await trade.market.register("Evaluator") for _ in range(count)]
    for one in found:
        await trade.market.call("set_evaluator", by=one, enabled=True)
    return {one.id: one for one in found}


async def rows(url: str, query: str, *given: Any) -> list[Any]:
    async with await psycopg.AsyncConnection.connect(url) as looker:
        return await (await looker.execute(query, given)).fetchall()  # type: ignore[arg-type]


async def test_two_processes_that_sweep_draw_each_missed_seat_again_once(trade: Trade, pair: Pair) -> None:
    seller, buyer = await trade.parties()
    await evaluators(trade, 6)
    listing = await trade.listing(seller, price=0, max_open_jobs=1000)
    cases = [(await disputed(trade, seller, buyer, listing))["dispute_id"] for _ in range(CASES)]
    async with asyncio.timeout(60):
        while {state for (state,) in await rows(pair.url, "SELECT status FROM disputes")} != {"escalated"}:
            pass
    for case in cases:
        drawn = await rows(pair.url, "SELECT round, seats FROM dispute_draws WHERE dispute_id = %s ORDER BY 1", case)
        assert drawn == [(1, 3), (2, 3)]
        seats = await rows(pair.url, "SELECT round, agent_id, status FROM dispute_seats WHERE dispute_id = %s", case)
        assert Counter((number, status) for number, _, status in seats) == {(1, "missed"): 3, (2, "missed"): 3}
        assert len({agent for _, agent, _ in seats}) == 6
        told = await rows(
            pair.url, "SELECT kind, agent_id FROM events WHERE kind LIKE 'dispute.%%' AND data LIKE %s", f'%"{case}"%'
        )
        assert Counter(kind for kind, _ in told) == {"dispute.assigned": 6, "dispute.panel": 4, "dispute.escalated": 2}
        assert len({agent for kind, agent in told if kind == "dispute.assigned"}) == 6


async def test_two_last_votes_in_two_processes_are_each_counted_once(patient: Pair) -> None:
    async with patient.trading() as trade:
        seller, buyer = await trade.parties()
        judges = await evaluators(trade, 3)
        listing = await trade.listing(seller, price=0, max_open_jobs=1000)
        ends = Counter[tuple[int, ...]]()
        for run in range(RUNS):
            job = await disputed(trade, seller, buyer, listing)
            ends[await raced(trade, patient, judges, job, "buyer" if run % 2 else "seller")] += 1
            seen = await trade.seen(buyer, job)
            assert seen["status"] == "resolved"
            events = await trade.market.call("list_job_events", by=buyer, job_id=job["id"])
            assert [one["type"] for one in events["data"]].count("resolved") == 1
            case = await trade.market.call("get_dispute", by=buyer, dispute_id=job["dispute_id"])
            assert sum(case["tally"].values()) == case["votes_received"] == 2
        assert sum(ends.values()) == RUNS
        assert set(ends) == {(200, 409)}


async def raced(trade: Trade, pair: Pair, judges: dict[str, Agent], job: Any, outcome: str) -> tuple[int, ...]:
    """Let the two others vote alike at once after one vote; the first of them decides.

    Each of them calls its own process. Returns the statuses.
    """

    async def vote(agent: Agent, at: int) -> Reply:
        given = {"dispute_id": job["dispute_id"], "outcome": outcome, "rationale": "I read it."}
        answer = trade.market.answer("submit_verdict", given, key=agent.keys["test"], at=at)  # type: ignore[call-arg]
        return await answer  # type: ignore[return-value]

    first, *others = judges.values()
    assert (await vote(first, 0)).status == 200
    async with pair.held("jobs", job["id"]):
        asked = [asyncio.create_task(vote(agent, at)) for at, agent in enumerate(others)]
    answers = [await one for one in asked]
    assert [one.error["code"] for one in answers if one.status == 409] == ["dispute_closed"]
    return tuple(sorted(one.status for one in answers))
