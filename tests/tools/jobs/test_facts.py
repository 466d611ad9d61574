"""The facts of a job: what is sealed, what can be paid, what has to be refunded."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.vocabulary import FINAL, ClosedAs, JobStatus, Outcome, PricingModel, Timing
from tests.requirements import covers
from tools.jobs import lifecycle
from tools.jobs.facts import (
    DELIVERY_GRACE,
    KEPT_UNPAID,
    PAYMENT_GRACE,
    JobFacts,
    forgets_texts,
    how_it_ended,
    kept_minor,
    payment_status,
    refund_expected,
    refund_held_against,
    refund_left,
    revivable,
    was_paid,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, TICK = timedelta(hours=1), timedelta(microseconds=1)
SEALED = JobFacts(status=JobStatus.DELIVERED, price_minor=100, delivered=True, pay_by=NOW + HOUR)
UNPAID = replace(SEALED, status=JobStatus.EXPIRED, closed_as=ClosedAs.PAYMENT_TIMEOUT)
PAID = replace(SEALED, paid_minor=101, paid_at=NOW)
WAITING = JobFacts(status=JobStatus.AWAITING_PAYMENT, timing=Timing.UPFRONT, price_minor=100, pay_by=NOW + HOUR)


@pytest.mark.parametrize(
    "facts, hidden",
    [
        (SEALED, True),
        (PAID, False),
        (replace(SEALED, price_minor=0), False),
        (replace(SEALED, delivered=False), False),
        (UNPAID, True),
        (replace(SEALED, status=JobStatus.CANCELLED, closed_as=ClosedAs.BUYER_WALKED_AWAY), True),
        (replace(PAID, status=JobStatus.IN_PROGRESS, revision_count=1), False),
        (replace(SEALED, timing=Timing.UPFRONT), True),
    ],
)
def test_a_priced_delivery_is_hidden_until_it_is_paid_and_a_free_one_never(facts: JobFacts, hidden: bool) -> None:
    assert facts.is_sealed is hidden


@pytest.mark.parametrize(
    "facts, seconds, status",
    [
        (JobFacts(status=JobStatus.QUOTE_REQUESTED), 0, "not_due"),
        (JobFacts(status=JobStatus.QUOTED, quoted_price_minor=5), 0, "not_due"),
        (replace(SEALED, price_minor=0), 0, "none"),
        (replace(UNPAID, price_minor=0), 0, "none"),
        (PAID, 0, "paid"),
        (replace(PAID, status=JobStatus.CANCELLED, refunded_minor=101), 0, "paid"),
        (JobFacts(status=JobStatus.OPEN, price_minor=100), 0, "not_due"),
        (JobFacts(status=JobStatus.IN_PROGRESS, price_minor=100), 0, "not_due"),
        (replace(WAITING, price_minor=None), 0, "not_due"),
        (WAITING, 0, "due"),
        (WAITING, 7200, "due"),  # past pay_by and not yet expired: a payment can revive it for one more hour
        (WAITING, 7201, "not_due"),
        (replace(WAITING, pay_by=None), 7201, "due"),
        (SEALED, 0, "due"),
        (SEALED, 7201, "not_due"),
        (replace(SEALED, status=JobStatus.CANCELLED, closed_as=ClosedAs.BUYER_WALKED_AWAY), 0, "not_due"),
        (UNPAID, 7200, "due"),
        (UNPAID, 7201, "not_due"),
        (replace(UNPAID, closed_as=ClosedAs.ACCEPT_TIMEOUT), 0, "not_due"),
    ],
)
@covers("payment.status.*")
def test_payment_status_follows_price_payment_state_and_clock(facts: JobFacts, seconds: int, status: str) -> None:
    assert payment_status(facts, NOW + timedelta(seconds=seconds)) == status


def test_m5_a_payment_mined_up_to_one_hour_after_pay_by_revives_an_unpaid_job() -> None:
    end = NOW + 2 * HOUR
    assert [revivable(UNPAID, at) for at in (NOW - HOUR, end - TICK, end, end + TICK)] == [True, True, True, False]


@pytest.mark.parametrize(
    "facts",
    [
        replace(UNPAID, closed_as=ClosedAs.ACCEPT_TIMEOUT),
        replace(UNPAID, status=JobStatus.CANCELLED),
        replace(UNPAID, pay_by=None),
        replace(UNPAID, partial_minor=40, refunded_minor=40),
    ],
)
def test_no_other_end_of_a_job_is_revived(facts: JobFacts) -> None:
    assert revivable(facts, NOW) is False


def ended(closed_as: ClosedAs, status: JobStatus = JobStatus.CANCELLED) -> JobFacts:
    return replace(PAID, status=status, closed_as=closed_as)


def verdict(outcome: Outcome) -> JobFacts:
    return replace(ended(ClosedAs.VERDICT, JobStatus.RESOLVED), outcome=outcome)


@pytest.mark.parametrize(
    "facts, owed",
    [
        (PAID, 0),
        (ended(ClosedAs.BUYER_ACCEPTED, JobStatus.COMPLETED), 0),
        (ended(ClosedAs.SELLER_FAILED), 101),
        (ended(ClosedAs.BUYER_LEFT_AFTER_DEADLINE), 101),
        (ended(ClosedAs.DELIVERY_TIMEOUT), 101),
        (ended(ClosedAs.BUYER_WALKED_AWAY), 0),
        (ended(ClosedAs.DISPUTE_WITHDRAWN, JobStatus.COMPLETED), 0),
        (verdict(Outcome.BUYER), 101),
        (verdict(Outcome.SPLIT), 51),  # half of 101, rounded up
        (replace(verdict(Outcome.SPLIT), paid_minor=100), 50),
        (replace(verdict(Outcome.SPLIT), paid_minor=1), 1),
        (replace(verdict(Outcome.SPLIT), paid_minor=0), 0),
        (verdict(Outcome.SELLER), 0),
        (replace(PAID, orphaned_minor=7), 7),
        (replace(verdict(Outcome.SPLIT), orphaned_minor=7), 58),
    ],
)
def test_what_is_owed_back_follows_from_how_the_job_ended_and_from_orphans(facts: JobFacts, owed: int) -> None:
    assert refund_expected(facts) == owed


@pytest.mark.parametrize("refunded, owed", [(0, 101), (1, 100), (100, 1), (101, 0), (5000, 0)])
def test_m8_a_short_refund_leaves_the_rest_owed_and_an_excess_owes_nothing(refunded: int, owed: int) -> None:
    assert refund_expected(replace(ended(ClosedAs.SELLER_FAILED), refunded_minor=refunded)) == owed


def test_m9_a_second_obligation_is_owed_after_the_first_was_refunded() -> None:
    first = replace(ended(ClosedAs.SELLER_FAILED), refunded_minor=101)
    assert (refund_expected(first), refund_expected(replace(first, orphaned_minor=30))) == (0, 30)


@pytest.mark.parametrize("status", list(JobStatus))
def test_partial_payments_are_owed_back_exactly_when_the_job_has_ended_without_them(status: JobStatus) -> None:
    ends = {"declined", "cancelled", "expired", "completed", "resolved"}
    assert refund_expected(JobFacts(status=status, price_minor=100, partial_minor=40)) == (40 if status in ends else 0)


@pytest.mark.parametrize(
    "facts, held",
    [
        (PAID, 0),
        (replace(PAID, orphaned_minor=9_999), 0),  # any stranger can send dust
        (replace(PAID, orphaned_minor=10_000), 10_000),
        (replace(PAID, orphaned_minor=10_001, refunded_minor=1), 10_000),
        (replace(PAID, orphaned_minor=10_000, refunded_minor=10_001), 0),
        (replace(ended(ClosedAs.SELLER_FAILED), orphaned_minor=9_999), 101),
        (replace(ended(ClosedAs.SELLER_FAILED), orphaned_minor=9_999, refunded_minor=100), 1),
        (replace(ended(ClosedAs.SELLER_FAILED), orphaned_minor=10_000, refunded_minor=100), 10_001),
        (replace(verdict(Outcome.SPLIT), orphaned_minor=6_000, partial_minor=4_000), 10_051),
        (replace(UNPAID, orphaned_minor=6_000, partial_minor=3_999), 0),
    ],
)
def test_stray_dust_is_owed_and_not_held_against_the_seller(facts: JobFacts, held: int) -> None:
    assert refund_held_against(facts) == held


@pytest.mark.parametrize(
    "facts, had, left",
    [
        (SEALED, False, 0),
        (PAID, True, 101),
        (replace(PAID, paid_minor=1), True, 1),
        (replace(PAID, refunded_minor=100), True, 1),
        (replace(PAID, refunded_minor=200), True, 0),
        (replace(PAID, orphaned_minor=9), True, 110),
        (replace(SEALED, orphaned_minor=1), True, 1),
        (replace(SEALED, partial_minor=40), False, 0),  # the payment can still be completed
        (replace(UNPAID, partial_minor=40, refunded_minor=10), True, 30),
    ],
)
def test_what_can_be_given_back_is_what_came_and_did_not_go(facts: JobFacts, had: bool, left: int) -> None:
    assert (was_paid(facts), refund_left(facts)) == (had, left)
    assert facts.voluntary_minor == 0


@pytest.mark.parametrize(
    "facts, kept",
    [
        (SEALED, 0),
        (PAID, 101),
        (replace(PAID, refunded_minor=100), 1),
        (replace(PAID, refunded_minor=101), 0),
        (replace(PAID, orphaned_minor=9, refunded_minor=9), 101),
        (replace(PAID, orphaned_minor=9, refunded_minor=10), 100),
        (replace(PAID, orphaned_minor=9), 101),
        (replace(UNPAID, partial_minor=40), 0),
    ],
)
def test_what_the_seller_keeps_of_payments_is_less_by_refunds_beyond_stray_transfers(
    facts: JobFacts, kept: int
) -> None:
    assert kept_minor(facts) == kept


def test_a_job_of_which_nothing_is_known_has_cost_and_done_nothing() -> None:
    new = JobFacts(status=JobStatus.OPEN)
    money = (new.paid_minor, new.partial_minor, new.orphaned_minor, new.refunded_minor, new.price_minor)
    assert (money, new.revision_count, new.max_revisions) == ((0, 0, 0, 0, None), 0, 2)
    said = (new.delivered, new.escalated, new.overdue_told, new.reviewed_by_buyer, new.reviewed_by_seller)
    assert (said, new.timing, new.model) == ((False,) * 5, "on_delivery", "fixed")


@pytest.mark.parametrize(
    "facts, gone",
    [
        (SEALED, None),
        (UNPAID, "outputs"),
        (replace(SEALED, status=JobStatus.CANCELLED, closed_as=ClosedAs.BUYER_WALKED_AWAY), "outputs"),
        (replace(UNPAID, paid_at=NOW), None),
        (replace(UNPAID, price_minor=0), None),  # free work was never sealed
        (ended(ClosedAs.BUYER_ACCEPTED, JobStatus.COMPLETED), None),
        (JobFacts(status=JobStatus.OPEN), None),
        (JobFacts(status=JobStatus.DECLINED, price_minor=100), "input"),
        (JobFacts(status=JobStatus.EXPIRED, price_minor=100), "input"),
        (JobFacts(status=JobStatus.CANCELLED, price_minor=100, deliver_by=NOW), None),  # work had already begun
        (JobFacts(status=JobStatus.CANCELLED, price_minor=100, paid_at=NOW), None),
    ],
)
def test_what_nobody_paid_for_is_forgotten_after_the_end(facts: JobFacts, gone: str | None) -> None:
    assert forgets_texts(facts) is (gone is not None)
    assert gone is None or facts.delivered is (gone == "outputs"), "the delivery says which texts are deleted"


def test_it_is_kept_for_thirty_days_and_a_job_that_lost_it_is_not_revived() -> None:
    assert timedelta(days=30) == KEPT_UNPAID
    assert JobFacts(status=JobStatus.OPEN).forgotten is False
    assert revivable(replace(UNPAID, forgotten=True), NOW) is False


def test_an_end_tells_who_left_and_who_owed() -> None:
    left = replace(SEALED, status=JobStatus.CANCELLED, closed_as=ClosedAs.BUYER_WALKED_AWAY)
    assert how_it_ended("job.expired", UNPAID) == {"unpaid": True}
    assert how_it_ended("job.expired", replace(UNPAID, closed_as=ClosedAs.ACCEPT_TIMEOUT)) == {"unpaid": False}
    assert how_it_ended("job.cancelled", left) == {"walk_away": True, "cancel_kind": None}
    assert how_it_ended("job.cancelled", ended(ClosedAs.SELLER_FAILED)) == {"walk_away": False, "cancel_kind": None}
    back = how_it_ended("job.cancelled", ended(ClosedAs.RETURNED))
    assert back == {"walk_away": False, "cancel_kind": "returned"}
    assert how_it_ended("job.completed", left) == {}


def test_graces_are_an_hour() -> None:
    assert (PAYMENT_GRACE, DELIVERY_GRACE) == (HOUR, HOUR)


amounts = st.integers(0, 10**12)


@given(
    st.sampled_from(JobStatus), st.none() | st.sampled_from(ClosedAs), st.none() | st.sampled_from(Outcome),
    amounts, amounts, amounts, amounts,
)  # fmt: skip
def test_m8_what_is_owed_back_is_never_negative_and_never_more_than_came_in(
    status: JobStatus, why: ClosedAs | None, outcome: Outcome | None, paid: int, part: int, orphan: int, back: int
) -> None:
    facts = JobFacts(
        status=status, closed_as=why, outcome=outcome, price_minor=1,
        paid_minor=paid, partial_minor=part, orphaned_minor=orphan, refunded_minor=back,
    )  # fmt: skip
    assert 0 <= refund_expected(facts) <= max(0, paid + part + orphan - back)


def test_the_contracts_unpaid_is_an_expiry_for_want_of_payment_and_nothing_else() -> None:
    assert [UNPAID.is_unpaid, replace(UNPAID, closed_as=ClosedAs.ACCEPT_TIMEOUT).is_unpaid, SEALED.is_unpaid] == [
        True, False, False,
    ]  # fmt: skip


def test_the_price_agreed_on_is_the_latest_quote_while_quoted_and_the_price_otherwise() -> None:
    quoted = JobFacts(status=JobStatus.QUOTED, price_minor=1, quoted_price_minor=2)
    assert (quoted.agreed_minor, replace(quoted, status=JobStatus.IN_PROGRESS).agreed_minor) == (2, 1)


# Properties for any facts.

times = st.none() | st.sampled_from([NOW - HOUR - TICK, NOW - HOUR, NOW - HOUR + TICK, NOW, NOW + TICK, NOW + HOUR])
any_facts = st.builds(
    JobFacts,
    status=st.sampled_from(JobStatus),
    timing=st.sampled_from(Timing),
    model=st.sampled_from(PricingModel),
    delivered=st.booleans(),
    escalated=st.booleans(),
    price_minor=st.sampled_from([None, 0, 100]),
    quoted_price_minor=st.sampled_from([None, 0, 100]),
    refunded_minor=st.sampled_from([0, 100]),
    paid_at=st.sampled_from([None, NOW - HOUR]),
    closed_as=st.none() | st.sampled_from(ClosedAs),
    revision_count=st.integers(0, 3),
    accept_by=times,
    pay_by=times,
    deliver_by=times,
    review_by=times,
)


@given(any_facts)
def test_whatever_the_facts_an_action_has_one_meaning_and_the_clock_at_most_one_move(facts: JobFacts) -> None:
    for actor in lifecycle.Actor:
        actions = [move.action for move in lifecycle.moves_for(facts, actor, NOW)]
        assert len(actions) == len(set(actions))
    assert len(lifecycle.moves_for(facts, lifecycle.Actor.CLOCK, NOW)) <= 1
    assert lifecycle.due(lifecycle.after_due_move(facts, NOW), NOW) is None


@given(any_facts)
def test_m15_the_clock_s_next_move_is_due_from_its_stored_time_on_and_not_before(facts: JobFacts) -> None:
    at = lifecycle.due_at(facts)
    assert (at is not None and at <= NOW) is (lifecycle.due(facts, NOW) is not None)
    if at is not None:
        assert lifecycle.due(facts, at) is not None
        assert lifecycle.due(facts, at - timedelta(microseconds=1)) is None


# The facts of a job through any sequence of moves.


def effects(facts: JobFacts, move: lifecycle.JobMove, now: datetime) -> JobFacts:
    """Apply what the operations write beside the status: windows of 2 hours, full payments."""
    until = now + 2 * HOUR
    done = lifecycle.after(facts, move)
    if move.action == "accept_quote":
        done = replace(done, price_minor=facts.quoted_price_minor)
    if move.action == "pay":
        done = replace(done, paid_at=now, paid_minor=100)
    if move.action == "deliver":
        done = replace(done, delivered=True)
    if move.action == "request_revision":
        done = replace(done, revision_count=facts.revision_count + 1, review_by=None)
    if move.action == "resolve":
        done = replace(done, outcome=Outcome.BUYER)
    if done.awaits_payment and facts.status is not done.status:
        return replace(done, pay_by=until)
    if done.status is JobStatus.IN_PROGRESS:
        return replace(done, deliver_by=until)
    return replace(done, review_by=until) if done.status is JobStatus.DELIVERED else done


picks = st.tuples(st.integers(0, 9), st.sampled_from([TICK, TICK, TICK, HOUR / 2, 2 * HOUR, 4 * HOUR]))
drafts = st.builds(
    JobFacts,
    status=st.just(JobStatus.OPEN),
    timing=st.sampled_from(Timing),
    model=st.sampled_from([PricingModel.FIXED, PricingModel.QUOTE]),
    price_minor=st.sampled_from([0, 100]),
    quoted_price_minor=st.just(100),
    escalated=st.booleans(),
    accept_by=st.just(NOW + 2 * HOUR),
)


@settings(max_examples=300)
@given(drafts, st.lists(picks, min_size=8, max_size=30))
def test_no_order_of_moves_leaves_the_table_reveals_unpaid_work_or_owes_less_than_nothing(
    draft: JobFacts, script: list[tuple[int, timedelta]]
) -> None:
    facts, now = effects(draft, lifecycle.opening(draft, "order", NOW), NOW), NOW
    for pick, wait in script:
        now += wait
        overdue = lifecycle.due(facts, now)
        facts = facts if overdue is None else effects(facts, overdue, now)
        options = [move for actor in lifecycle.Actor for move in lifecycle.moves_for(facts, actor, now)]
        lively = [move for move in options if move.target not in FINAL]
        pool = lively if lively and pick < 8 else options  # otherwise most jobs would end at their first step
        if pool:
            move = pool[pick % len(pool)]
            assert (move in lifecycle.MOVES, move.source) == (True, facts.status)
            facts = effects(facts, move, now)
        unpaid_work = bool(facts.price_minor) and facts.delivered and facts.paid_at is None
        assert facts.is_sealed is unpaid_work
        assert not (unpaid_work and facts.status in {"completed", "disputed", "resolved"})
        assert refund_expected(facts) >= 0
        assert (facts.closed_as is None) is (facts.status not in FINAL)
