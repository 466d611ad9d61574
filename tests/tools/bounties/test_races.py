"""Two concurrent moves on a bounty have the result of some sequential order; an award makes one job."""

import asyncio
import random  # noqa: TID251 - seeded: the same order can be had again
from collections import Counter
from typing import Any

import pytest

from tests.support.bounties import award, bounty, propose, told
from tests.support.bounty_races import (
    MOST,
    MOVES,
    NAMED,
    PAIRS,
    Contest,
    Outcome,
    contest,
    in_the_tables,
    outcome,
    parties,
)
from tests.support.job_races import Move
from tests.support.refusals import limited
from tests.support.trade import Trade
from tests.tools.jobs.test_races import SEED, at_place, enough, together
from tools.engine.idempotency import Response

pytestmark = [pytest.mark.both_databases, pytest.mark.repeated(16, 2)]

TOO_LATE = {"bounty_closed", "bounty_not_open", "proposal_final", "proposal_not_pending"}


async def one_after_the_other(
    trade: Trade, one: Contest, moves: tuple[Move, Move], first: int
) -> tuple[Response, Response]:
    answers = [Response(0, b""), Response(0, b"")]
    for n in (first, 1 - first):
        answers[n] = await trade.market.answer(moves[n].operation, one.given(moves[n]), key=one.key(moves[n]))
    return answers[0], answers[1]


async def at_once(trade: Trade, one: Contest, moves: tuple[Move, Move], first: int) -> tuple[Response, Response]:
    calls = [
        at_place(abs(n - first), trade, moves[n].operation, one.given(moves[n]), one.key(moves[n])) for n in range(2)
    ]
    with together(trade):
        answers = await asyncio.gather(*calls)
    return answers[0], answers[1]


@pytest.mark.parametrize("moves", PAIRS, ids=NAMED)
async def test_m12_two_moves_on_a_bounty_at_once_end_as_one_after_the_other_would(
    trade: Trade, repetitions: int, moves: tuple[Move, Move]
) -> None:
    among, dice, ends = await parties(trade), random.Random(SEED), Counter[Outcome]()
    expected = set()
    for first in range(2):
        one = await contest(trade, among)
        expected.add(await outcome(trade, one, await one_after_the_other(trade, one, moves, first)))
    while not enough(ends, repetitions, len(expected)):
        if ends.total() % MOST == 0:
            among = await parties(trade)
        one = await contest(trade, among)
        answers = await at_once(trade, one, moves, dice.randrange(2))
        for lost in (answer for answer in answers if answer.error is not None):
            assert lost.error is not None
            assert (lost.status, lost.error["code"] in TOO_LATE) == (409, True), lost.body
        ends[await outcome(trade, one, answers)] += 1
    print(f"seed {SEED}: {dict(ends)}")
    assert set(ends) == expected, "both have come first at times"


def test_everything_that_can_be_done_to_an_open_bounty_is_raced() -> None:
    assert {move.operation for move in MOVES} == in_the_tables()


async def test_the_same_award_twice_at_once_is_one_job_and_two_equal_answers(trade: Trade, repetitions: int) -> None:
    among = await parties(trade)
    for run in range(repetitions // 2):
        one = await contest(trade, among)
        first, second = await at_once(trade, one, (MOVES[0], MOVES[0]), run % 2)
        assert (first.status, second.status) == (200, 200), (first.body, second.body)
        assert first.body == second.body
        await outcome(trade, one, (first, second))
    assert len(await told(trade, among["chosen"], "bounty.awarded")) == repetitions // 2


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.operation)
async def test_a_move_at_the_moment_a_sweep_ends_the_bounty_comes_too_late(trade: Trade, move: Move) -> None:
    among = await parties(trade)
    for run in range(4):
        posted = await bounty(trade, among["buyer"], expires_in_seconds=300)
        proposals = {name: await propose(trade, among[name], posted) for name in ("chosen", "other")}
        one = Contest(among, posted, proposals)
        trade.market.pass_seconds(300)
        calls: list[Any] = [
            trade.market.answer(move.operation, one.given(move), key=one.key(move)),
            trade.market.workers.expire_bounties(),
        ]
        answers = await asyncio.gather(*(calls if run % 2 else calls[::-1]))
        (answer,) = (found for found in answers if isinstance(found, Response))
        assert (answer.status, (answer.error or {})["code"] in TOO_LATE) == (409, True)
        await trade.market.workers.expire_bounties()  # it skips rows that a refused call had locked at that moment
        seen = await outcome(trade, one, (answer, answer))
        assert seen[2:] == ("expired", 2, ("chosen rejected", "other rejected"), 0)
    assert len(await told(trade, among["buyer"], "bounty.expired")) == 4


async def test_two_bounties_for_the_last_place_are_one(trade: Trade) -> None:
    buyer = await trade.market.register("Bo")
    for _ in range(19):
        await bounty(trade, buyer)
    given: dict[str, Any] = {"title": "The last", "description": "One of two.", "budget_max": 1, "category": "text"}
    for run in range(6):
        with together(trade):
            answers = await asyncio.gather(
                *(at_place(abs(n - run % 2), trade, "create_bounty", given, buyer.keys["test"]) for n in range(2))
            )
        assert sorted(answer.status for answer in answers) == [201, 409]
        (last, *_) = (await trade.market.call("list_my_bounties", by=buyer, limit=1))["data"]
        await trade.market.call("close_bounty", by=buyer, bounty_id=last["id"])
        trade.market.pass_seconds(1)


async def test_an_order_and_an_award_for_the_last_place_of_a_buyer_are_one_job(trade: Trade) -> None:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    listing = await trade.listing(seller, price=0)
    for run in range(6):
        posted = await bounty(trade, buyer)
        made = await propose(trade, seller, posted, price=0)
        calls = [
            ("create_job", {"listing_id": listing["id"], "input": {"text": "x"}}),
            ("award_bounty", {"bounty_id": posted["id"], "proposal_id": made["id"]}),
        ]
        with together(trade):
            answers = await asyncio.gather(
                *(
                    at_place(abs(n - run % 2), trade, operation, given, buyer.keys["test"])
                    for n, (operation, given) in enumerate(calls)
                )
            )
        assert sorted(answer.status for answer in answers) in ([201, 409], [200, 409])
        (job,) = [
            one
            for one in (await trade.market.call("list_jobs", by=seller, role="seller"))["data"]
            if one["status"] in ("open", "in_progress")
        ]
        await trade.market.call("cancel_job", by=seller, job_id=job["id"])


async def test_an_award_and_the_seller_leaving_end_in_a_job_or_in_none(trade: Trade) -> None:
    for run in range(6):
        seller, buyer = await trade.parties()
        posted = await bounty(trade, buyer)
        made = await propose(trade, seller, posted)
        calls = [
            ("award_bounty", {"bounty_id": posted["id"], "proposal_id": made["id"]}, buyer),
            ("delete_me", {"confirm": seller.handle}, seller),
        ]
        with together(trade):
            await asyncio.gather(
                *(
                    at_place(abs(n - run % 2), trade, operation, given, agent.keys["test"])
                    for n, (operation, given, agent) in enumerate(calls)
                )
            )
        await trade.market.workers.close_deleted_accounts()
        seen = await trade.market.call("get_bounty", by=buyer, bounty_id=posted["id"])
        (status,) = [
            one["status"]
            for one in (await trade.market.call("list_proposals", by=buyer, bounty_id=posted["id"]))["data"]
        ]
        assert (seen["status"], status) in {("awarded", "accepted"), ("open", "withdrawn")}
        if seen["status"] == "awarded":
            await award(trade, buyer, posted, made)
