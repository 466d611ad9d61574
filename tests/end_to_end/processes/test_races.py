"""Two moves at once, each in its own process on one PostgreSQL: one wins, and the other gets an error.

Both processes wait for the row when the test unlocks it. A printed seed selects the order of the calls and their
processes. The database decides which gets the row.
"""

import asyncio
import random  # noqa: TID251 - seeded: the order can be repeated
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.end_to_end.processes.pair import Pair, Reply
from tests.support.databases import PostgresServer
from tests.support.job_races import RACES, TWICE, Move, Race, prepared, ready, two
from tests.support.market import Agent
from tests.support.trade import Trade
from tests.tools.jobs.test_races import SEED, Outcome, happened, one_after_the_other, outcome

pytestmark = pytest.mark.repeated(50, 2)
MAX_RUNS = 90  # repeated until both have won; if chances are equal, 90 wins in a row are impossible in practice
TWICE_RUNS = 5
PAIRS = [one for one in RACES if one.status != "overdue"]  # these processes use the real clock


class Contender(NamedTuple):
    """One of two simultaneous calls, with its key."""

    operation: str
    given: dict[str, Any]
    key: str


@pytest.fixture(scope="module")
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    """Both processes, with their own database."""
    forged.serve(postgres.create("races"))
    yield forged
    forged.kill()


async def race(
    trade: Trade, pair: Pair, row: tuple[str, str], contenders: list[Contender], dice: random.Random
) -> list[Reply]:
    """Make the calls at once, each in its own process; return the answers in the calls' order.

    Both have finished their reads before either writes.
    """
    answers: dict[int, asyncio.Task[Reply]] = {}
    at = dice.sample(range(2), 2)
    async with pair.held(*row):
        for place in dice.sample(range(2), 2):
            one = contenders[place]
            call = trade.market.answer(one.operation, one.given, key=one.key, at=at[place])  # type: ignore[call-arg]
            answers[place] = asyncio.create_task(call)  # type: ignore[arg-type]
    return [await answers[place] for place in range(2)]


async def contending(trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move]) -> list[Contender]:
    given = await prepared(trade, parties, job, moves)
    return [
        Contender(move.operation, said, parties[move.by].keys["test"]) for move, said in zip(moves, given, strict=True)
    ]


def enough(won: Counter[str], repetitions: int) -> bool:
    return won.total() >= MAX_RUNS or (won.total() >= repetitions and len(won) == 2)


@pytest.mark.parametrize("asked", PAIRS, ids=[one.name for one in PAIRS])
async def test_m12_two_moves_in_two_processes_end_as_one_after_the_other_would(
    trade: Trade, pair: Pair, repetitions: int, asked: Race
) -> None:
    dice, ends, moves = random.Random(SEED), Counter[Outcome](), (asked.one, asked.other)
    parties, listing = await two(trade, asked.offer)
    expected = set()
    for first in range(2):
        job = await ready(trade, parties, listing, asked.status)
        expected.add(await outcome(trade, parties, job, await one_after_the_other(trade, parties, job, moves, first)))
    while ends.total() < repetitions or (set(ends) != expected and ends.total() < MAX_RUNS):
        job = await ready(trade, parties, listing, asked.status)
        one, other = await race(trade, pair, ("jobs", job["id"]), await contending(trade, parties, job, moves), dice)
        for lost in (answer for answer in (one, other) if answer.status != 200):
            assert lost.status == 409, (SEED, lost.body)
            assert lost.error["code"] in ("invalid_transition", "job_not_payable")
            assert isinstance(lost.error["details"]["available_actions"], list)
        ends[await outcome(trade, parties, job, (one, other))] += 1
    print(f"seed {SEED}: {dict(ends)}")
    assert set(ends) == expected, "both have come first at times"


@pytest.mark.parametrize(("status", "offer", "step"), [one[1:] for one in TWICE], ids=[one[0] for one in TWICE])
async def test_the_same_move_in_two_processes_at_once_is_one_event_and_two_equal_answers(
    trade: Trade, pair: Pair, status: str, offer: dict[str, Any], step: Move
) -> None:
    dice = random.Random(SEED)
    parties, listing = await two(trade, offer)
    for _ in range(TWICE_RUNS):
        job = await ready(trade, parties, listing, status)
        before = await happened(trade, parties, job)
        calls = await contending(trade, parties, job, (step, step))
        first, second = await race(trade, pair, ("jobs", job["id"]), [calls[0], calls[0]], dice)
        assert (first.status, second.status) == (200, 200), (first.body, second.body)
        assert first.body == second.body
        after = (await happened(trade, parties, job))[len(before) :]
        assert len(after) == len(set(after)) > 0, after


async def test_two_orders_in_two_processes_for_the_last_place_are_one_job(
    trade: Trade, pair: Pair, repetitions: int
) -> None:
    seller, *buyers = [await trade.agent(name) for name in ("Sela", "Bo", "Cy")]
    dice, won = random.Random(SEED), Counter[str]()
    while not enough(won, repetitions):
        listing = await trade.listing(seller, price=0, max_open_jobs=1)
        order = {"listing_id": listing["id"], "input": {"text": "x"}}
        calls = [Contender("create_job", order, one.keys["test"]) for one in buyers]
        answers = await race(trade, pair, ("listings", listing["id"]), calls, dice)
        assert sorted(answer.status for answer in answers) == [201, 409]
        first, lost = (0, 1) if answers[0].status == 201 else (1, 0)
        assert answers[lost].error["code"] == "seller_busy"
        won[buyers[first].handle] += 1
        await trade.market.call("decline_job", by=seller, job_id=answers[first].record["id"])
        await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
    assert len(won) == 2


async def me(trade: Trade, key: str, at: int) -> int:
    """Return the status of get_me in a process with this key."""
    return int((await trade.market.answer("get_me", key=key, at=at)).status)  # type: ignore[call-arg]


async def test_of_the_last_two_keys_each_revoked_in_a_process_of_its_own_one_stays(
    trade: Trade, pair: Pair, repetitions: int
) -> None:
    """The keys are live, because a test key revokes test keys only."""
    dice, won = random.Random(SEED), Counter[str]()
    while not enough(won, repetitions):
        agent = await trade.market.register("Ada")
        ids = {one["env"]: one["id"] for one in (await trade.market.call("list_api_keys", by=agent, on="live"))["data"]}
        made = await trade.market.call("create_api_key", by=agent, on="live", env="live")
        await trade.market.call("revoke_api_key", by=agent, on="live", key_id=ids["test"])
        keys = {"first": (ids["live"], agent.keys["live"]), "second": (made["id"], made["key"])}
        calls = [Contender("revoke_api_key", {"key_id": known}, key) for known, key in keys.values()]
        answers = await race(trade, pair, ("agents", agent.id), calls, dice)
        assert sorted(answer.status for answer in answers) == [200, 409]
        gone, kept, lost = ("first", "second", 1) if answers[0].status == 200 else ("second", "first", 0)
        assert answers[lost].error["code"] == "last_key"
        won[gone] += 1
        for at in range(2):  # a key revoked in one process soon becomes invalid in the other
            async with asyncio.timeout(20):
                while await me(trade, keys[gone][1], at) != 401:
                    pass
            assert await me(trade, keys[kept][1], at) == 200
    assert len(won) == 2
