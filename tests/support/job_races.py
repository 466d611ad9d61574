"""Concurrent moves on one job: every pair of different moves that the lifecycle table allows in one state."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from storage.vocabulary import Actor, JobStatus
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.jobs.lifecycle import MOVES, JobMove

FREE = {"price": 0}
QUOTE = {"pricing_model": "quote", "price": None}
UPFRONT = {"payment": "upfront"}
WORK = {"output": {"english": "good day"}}
OVERDUE_SECONDS = 8 * 86_400  # longer than any delivery time and its grace period


@dataclass(frozen=True)
class Move:
    """A call by one party; `pay` submits a transfer made beforehand."""

    by: str
    operation: str
    given: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.operation if self.operation != "cancel_job" else f"cancel_job by {self.by}"


class Race(NamedTuple):
    """Two moves, a state in which both are allowed, and the listing's terms."""

    name: str
    status: str
    offer: dict[str, Any]
    one: Move
    other: Move


OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "accept": ("accept_job", {}),
    "accept_quote": ("accept_quote", {}),
    "cancel": ("cancel_job", {}),
    "decline": ("decline_job", {}),
    "deliver": ("deliver_job", WORK),
    "dispute": ("dispute_job", {"reason": "Empty."}),
    "pay": ("pay_job", {}),
    "quote": ("quote_job", {"price": 0}),
    "request_revision": ("request_revision", {"message": "Shorter."}),
}
STATES: dict[str, tuple[JobStatus, dict[str, Any]]] = {
    "open": (JobStatus.OPEN, FREE),
    "quote_requested": (JobStatus.QUOTE_REQUESTED, QUOTE),
    "quoted": (JobStatus.QUOTED, QUOTE),
    "awaiting_payment": (JobStatus.AWAITING_PAYMENT, UPFRONT),
    "in_progress": (JobStatus.IN_PROGRESS, FREE),
    "overdue": (JobStatus.IN_PROGRESS, UPFRONT),
    "delivered": (JobStatus.DELIVERED, {}),
    "revealed": (JobStatus.DELIVERED, FREE),
}
REVEALED = {"accept", "request_revision", "dispute"}  # moves that need a revealed output


def move(by: str, operation: str, **given: Any) -> Move:
    return Move(by, operation, tuple(given.items()))


def _moves(state: str) -> Iterator[Move]:
    """Yield the moves of the parties in a state, each once."""
    seen = set[tuple[str, Actor]]()
    for row in MOVES:
        if row.source is STATES[state][0] and row.action in OPERATIONS and _is_open(row, state):
            if (row.action, row.actor) not in seen:
                operation, given = OPERATIONS[row.action]
                yield move(row.actor.value, operation, **given)
            seen.add((row.action, row.actor))


def _is_open(row: JobMove, state: str) -> bool:
    if row.actor not in (Actor.BUYER, Actor.SELLER):
        return False
    if row.source is JobStatus.DELIVERED:
        return (row.action in REVEALED) is (state == "revealed")
    return row.deadline is None or state == "overdue"


RACES = [
    Race(f"{state}: {one}, {other}", state, offer, one, other)
    for state, (_, offer) in STATES.items()
    for one, other in combinations(_moves(state), 2)
]
TWICE: list[tuple[str, str, dict[str, Any], Move]] = [
    (one.operation, state, STATES[state][1], one)
    for state, wanted in (
        ("open", ("accept_job", "decline_job", "cancel_job by buyer")),
        ("quoted", ("accept_quote",)),
        ("in_progress", ("deliver_job", "cancel_job by seller")),
        ("delivered", ("pay_job",)),
        ("revealed", ("request_revision", "dispute_job", "accept_job")),
    )
    for one in _moves(state)
    if str(one) in wanted
]


async def two(trade: Trade, offer: dict[str, Any]) -> tuple[dict[str, Agent], Any]:
    seller, buyer = await trade.parties(1_000_000_000)
    await trade.job_at("completed", seller, buyer)  # a newcomer may hold only one order
    listing = await trade.listing(seller, **offer, max_open_jobs=1000)
    return {"seller": seller, "buyer": buyer}, listing


async def ready(trade: Trade, parties: dict[str, Agent], listing: Any, status: str) -> Any:
    """Return a new job of this listing with a status."""
    seller, buyer = parties["seller"], parties["buyer"]
    job = await trade.order(buyer, listing)
    ref = {"job_id": job["id"]}
    if status == "quoted":
        await trade.market.call("quote_job", by=seller, **ref, price=0)
    if status in ("open", "quote_requested", "quoted"):
        return job
    await trade.market.call("accept_job", by=seller, **ref)
    if status in ("delivered", "revealed"):
        await trade.market.call("deliver_job", by=seller, **ref, **WORK)
    if status == "overdue":
        await trade.pay(buyer, job)
        trade.market.pass_seconds(OVERDUE_SECONDS)
        trade.evm.warp(OVERDUE_SECONDS)
    return job


async def prepared(trade: Trade, parties: dict[str, Agent], job: Any, moves: tuple[Move, Move]) -> list[dict[str, Any]]:
    """Return the arguments of both moves; a payment has already been transferred."""
    given = [{"job_id": job["id"], **dict(one.given)} for one in moves]
    paying = [said for one, said in zip(moves, given, strict=True) if one.operation == "pay_job"]
    sent = await trade.send(parties["buyer"], job) if paying else ""
    for said in paying:
        said["transaction"] = sent
    return given
