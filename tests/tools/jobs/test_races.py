"""Two concurrent moves have the result of some sequential order; the later one's error names what is possible.

Both callers read before either writes; a printed seed decides which one writes first.
"""

import asyncio
import random  # noqa: TID251 - seeded: the same order can be had again
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import orjson
import pytest

from tests.support.job_races import RACES, TWICE, Move, Race, prepared, ready, two
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.engine.idempotency import Response

pytestmark = [pytest.mark.both_databases, pytest.mark.repeated(50, 2)]

SEED = 20261121
MAX_RUNS = 60  # PostgreSQL may let the same move come first several times
MAX_JOBS = 25  # the most unfinished jobs that a buyer may have
PLACE: ContextVar[int] = ContextVar("place")  # of a call in its race
Outcome = tuple[
    int, int, str, bool, tuple[str, ...]
]  # both HTTP statuses; the job's status, whether a refund is owed, its events


def enough(seen: Counter[Any], repetitions: int, results: int = 2) -> bool:
    """Tell whether a race was repeated often enough: until it had each possible result."""
    return seen.total() >= MAX_RUNS or (seen.total() >= repetitions and len(seen) >= results)


@contextmanager
def together(trade: Trade) -> Iterator[None]:
    """Make two calls wait until both want to write; then they write in order of place."""
    store, barrier = trade.market.store, asyncio.Barrier(2)
    write, came = store.write, set[int]()

    async def held(work: Callable[..., Any], name: str = "unit") -> Any:
        place = PLACE.get()
        if place not in came:
            came.add(place)
            await barrier.wait()
            if place:
                await asyncio.sleep(0)
        return await write(work, name)

    store.write = held  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        store.write = write  # type: ignore[method-assign]


async def at_place(place: int, trade: Trade, operation: str, given: dict[str, Any], key: str) -> Response:
    PLACE.set(place)
    return await trade.market.answer(operation, given, key=key)


async def race(
    trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move], first: int
) -> tuple[Response, Response]:
    """Make both moves at once and return both answers; the one at `first` writes first."""
    given = await prepared(trade, parties, job, moves)
    keys = [parties[one.by].keys["test"] for one in moves]
    with together(trade):
        one, other = await asyncio.gather(
            *(at_place(abs(n - first), trade, moves[n].operation, given[n], keys[n]) for n in range(2))
        )
    return one, other


async def one_after_the_other(
    trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move], first: int
) -> tuple[Response, Response]:
    given = await prepared(trade, parties, job, moves)
    answers = [Response(0, b""), Response(0, b"")]
    for n in (first, 1 - first):
        answers[n] = await trade.market.answer(moves[n].operation, given[n], key=parties[moves[n].by].keys["test"])
    return answers[0], answers[1]


async def happened(trade: Trade, parties: dict[str, Agent], job: Any) -> tuple[str, ...]:
    events = await trade.market.call("list_job_events", by=parties["buyer"], job_id=job["id"], limit=100)
    return tuple(event["type"] for event in events["data"])


async def outcome(trade: Trade, parties: dict[str, Agent], job: Any, answers: tuple[Any, Any]) -> Outcome:
    seen = await trade.seen(parties["buyer"], job)
    events = await happened(trade, parties, job)
    return answers[0].status, answers[1].status, seen["status"], seen["refund_due"], events


@pytest.mark.parametrize("pair", RACES, ids=[one.name for one in RACES])
async def test_m12_two_moves_at_once_end_as_one_after_the_other_would(
    trade: Trade, repetitions: int, pair: Race
) -> None:
    moves, dice, ends = (pair.one, pair.other), random.Random(SEED), Counter[Outcome]()
    parties, listing = await two(trade, pair.offer)
    expected = set()
    for first in range(2):
        job = await ready(trade, parties, listing, pair.status)
        answers = await one_after_the_other(trade, parties, job, moves, first)
        expected.add(await outcome(trade, parties, job, answers))
    while not enough(ends, repetitions, len(expected)):
        if ends.total() % MAX_JOBS == 0:
            parties, listing = await two(trade, pair.offer)
        job = await ready(trade, parties, listing, pair.status)
        answers = await race(trade, parties, job, moves, dice.randrange(2))
        for lost in (answer for answer in answers if answer.error is not None):
            assert lost.error is not None
            assert (lost.status, lost.error["code"] in ("invalid_transition", "job_not_payable")) == (409, True)
            assert isinstance(lost.error["details"]["available_actions"], list)
        ends[await outcome(trade, parties, job, answers)] += 1
    print(f"seed {SEED}: {dict(ends)}")
    assert set(ends) == expected, "both have come first at times"


