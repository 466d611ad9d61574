"""Two concurrent steps in one case have the result of some sequential order.

The pairs come from the lifecycle table: every step of a disputed job against every other one and itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import pytest

from storage.vocabulary import JobStatus
from tests.support.market import OPERATOR_SECRET
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade
from tests.tools.jobs.test_races import PLACE, together
from tools.engine.idempotency import Response
from tools.jobs.lifecycle import MOVES

pytestmark = pytest.mark.both_databases

Step = Callable[[Court], Awaitable[Response]]
Outcome = tuple[Any, ...]
RUNS = 4
LOST = {"dispute_closed", "invalid_transition", "already_voted", "deadline_missed"}


def voting(seat: int, outcome: str) -> Step:
    async def cast(court: Court) -> Response:
        voter = court.offered[(await court.seats())[seat].agent_id]
        given = {"dispute_id": court.dispute_id, "outcome": outcome, "rationale": "I read it."}
        return await court.trade.market.answer("submit_verdict", given, key=voter.keys["test"])

    return cast


async def withdraw(court: Court) -> Response:
    given = {"dispute_id": court.dispute_id}
    return await court.trade.market.answer("withdraw_dispute", given, key=court.buyer.keys["test"])


def ruling(outcome: str) -> Step:
    async def rule(court: Court) -> Response:
        given = {"job_id": court.job["id"], "verdict": outcome}
        return await court.trade.market.answer("resolve_job", given, admin_token=OPERATOR_SECRET)

    return rule


# The steps of each row from `disputed`, by actor, in the two states of an open case.
ROWS: dict[str, dict[tuple[str, str], tuple[Step, Step]]] = {
    "panel": {
        ("resolve", "panel"): (voting(1, "buyer"), voting(2, "buyer")),
        ("withdraw_dispute", "buyer"): (withdraw, withdraw),
    },
    "escalated": {
        ("resolve", "operator"): (ruling("buyer"), ruling("split")),
        ("withdraw_dispute", "buyer"): (withdraw, withdraw),
    },
}
PAIRS = [(state, one, other) for state, rows in ROWS.items() for one, other in combinations_with_replacement(rows, 2)]


def test_every_move_of_a_disputed_job_is_raced() -> None:
    moves = {(move.action, move.actor.value) for move in MOVES if move.source is JobStatus.DISPUTED}
    assert {row for rows in ROWS.values() for row in rows} == moves


async def court_at(trade: Trade, state: str, court: Court | None) -> Court:
    """Return a case of three seats with one vote, or one that the operator has to decide.

    The parties are always the same.
    """
    if court is None:
        court = await Court.opened(trade, evaluators=3 if state == "panel" else 0)
    else:
        court = await Court.of(trade, court.seller, court.buyer, court.offered)
    if state == "panel":
        await voting(0, "buyer")(court)
    return court


async def ended(court: Court, answers: tuple[Response, Response]) -> Outcome:
    job = await court.job_seen()
    events = await court.trade.market.call("list_job_events", by=court.buyer, job_id=job["id"], limit=100)
    happened = tuple(event["type"] for event in events["data"])
    codes = tuple(answer.error["code"] if answer.error else None for answer in answers)
    assert {code for code in codes if code} <= LOST
    seen = await court.seen(court.buyer)
    return codes, job["status"], str(job["resolution"]), str(seen["tally"]), happened


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}: {pair[1]}, {pair[2]}")
async def test_m12_two_steps_in_a_case_end_as_one_after_the_other_would(
    trade: Trade, pair: tuple[str, tuple[str, str], tuple[str, str]]
) -> None:
    state, one, other = pair
    steps = (ROWS[state][one][0], ROWS[state][other][1])
    expected, court = set[Outcome](), None
    for first in range(2):
        court = await court_at(trade, state, court)
        answers: list[Response] = [Response(0, b"")] * 2
        for place in (first, 1 - first):
            answers[place] = await steps[place](court)
        expected.add(await ended(court, (answers[0], answers[1])))
    met = set[Outcome]()
    for run in range(RUNS):
        court = await court_at(trade, state, court)
        met.add(await ended(court, await raced(trade, court, steps, run % 2)))
    assert met <= expected, "who comes first is the database's on PostgreSQL; on SQLite both do"
    assert met


async def raced(trade: Trade, court: Court, steps: tuple[Step, Step], first: int) -> tuple[Response, Response]:
    async def at(place: int) -> Response:
        PLACE.set(abs(place - first))
        return await steps[place](court)

    with together(trade):
        one, other = await asyncio.gather(at(0), at(1))
    return one, other


@pytest.mark.parametrize("first", ["vote", "sweep"])
async def test_a_vote_and_the_sweep_at_its_deadline_draw_the_missed_seats_again_once(trade: Trade, first: str) -> None:
    court = await Court.opened(trade, evaluators=6)
    await court.window_passes(swept=False)
    steps = [partial(voting(0, "buyer"), court), trade.market.workers.resolve_disputes]
    found = await asyncio.gather(*(step() for step in (steps if first == "vote" else steps[::-1])))
    (answer,) = [one for one in found if isinstance(one, Response)]
    assert answer.error is not None
    assert answer.error["code"] == "deadline_missed"
    assert [draw.round for draw in await court.draws()] == [1, 2]
    seats = await court.seats()
    assert len({seat.agent_id for seat in seats}) == 6
    assert sorted(seat.status.value for seat in seats) == ["missed"] * 3 + ["pending"] * 3


async def test_one_bad_case_stops_no_other(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=3)
    other = await Court.of(trade, court.seller, court.buyer, court.offered)
    judge = await evaluator(trade)
    await trade.market.store.write(
        lambda tx: tx.cursor.execute(
            f"UPDATE dispute_seats SET outcome = 'nonsense' WHERE dispute_id = '{court.dispute_id}'"
        )
    )
    other.offered[judge.id] = judge
    trade.market.pass_seconds(600)
    await trade.market.workers.resolve_disputes()
    assert [one.id for one in await other.panel()] == [judge.id]
