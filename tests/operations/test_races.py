"""Two moves at once: one wins, the other is told so; the same move twice happens once.

Both callers have read what they read before either writes; who is first is drawn, by a seed that is printed.
"""

import asyncio
import random  # noqa: TID251 - seeded: the same order can be had again
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.market import Agent
from tests.trading import Trade
from tools.answers import Answer

RUNS, SEED = 50, 20261121
FREE = {"price": 0}
QUOTE = {"pricing_model": "quote", "price": None}
UPFRONT = {"payment": "upfront"}
WORK = {"output": {"english": "good day"}}


@dataclass(frozen=True)
class Move:
    """What one party does; `pay` shows the hash of a transfer made beforehand."""

    by: str
    operation: str
    given: tuple[tuple[str, Any], ...] = ()


def move(by: str, operation: str, **given: Any) -> Move:
    return Move(by, operation, tuple(given.items()))


ACCEPT, DECLINE = move("seller", "accept_job"), move("seller", "decline_job")
CANCEL, GIVE_UP = move("buyer", "cancel_job"), move("seller", "cancel_job")
DELIVER, PAY = move("seller", "deliver_job", **WORK), move("buyer", "pay_job")
TAKE, REVISE = move("buyer", "accept_job"), move("buyer", "request_revision", message="Shorter.")
DISPUTE, AGREE = move("buyer", "dispute_job", reason="Empty."), move("buyer", "accept_quote")
RACES: list[tuple[str, str, dict[str, Any], Move, Move]] = [
    ("accept-decline", "open", FREE, ACCEPT, DECLINE),
    ("accept-cancel", "open", FREE, ACCEPT, CANCEL),
    ("decline-cancel", "open", FREE, DECLINE, CANCEL),
    ("deliver-cancel", "in_progress", FREE, DELIVER, GIVE_UP),
    ("accept_quote-cancel", "quoted", QUOTE, AGREE, CANCEL),
    ("accept_quote-decline", "quoted", QUOTE, AGREE, DECLINE),
    ("revision-accept", "revealed", FREE, REVISE, TAKE),
    ("revision-dispute", "revealed", FREE, REVISE, DISPUTE),
    ("dispute-accept", "revealed", FREE, DISPUTE, TAKE),
    ("pay-cancel", "delivered", {}, PAY, CANCEL),
    ("pay-decline", "awaiting_payment", UPFRONT, PAY, DECLINE),
]
TWICE: list[tuple[str, str, dict[str, Any], Move]] = [
    (one.operation, status, offer, one)
    for status, offer, one in (
        ("open", FREE, ACCEPT),
        ("open", FREE, DECLINE),
        ("open", FREE, CANCEL),
        ("in_progress", FREE, DELIVER),
        ("in_progress", FREE, GIVE_UP),
        ("quoted", QUOTE, AGREE),
        ("revealed", FREE, REVISE),
        ("revealed", FREE, DISPUTE),
        ("delivered", {}, PAY),
    )
]


async def ready(trade: Trade, parties: dict[str, Agent], listing: Any, status: str) -> Any:
    """A new job of this listing at a status."""
    seller, buyer = parties["seller"], parties["buyer"]
    job = await trade.order(buyer, listing)
    ref = {"job_id": job["id"]}
    if status == "quoted":
        await trade.market.call("quote_job", by=seller, **ref, price=0)
    if status in ("open", "quoted"):
        return job
    await trade.market.call("accept_job", by=seller, **ref)
    if status in ("delivered", "revealed"):
        await trade.market.call("deliver_job", by=seller, **ref, **WORK)
    return job


@contextmanager
def together(trade: Trade, second: str) -> Any:
    """Units of work wait until two have come; the one of the operation drawn to be second goes second."""
    store, barrier = trade.market.store, asyncio.Barrier(2)
    write, came = store.write, Counter[str]()

    async def held(work: Callable[..., Any], name: str = "unit") -> Any:
        came[name] += 1
        if barrier.n_waiting < 2 and sum(came.values()) <= 2:
            await barrier.wait()
            if name == second or came[name] == 2:
                await asyncio.sleep(0)
        return await write(work, name)

    store.write = held  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        store.write = write  # type: ignore[method-assign]


async def prepared(trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move]) -> list[dict[str, Any]]:
    given = [{"job_id": job["id"], **dict(one.given)} for one in moves]
    if PAY in moves:
        sent = await trade.send(parties["buyer"], job)
        given = [one | ({"transaction": sent} if step is PAY else {}) for one, step in zip(given, moves, strict=True)]
    return given