def test_the_pairs_that_were_asked_for_are_among_those_the_table_gives() -> None:
    named = {
        "open: accept_job, decline_job",
        "open: accept_job, cancel_job by buyer",
        "quoted: accept_quote, cancel_job by buyer",
        "awaiting_payment: pay_job, cancel_job by buyer",
        "in_progress: deliver_job, cancel_job by seller",
        "overdue: deliver_job, cancel_job by buyer",
        "delivered: pay_job, cancel_job by buyer",
        "revealed: request_revision, dispute_job",
        "revealed: accept_job, dispute_job",
        "revealed: accept_job, request_revision",
    }
    assert named - {one.name for one in RACES} == set()


@pytest.mark.parametrize(("status", "offer", "step"), [one[1:] for one in TWICE], ids=[one[0] for one in TWICE])
async def test_the_same_move_twice_at_once_is_one_event_and_two_equal_answers(
    trade: Trade, repetitions: int, status: str, offer: dict[str, Any], step: Move
) -> None:
    parties, listing = await two(trade, offer)
    for run in range(max(2, repetitions // 5)):
        job = await ready(trade, parties, listing, status)
        before = await happened(trade, parties, job)
        first, second = await race(trade, parties, job, (step, step), run % 2)
        assert (first.status, second.status) == (200, 200), (first.body, second.body)
        assert first.body == second.body
        after = (await happened(trade, parties, job))[len(before) :]
        assert len(after) == len(set(after)) > 0, after


async def test_two_orders_for_the_last_place_are_one_job(trade: Trade, repetitions: int) -> None:
    seller, *buyers = [await trade.agent(name) for name in ("Sela", "Bo", "Cy")]
    won = Counter[str]()
    while not enough(won, repetitions):
        listing = await trade.listing(seller, price=0, max_open_jobs=1)
        order = {"listing_id": listing["id"], "input": {"text": "x"}}
        turn = buyers if won.total() % 2 else buyers[::-1]
        with together(trade):
            answers = await asyncio.gather(
                *(at_place(n, trade, "create_job", order, one.keys["test"]) for n, one in enumerate(turn))
            )
        assert sorted(answer.status for answer in answers) == [201, 409]
        won[turn[0 if answers[0].status == 201 else 1].handle] += 1
        await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
        (job,) = (await trade.market.call("list_jobs", by=seller, role="seller", status="open"))["data"]
        await trade.market.call("decline_job", by=seller, job_id=job["id"])
    assert len(won) == 2


async def test_of_the_last_two_keys_revoked_at_once_one_stays(trade: Trade, repetitions: int) -> None:
    dice, kept = random.Random(SEED), Counter[str]()
    while not enough(kept, repetitions):
        agent = await trade.market.register("Ada")
        live = agent.keys["live"]  # a test key neither sees nor revokes it
        listed = orjson.loads((await trade.market.answer("list_api_keys", key=live)).body)["data"]
        keys = {one["env"]: one["id"] for one in listed}
        turn = dice.sample(sorted(keys), 2)
        with together(trade):
            answers = await asyncio.gather(
                *(
                    at_place(n, trade, "revoke_api_key", {"key_id": keys[env]}, agent.keys[env])
                    for n, env in enumerate(turn)
                )
            )
        assert sorted(answer.status for answer in answers) == [200, 409]
        lost = 0 if answers[0].status == 409 else 1
        assert (answers[lost].error or {})["code"] == "last_key"
        kept[turn[lost]] += 1
    assert len(kept) == 2


async def test_m5_a_payment_and_the_sweep_that_expires_the_job_end_in_a_paid_job(
    trade: Trade, repetitions: int
) -> None:
    parties, listing = await two(trade, {})
    for run in range(repetitions // 2):
        job = await ready(trade, parties, listing, "delivered")
        sent = await trade.send(parties["buyer"], job)
        trade.market.pass_seconds(901)
        pay = trade.market.answer(
            "pay_job", {"job_id": job["id"], "transaction": sent}, key=parties["buyer"].keys["test"]
        )
        calls = [pay, trade.market.workers.sweep()]
        await asyncio.gather(*(calls if run % 2 else calls[::-1]))
        seen = await trade.seen(parties["buyer"], job)
        assert (seen["status"], seen["payment"]["status"]) == ("delivered", "paid")
        await trade.market.call("accept_job", by=parties["buyer"], job_id=job["id"])
