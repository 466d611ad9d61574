"""Two moves on one bounty at once, each in its own process on one PostgreSQL: an award makes exactly one job."""

import random  # noqa: TID251 - seeded: the order can be repeated
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.end_to_end.processes.pair import Pair
from tests.end_to_end.processes.test_races import Contender, race
from tests.support.bounty_races import MOST, MOVES, NAMED, PAIRS, Outcome, contest, outcome, parties
from tests.support.databases import PostgresServer
from tests.support.job_races import Move
from tests.support.trade import Trade
from tests.tools.bounties.test_races import TOO_LATE, one_after_the_other
from tests.tools.jobs.test_races import SEED

pytestmark = pytest.mark.repeated(15, 2)
MAX_RUNS = 60  # repeated until each has been first
AWARDS = [(name, pair) for name, pair in zip(NAMED, PAIRS, strict=True) if "award" in name]


@pytest.fixture(scope="module")
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    """Both processes, with their own database."""
    forged.serve(postgres.create("bounty_races"))
    yield forged
    forged.kill()


@pytest.mark.parametrize("moves", [pair for _, pair in AWARDS], ids=[name for name, _ in AWARDS])
async def test_m12_an_award_and_another_move_in_two_processes_end_as_one_after_the_other_would(
    trade: Trade, pair: Pair, repetitions: int, moves: tuple[Move, Move]
) -> None:
    dice, ends, expected = random.Random(SEED), Counter[Outcome](), set[Outcome]()
    among = await parties(trade)
    for first in range(2):
        one = await contest(trade, among)
        expected.add(await outcome(trade, one, await one_after_the_other(trade, one, moves, first)))
    while ends.total() < repetitions or (set(ends) != expected and ends.total() < MAX_RUNS):
        if ends.total() % MOST == 0:
            among = await parties(trade)
        one = await contest(trade, among)
        calls = [Contender(move.operation, one.given(move), one.key(move)) for move in moves]
        answers = await race(trade, pair, ("bounties", one.posted["id"]), calls, dice)
        for lost in (answer for answer in answers if answer.status not in (200, 201)):
            assert (lost.status, lost.error["code"] in TOO_LATE) == (409, True), (SEED, lost.body)
        ends[await outcome(trade, one, (answers[0], answers[1]))] += 1
    print(f"seed {SEED}: {dict(ends)}")
    assert set(ends) == expected, "both have come first at times"


async def test_the_same_award_in_two_processes_at_once_is_one_job_and_two_equal_answers(
    trade: Trade, pair: Pair
) -> None:
    dice, among = random.Random(SEED), await parties(trade)
    for _ in range(5):
        one = await contest(trade, among)
        call = Contender(MOVES[0].operation, one.given(MOVES[0]), one.key(MOVES[0]))
        first, second = await race(trade, pair, ("bounties", one.posted["id"]), [call, call], dice)
        assert (first.status, second.status) == (200, 200), (first.body, second.body)
        assert first.body == second.body
        await outcome(trade, one, (first, second))