async def race(
    trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move], second: str
) -> tuple[Answer, Answer]:
    given = await prepared(trade, parties, job, moves)
    with together(trade, second):
        calls: list[Awaitable[Answer]] = [
            trade.market.answer(one.operation, said, key=parties[one.by].keys["test"])
            for one, said in zip(moves, given, strict=True)
        ]
        first, other = await asyncio.gather(*calls)
    return first, other


async def two(trade: Trade, offer: dict[str, Any]) -> tuple[dict[str, Agent], Any]:
    seller, buyer = await trade.parties(1_000_000_000)
    listing = await trade.listing(seller, **offer, max_open_jobs=1000)
    return {"seller": seller, "buyer": buyer}, listing


@pytest.mark.parametrize(("status", "offer", "one", "other"), [one[1:] for one in RACES], ids=[one[0] for one in RACES])
async def test_m12_of_two_different_moves_one_wins(
    trade: Trade, status: str, offer: dict[str, Any], one: Move, other: Move
) -> None:
    dice, won = random.Random(SEED), Counter[str]()
    parties, listing = await two(trade, offer)
    for _ in range(RUNS):
        if len(won) == 2 and sum(won.values()) % 25 == 0:  # a buyer holds so many unfinished jobs and no more
            parties, listing = await two(trade, offer)
        job = await ready(trade, parties, listing, status)
        moves = (one, other)
        answers = await race(trade, parties, job, moves, dice.choice(moves).operation)
        statuses = [answer.status for answer in answers]
        assert sorted(statuses) == [200, 409], (SEED, [answer.body for answer in answers])
        winner, loser = (moves[0], answers[1]) if statuses[0] == 200 else (moves[1], answers[0])
        assert loser.error is not None
        assert loser.error["code"] in ("invalid_transition", "job_not_payable")
        assert isinstance(loser.error["details"]["available_actions"], list)
        owed = (await trade.seen(parties["buyer"], job))["refund_due"]
        assert owed is (PAY in moves and winner is not PAY), "money that came too late is recorded, and owed back"
        won[winner.operation] += 1
    print(f"seed {SEED}: {dict(won)}")
    assert len(won) == 2, "both have won at times"


@pytest.mark.parametrize(("status", "offer", "step"), [one[1:] for one in TWICE], ids=[one[0] for one in TWICE])
async def test_the_same_move_twice_at_once_is_one_event_and_two_equal_answers(
    trade: Trade, status: str, offer: dict[str, Any], step: Move
) -> None:
    parties, listing = await two(trade, offer)
    for _ in range(RUNS // 5):
        job = await ready(trade, parties, listing, status)
        before = len(
            (await trade.market.call("list_job_events", by=parties["buyer"], job_id=job["id"], limit=100))["data"]
        )
        first, second = await race(trade, parties, job, (step, step), step.operation)
        assert (first.status, second.status) == (200, 200), (first.body, second.body)
        assert first.body == second.body
        after = (await trade.market.call("list_job_events", by=parties["buyer"], job_id=job["id"], limit=100))["data"]
        happened = [one["type"] for one in after[before:]]
        assert len(happened) == len(set(happened)), happened


async def test_two_orders_for_the_last_place_are_one_job(trade: Trade) -> None:
    seller, *buyers = [await trade.agent(name) for name in ("Sela", "Bo", "Cy")]
    won = Counter[str]()
    for run in range(RUNS):
        listing = await trade.listing(seller, price=0, max_open_jobs=1)
        order = {"listing_id": listing["id"], "input": {"text": "x"}}
        turn = buyers if run % 2 else buyers[::-1]
        with together(trade, "create_job"):
            answers = await asyncio.gather(
                *(trade.market.answer("create_job", order, key=one.keys["test"]) for one in turn)
            )
        assert sorted(answer.status for answer in answers) == [201, 409]
        won[turn[0 if answers[0].status == 201 else 1].handle] += 1
        await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
        (job,) = (await trade.market.call("list_jobs", by=seller, role="seller", status="open"))["data"]
        await trade.market.call("decline_job", by=seller, job_id=job["id"])
    assert len(won) == 2


async def test_m5_a_payment_and_the_sweep_that_expires_the_job_end_in_a_paid_job(trade: Trade) -> None:
    parties, listing = await two(trade, {})
    for run in range(RUNS // 2):
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
