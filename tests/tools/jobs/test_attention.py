"""The party that a job waits for, and the times of its reminders, for every state of the lifecycle."""

from datetime import UTC, datetime, timedelta

import pytest

from storage.vocabulary import Actor, ClosedAs, JobStatus, Timing
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import waiting_on
from tools.jobs.waiting_rules import NOBODY, Attention, announced_at, attention

NOW = datetime(2026, 11, 21, 4, tzinfo=UTC)
S = JobStatus


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("window", "lead"),
    [(60, None), (61, 60), (600, 60), (601, 60.1), (3600, 360), (36_000, 3600), (604_800, 3600)],
)
def test_a_deadline_is_announced_when_a_tenth_of_its_window_is_left(window: float, lead: float | None) -> None:
    expected = None if lead is None else after(window - lead)
    assert announced_at(NOW, after(window)) == expected


@pytest.mark.parametrize(
    ("facts", "party"),
    [
        (JobFacts(status=S.OPEN, accept_by=after(1000)), Actor.SELLER),
        (JobFacts(status=S.QUOTE_REQUESTED, accept_by=after(1000)), Actor.SELLER),
        (JobFacts(status=S.QUOTED, accept_by=after(1000)), Actor.BUYER),
        (JobFacts(status=S.AWAITING_PAYMENT, price_minor=5, pay_by=after(1000)), Actor.BUYER),
        (JobFacts(status=S.IN_PROGRESS, deliver_by=after(1000)), Actor.SELLER),
        (JobFacts(status=S.DELIVERED, delivered=True, price_minor=5, pay_by=after(1000)), Actor.BUYER),
        (JobFacts(status=S.DELIVERED, delivered=True, price_minor=0, review_by=after(1000)), Actor.BUYER),
    ],
    ids=lambda one: str(one.status) if isinstance(one, JobFacts) else str(one),
)
def test_the_party_that_must_act_is_the_lifecycles(facts: JobFacts, party: Actor) -> None:
    waiting = waiting_on(facts, NOW)
    assert waiting is not None
    assert (waiting.who, waiting.until) == (party.value, after(1000))
    assert attention(facts, NOW) == Attention(party, after(1000), after(900))


@pytest.mark.parametrize(
    "facts",
    [
        JobFacts(status=S.COMPLETED),
        JobFacts(status=S.COMPLETED, orphaned_minor=5),
        JobFacts(status=S.DISPUTED, verdict_by=after(1000)),
        JobFacts(status=S.DISPUTED, escalated=True),
        JobFacts(status=S.CANCELLED, closed_as=ClosedAs.SELLER_FAILED, paid_minor=5),
        JobFacts(status=S.EXPIRED, closed_as=ClosedAs.ACCEPT_TIMEOUT),
    ],
    ids=str,
)
def test_what_waits_for_no_party_or_has_no_deadline_is_left_alone(facts: JobFacts) -> None:
    assert attention(facts, NOW) == NOBODY


def test_a_deadline_that_stands_is_not_announced_again() -> None:
    facts = JobFacts(status=S.QUOTED, accept_by=after(1000))
    first = attention(facts, NOW)
    assert attention(facts, after(100), first) == first
    assert attention(facts, after(950), first.announced()) == Attention(Actor.BUYER, after(1000), None)


def test_a_deadline_that_becomes_anothers_is_announced_to_it() -> None:
    sellers = attention(JobFacts(status=S.QUOTE_REQUESTED, accept_by=after(1000)), NOW).announced()
    quoted = JobFacts(status=S.QUOTED, accept_by=after(1000))
    assert attention(quoted, after(400), sellers) == Attention(Actor.BUYER, after(1000), after(940))


def test_a_paid_job_is_looked_at_again_an_hour_after_its_deadline_until_that_was_said() -> None:
    paid = {"timing": Timing.UPFRONT, "price_minor": 5, "paid_minor": 5, "paid_at": NOW}
    facts = JobFacts(status=S.IN_PROGRESS, deliver_by=after(1000), **paid)  # type: ignore[arg-type]
    first = attention(facts, NOW)
    overdue = Attention(Actor.SELLER, after(1000), after(4600))
    assert first.notice_at == after(900)
    assert attention(facts, after(900), first.announced()) == overdue
    assert attention(facts, after(950), overdue) == overdue
    told = JobFacts(status=S.IN_PROGRESS, deliver_by=after(1000), overdue_told=True, **paid)  # type: ignore[arg-type]
    assert attention(told, after(4600), overdue.announced()) == Attention(Actor.SELLER, after(1000), None)


def test_a_job_that_can_still_be_paid_is_looked_at_when_that_ends() -> None:
    facts = JobFacts(status=S.EXPIRED, closed_as=ClosedAs.PAYMENT_TIMEOUT, price_minor=5, pay_by=NOW)
    assert attention(facts, NOW) == Attention(Actor.BUYER, after(3600), after(3600))
    assert attention(facts, after(3601)) == NOBODY


@pytest.mark.parametrize(("at", "expected"), [(899, False), (900, True), (999, True), (1000, False), (5000, False)])
def test_it_is_announced_from_its_moment_until_the_deadline(at: float, expected: bool) -> None:
    assert Attention(Actor.BUYER, after(1000), after(900)).announces(after(at)) is expected
    assert not Attention(Actor.BUYER, after(1000), after(4600)).announces(after(at))
    assert not NOBODY.announces(after(at))
