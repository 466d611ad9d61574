"""Moves that no party calls, and guards that only an inconsistent row would need."""

from dataclasses import replace
from itertools import product

import pytest

from storage.vocabulary import Actor, JobStatus, PricingModel, Timing
from tests.tools.jobs.test_lifecycle import AGO, BUYER, CASES, NOW, SELLER, SOON, TICK
from tools.jobs import lifecycle
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import OPENINGS, Move, PendingAction, Waiter

OPERATOR, PANEL, CLOCK = Actor.OPERATOR, Actor.PANEL, Actor.CLOCK
CALLED_OFF = {
    "open", "open, upfront", "open, upfront but free", "working", "working, quoted", "working, late within grace", "sealed",
    "working, just accepted", "working, accepted a while ago", "working, just accepted, a part paid",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_market_calls_off_what_is_neither_paid_nor_agreed_upfront(name: str) -> None:
    move = lifecycle.allowed(CASES[name].facts, "call_off", OPERATOR, NOW)
    if name not in CALLED_OFF:
        assert move is None
    else:
        assert move is not None
        assert (move.target, move.event, move.closes) == ("cancelled", "job.cancelled", "called_off")
    for actor in (BUYER, SELLER, CLOCK, PANEL):
        assert lifecycle.allowed(CASES[name].facts, "call_off", actor, NOW) is None


@pytest.mark.parametrize("name", CASES)
def test_what_the_market_does_by_itself_is_offered_to_no_party(name: str) -> None:
    said = {action for role in Actor for action in lifecycle.available_actions(CASES[name].facts, role, NOW)}
    assert "call_off" not in said


@pytest.mark.parametrize(("timing", "model", "price"), list(product(Timing, PricingModel, [0, 100])))
def test_a_job_begins_by_exactly_one_row(timing: Timing, model: PricingModel, price: int) -> None:
    draft = JobFacts(status=JobStatus.OPEN, timing=timing, model=model, price_minor=price)
    opened = [move for move in OPENINGS if move.is_open(draft, NOW)]
    assert sorted(move.action for move in opened) == ["award", "order"]
    first = timing is Timing.UPFRONT and price > 0
    assert {move.action: move.target.value for move in opened} == {
        "order": "quote_requested" if model is PricingModel.QUOTE else "open",
        "award": "awaiting_payment" if first else "in_progress",
    }


def test_a_row_says_nothing_it_was_not_told() -> None:
    row: lifecycle.JobMove = Move("wait", JobStatus.OPEN, BUYER, JobStatus.OPEN)
    assert (row.event, row.when, row.deadline, row.closes, row.repeat) == (None,) * 5
    assert (row.grace.total_seconds(), row.listed, row.compares) == (0, True, False)
    assert row.is_open(CASES["open"].facts, NOW) is True
    late: lifecycle.JobMove = Move("wait", JobStatus.OPEN, BUYER, JobStatus.OPEN, deadline="accept_by")
    assert late.is_open(CASES["open"].facts, SOON - TICK) is False
    assert late.is_open(CASES["open"].facts, SOON) is True


def test_a_sealed_delivery_is_never_completed_by_the_clock() -> None:
    hidden = replace(CASES["sealed"].facts, review_by=AGO)
    assert lifecycle.due(hidden, NOW) is None
    shown = replace(CASES["revealed"].facts, review_by=AGO, pay_by=AGO)
    move = lifecycle.due(shown, NOW)
    assert move is not None
    assert move.action == "complete"


def test_a_repeat_without_content_holds_by_itself_and_one_with_content_does_not() -> None:
    assert lifecycle.is_repeat(CASES["working"].facts, "accept", SELLER, NOW) is True
    assert lifecycle.is_repeat(CASES["open"].facts, "accept", SELLER, NOW) is False
    resolved = CASES["resolved for the buyer"].facts
    for actor in (PANEL, OPERATOR):
        assert lifecycle.is_repeat(resolved, "resolve", actor, NOW) is False
        assert lifecycle.is_repeat(resolved, "resolve", actor, NOW, same_content=True) is True
    assert lifecycle.is_repeat(CASES["sealed"].facts, "deliver", SELLER, NOW) is False


def test_the_smallest_refund_is_offered_and_waited_for() -> None:
    """Refunds below a minimum do not count against a seller, but any amount is owed."""
    owing = replace(CASES["declined"].facts, orphaned_minor=1)
    owed = [replace(owing, orphaned_minor=amount) for amount in (0, 1, 2)]
    offered = ["refund" in lifecycle.available_actions(facts, SELLER, NOW) for facts in owed]
    assert offered == [False, True, True]
    assert lifecycle.waiting_on(owing, NOW) == PendingAction(
        Waiter.SELLER,
        "refund",
        None,
        "Nothing happens by itself; an open refund counts against the seller's reputation.",
    )
    assert lifecycle.waiting_on(replace(owing, orphaned_minor=0), NOW) is None
