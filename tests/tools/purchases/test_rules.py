"""The states of a purchase, the reasons for which it ends unpaid, and when a submitted payment is looked for again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from storage.vocabulary import ClosedAs, JobStatus, PurchaseStatus
from tools.jobs.facts import JobFacts
from tools.purchases.rules import (
    UNDER_WAY,
    NextAction,
    Outcome,
    PurchaseState,
    end_of,
    ends_at,
    gone_at,
    has_ended,
    is_over,
    is_to_be_noted,
    last_moment,
    look_again_at,
    look_for_it_at,
    needs_its_client,
    next_of,
)

BEGAN = datetime(2026, 11, 23, tzinfo=UTC)
UNIX = 1_795_392_000  # the same time as a Unix timestamp
AFTERMATH = timedelta(seconds=60)
TICK = timedelta(microseconds=1)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


WORKING = JobFacts(status=JobStatus.IN_PROGRESS, price_minor=10_000)
DELIVERED = replace(WORKING, status=JobStatus.DELIVERED, delivered=True)
FAILED = replace(WORKING, status=JobStatus.CANCELLED, closed_as=ClosedAs.SELLER_FAILED)
PAID = replace(DELIVERED, paid_at=BEGAN, paid_minor=10_000)
ONE = PurchaseState(PurchaseStatus.WORKING, WORKING, BEGAN, UNIX + 300, held=False)


def test_the_moment_is_the_one_its_seconds_name() -> None:
    assert int(BEGAN.timestamp()) == UNIX
    assert {"settling", "refused", "sent"} == UNDER_WAY


@pytest.mark.parametrize(
    ("job", "seconds", "end"),
    [
        (WORKING, 0, None),
        (WORKING, 89.999999, None),
        (WORKING, 90, Outcome.TIMEOUT),  # the work was not delivered in time
        (DELIVERED, 90, None),
        (DELIVERED, 289.999999, None),
        (DELIVERED, 290, Outcome.TIMEOUT),  # ten seconds before the authorization expires, it is no longer submitted
        (FAILED, 0, Outcome.NOT_DELIVERED),
        (FAILED, 300, Outcome.NOT_DELIVERED),
        (PAID, 0, Outcome.ELSEWHERE),
        (PAID, 300, Outcome.ELSEWHERE),
        (replace(FAILED, paid_at=BEGAN), 0, Outcome.ELSEWHERE),
    ],
)
def test_a_purchase_nobody_handed_over_comes_to_nothing_for_one_reason(
    job: JobFacts, seconds: float, end: Outcome | None
) -> None:
    assert end_of(replace(ONE, job=job), after(seconds)) is end


def test_a_short_authorization_ends_the_wait_for_the_work() -> None:
    short = replace(ONE, valid_before=UNIX + 60)
    assert [end_of(short, after(seconds)) for seconds in (49.999999, 50)] == [None, Outcome.TIMEOUT]


@pytest.mark.parametrize(
    ("stage", "job", "held", "seconds", "wanted"),
    [
        (PurchaseStatus.WORKING, WORKING, False, 0, NextAction.WAIT),
        (PurchaseStatus.WORKING, WORKING, True, 0, NextAction.WAIT),
        (PurchaseStatus.WORKING, DELIVERED, False, 0, NextAction.SETTLE),
        (PurchaseStatus.WORKING, WORKING, False, 90, NextAction.CLOSE),
        (PurchaseStatus.WORKING, FAILED, False, 0, NextAction.CLOSE),
        (PurchaseStatus.WORKING, DELIVERED, False, 290, NextAction.CLOSE),
        (PurchaseStatus.SETTLING, DELIVERED, True, 0, NextAction.WAIT),
        (PurchaseStatus.SETTLING, DELIVERED, False, 0, NextAction.FOLLOW),
        (PurchaseStatus.REFUSED, DELIVERED, False, 0, NextAction.FOLLOW),
        (PurchaseStatus.SENT, DELIVERED, False, 900, NextAction.FOLLOW),
        (PurchaseStatus.SENT, DELIVERED, True, 900, NextAction.WAIT),
        (PurchaseStatus.PAID, PAID, False, 0, NextAction.TELL),
        (PurchaseStatus.CLOSED, FAILED, True, 0, NextAction.TELL),
    ],
)
def test_what_is_to_be_done_with_a_purchase_now(
    stage: PurchaseStatus, job: JobFacts, held: bool, seconds: float, wanted: NextAction
) -> None:
    assert next_of(PurchaseState(stage, job, BEGAN, UNIX + 300, held), after(seconds)) is wanted


def test_one_that_is_worked_on_is_looked_at_when_patience_ends_and_then_at_its_last_moment() -> None:
    assert look_again_at(ONE, BEGAN) == look_again_at(ONE, after(90) - TICK) == after(90)
    assert look_again_at(ONE, after(90)) == last_moment(UNIX + 300) == after(290)


def test_the_ends_of_an_authorization() -> None:
    assert ends_at(UNIX) == after(3660)
    assert [has_ended(UNIX, after(seconds)) for seconds in (0, 59.999999, 60, 61)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("age", "pause"), [(0, 10), (79, 10), (80, 10), (160, 20), (479, 59.875), (480, 60), (481, 60), (3000, 60)]
)
def test_a_pause_is_an_eighth_of_the_age_from_ten_seconds_to_sixty(age: float, pause: float) -> None:
    assert look_for_it_at(BEGAN, UNIX + 3600, after(age)) == after(age + pause)


def test_the_last_look_is_when_it_is_over_and_then_they_go_on() -> None:
    assert look_for_it_at(BEGAN, UNIX + 300, after(330)) == after(360), "60 seconds past its end"
    assert look_for_it_at(BEGAN, UNIX + 300, after(360)) == after(405)
    assert look_for_it_at(BEGAN, UNIX + 300, after(360) - TICK) == after(360)


def looks(seconds: int) -> list[datetime]:
    """Return the times of the looks for a payment that is never taken, until it has expired."""
    found = [after(1)]
    while not has_ended(UNIX + seconds, found[-1]):
        found.append(look_for_it_at(BEGAN, UNIX + seconds, found[-1]))
    return found


def test_a_payment_is_looked_for_soon_at_first_and_then_ever_less_often() -> None:
    found = looks(3600)
    pauses = [(later - one).total_seconds() for one, later in pairwise(found)]
    assert pauses[:-1] == sorted(pauses[:-1])
    assert (pauses[0], max(pauses), len(found) < 80) == (10, 60, True)


def test_it_is_looked_for_the_moment_it_is_over_and_then_until_it_is_closed() -> None:
    for seconds in (60, 300, 900, 3600):
        assert looks(seconds)[-1] == after(seconds) + AFTERMATH
        assert look_for_it_at(BEGAN, UNIX + seconds, after(seconds + 60)) > after(seconds + 60)


def test_it_is_over_once_the_chain_is_past_it_or_has_stood_still_for_an_hour() -> None:
    late = BEGAN + AFTERMATH
    assert is_over(UNIX, UNIX, late - TICK) is False
    assert is_over(UNIX, UNIX, late)
    assert is_over(UNIX, UNIX + 1, late)
    assert not is_over(UNIX, UNIX - 1, late)
    assert not is_over(UNIX, 0, after(3600) - TICK)
    assert is_over(UNIX, 0, after(3600))


# An order that no seller has accepted, and whose client has disconnected.

OPEN = JobFacts(status=JobStatus.OPEN, price_minor=10_000)
LEFT = replace(ONE, job=OPEN, asked_at=BEGAN)


@pytest.mark.parametrize(
    ("one", "seconds", "end"),
    [
        (LEFT, 0, None),
        (LEFT, 59.999999, None),
        (LEFT, 60, Outcome.LEFT),
        (replace(LEFT, asked_at=after(20)), 79.999999, None),
        (replace(LEFT, asked_at=after(20)), 80, Outcome.LEFT),
        (replace(LEFT, asked_at=None), 60, None),
        (replace(LEFT, asked_at=None), 90, Outcome.TIMEOUT),
        (replace(LEFT, job=WORKING), 60, None),  # it was accepted, so the work continues
        (replace(LEFT, asked_at=after(80)), 90, Outcome.TIMEOUT),
    ],
)
def test_an_order_nobody_accepted_ends_a_minute_after_its_client_was_there_last(
    one: PurchaseState, seconds: float, end: Outcome | None
) -> None:
    assert end_of(one, after(seconds)) is end
    assert PurchaseState(PurchaseStatus.WORKING, OPEN, BEGAN, UNIX, held=False).asked_at is None


def test_it_is_looked_at_again_when_its_client_counts_as_gone() -> None:
    assert gone_at(LEFT) == look_again_at(LEFT, BEGAN) == after(60)
    assert gone_at(replace(LEFT, job=WORKING)) == gone_at(replace(LEFT, asked_at=None)) == after(290)
    assert look_again_at(replace(LEFT, asked_at=after(50)), BEGAN) == after(90)


def test_a_call_is_noted_every_fifteen_seconds_while_it_matters() -> None:
    assert [is_to_be_noted(LEFT, after(seconds)) for seconds in (14.999999, 15, 16)] == [False, True, True]
    assert is_to_be_noted(replace(LEFT, asked_at=None), BEGAN) is True
    for other in (replace(LEFT, job=WORKING, asked_at=None), replace(LEFT, stage=PurchaseStatus.SENT, asked_at=None)):
        assert (needs_its_client(other), is_to_be_noted(other, after(99))) == (False, False)
    assert needs_its_client(LEFT) is True
