"""The lifecycle, exhaustively: every state, situation, action and actor, compared with a table written by hand.

CASES is copied from the contract and its decisions, not derived from MOVES.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from storage.vocabulary import FINAL, Actor, ClosedAs, JobStatus, Outcome, PricingModel, Timing
from tests.requirements import covers
from tools.jobs import lifecycle
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import MOVES, PendingAction, Waiter

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, MINUTE, TICK = timedelta(hours=1), timedelta(minutes=1), timedelta(microseconds=1)
SOON, AGO = NOW + HOUR, NOW - HOUR
BUYER, SELLER = Actor.BUYER, Actor.SELLER
ACTIONS = [
    "accept", "decline", "cancel", "quote", "accept_quote", "pay", "deliver", "request_revision", "dispute", "withdraw_dispute",
    "resolve", "expire", "fail", "complete", "remind", "refund", "review", "message", "order", "award", "nonsense",
    "return", "return_too_often",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One situation and its expected results.

    A move is written as 'actor action: target event closed_as'.
    """

    facts: JobFacts
    moves: str = ""
    seller: str = ""  # available_actions without message, which is always included
    buyer: str = ""
    waits: str = ""  # 'actor action'
    again: str = ""  # moves that a repeat finds already done, as 'actor action'


def job(status: str, **known: object) -> JobFacts:
    facts: dict[str, object] = {"price_minor": 100, "accept_by": SOON, "pay_by": None, **known}
    return JobFacts(status=JobStatus(status), **facts)  # type: ignore[arg-type]


UP = {"timing": Timing.UPFRONT}
FREE = {"price_minor": 0}
QUOTE = {"model": PricingModel.QUOTE}
UNQUOTED = {**QUOTE, "price_minor": None}
OFFER = {**UNQUOTED, "quoted_price_minor": 100}
PAID = {"paid_at": AGO, "paid_minor": 100}
HIDDEN = {"delivered": True, "pay_by": SOON}
SHOWN = {**HIDDEN, "review_by": SOON, **PAID}
UNPAID = {"closed_as": ClosedAs.PAYMENT_TIMEOUT}

NO = """
seller decline: declined job.declined seller_declined
seller cancel: declined job.declined seller_declined
buyer cancel: cancelled job.cancelled buyer_withdrew"""
START, PAY_FIRST = "seller accept: in_progress job.accepted -", "seller accept: awaiting_payment job.accepted -"
HAND_OVER = "\nseller deliver: delivered job.delivered -"
OFFERED = "seller quote: quoted job.quoted -"
TAKE, TAKE_AND_PAY = (f"\nbuyer accept_quote: {to} job.quote_accepted -" for to in ("in_progress", "awaiting_payment"))
PAY_TO_START, PAY_TO_SEE = "\nbuyer pay: in_progress job.paid -", "\nbuyer pay: delivered job.paid -"
LEAVE_IT = "\nbuyer cancel: cancelled job.cancelled buyer_walked_away"
LEAVE_LATE = "\nbuyer cancel: cancelled job.cancelled buyer_left_after_deadline"
WORK = "\nseller deliver: delivered job.delivered -\nseller cancel: cancelled job.cancelled seller_failed"
RETURN = """
seller return: cancelled job.cancelled returned
seller return_too_often: cancelled job.cancelled returned_too_often"""
REVIEW = "\nbuyer accept: completed job.completed buyer_accepted\nbuyer dispute: disputed job.disputed -"
REVISE = "\nbuyer request_revision: in_progress job.revision_requested -"
WITHDRAW = "\nbuyer withdraw_dispute: completed job.completed dispute_withdrawn"
IGNORED = "clock expire: expired job.expired accept_timeout"
PAID_NOT = "clock expire: expired job.expired payment_timeout"
FAIL = "clock fail: cancelled job.cancelled delivery_timeout"

# available_actions of the seller, of the buyer, and waiting_on
ANSWERS = ("accept decline", "cancel", "seller accept")
STARTS = ("accept deliver decline", "cancel", "seller accept")
QUOTES = ("quote decline", "cancel", "seller quote")
CHOOSES = ("quote decline", "accept_quote cancel", "buyer accept_quote")
PAYS = ("decline", "pay cancel", "buyer pay")
WORKS = ("deliver cancel", "", "seller deliver")
SEES = ("", "accept request_revision dispute", "buyer accept")
REVIVES = ("", "pay", "buyer pay")
OWES = ("refund", "", "seller refund")
BOTH_CANCEL = "seller cancel, buyer cancel"
DELIVERED_PAID, CLOSED_PAID = "seller deliver, buyer pay", "buyer accept, buyer pay"
JUDGED = "panel resolve, operator resolve, buyer pay"


def completed(**known: object) -> JobFacts:
    return job("completed", **{**SHOWN, "closed_as": ClosedAs.BUYER_ACCEPTED, **known})


def resolved(outcome: Outcome) -> JobFacts:
    return job("resolved", **SHOWN, closed_as=ClosedAs.VERDICT, outcome=outcome)


def cancelled(why: ClosedAs, **known: object) -> JobFacts:
    return job("cancelled", closed_as=why, **known)


def declined(**known: object) -> JobFacts:
    return job("declined", closed_as=ClosedAs.SELLER_DECLINED, **known)


CASES = {
    "open": Case(job("open"), START + HAND_OVER + NO, *STARTS),
    "open, upfront": Case(job("open", **UP), PAY_FIRST + NO, *ANSWERS),
    "open, upfront but free": Case(job("open", **UP, **FREE), START + HAND_OVER + NO, *STARTS),
    "open, window over": Case(job("open", accept_by=NOW), IGNORED),
    "quote requested": Case(job("quote_requested", **UNQUOTED), OFFERED + NO, *QUOTES),
    "quote requested, window over": Case(job("quote_requested", **UNQUOTED, accept_by=NOW), IGNORED),
    "quoted": Case(job("quoted", **OFFER), OFFERED + TAKE + NO, *CHOOSES),
    "quoted, upfront": Case(job("quoted", **OFFER, **UP), OFFERED + TAKE_AND_PAY + NO, *CHOOSES),
    "quoted for nothing, upfront": Case(
        job("quoted", **{**OFFER, "quoted_price_minor": 0}, **UP), OFFERED + TAKE + NO, *CHOOSES),
    "quoted, window over": Case(job("quoted", **OFFER, accept_by=NOW), IGNORED),
    "awaiting payment": Case(job("awaiting_payment", **UP, pay_by=SOON), PAY_TO_START + NO, *PAYS, "seller accept"),
    "awaiting payment, quoted": Case(
        job("awaiting_payment", **UP, **QUOTE, pay_by=SOON), PAY_TO_START + NO, *PAYS, "buyer accept_quote"),
    "awaiting payment, window over": Case(
        job("awaiting_payment", **UP, pay_by=NOW), PAID_NOT + PAY_TO_START, *REVIVES),
    "awaiting payment, grace over": Case(job("awaiting_payment", **UP, pay_by=AGO - TICK), PAID_NOT),
    "working": Case(job("in_progress", deliver_by=SOON), WORK, *WORKS, "seller accept"),
    "working, just accepted": Case(
        job("in_progress", deliver_by=SOON, accepted_at=NOW - MINUTE), WORK + RETURN, *WORKS, "seller accept"),
    "working, accepted a while ago": Case(
        job("in_progress", deliver_by=SOON, accepted_at=NOW - MINUTE - TICK), WORK, *WORKS, "seller accept"),
    "working, just accepted, a part paid": Case(
        job("in_progress", deliver_by=SOON, accepted_at=NOW, partial_minor=1), WORK, *WORKS, "seller accept"),
    "working, quoted": Case(job("in_progress", deliver_by=SOON, **QUOTE), WORK, *WORKS, "buyer accept_quote"),
    "working, late within grace": Case(job("in_progress", deliver_by=AGO + TICK), WORK, *WORKS, "seller accept"),
    "working, past grace": Case(job("in_progress", deliver_by=AGO), FAIL, again=BOTH_CANCEL),
    "working for free, past grace": Case(job("in_progress", **FREE, deliver_by=AGO), FAIL, again=BOTH_CANCEL),
    "working, paid": Case(job("in_progress", **UP, **PAID, deliver_by=SOON), WORK, *WORKS, "seller accept, buyer pay"),
    "working, paid, past grace": Case(
        job("in_progress", **UP, **PAID, deliver_by=AGO), WORK + LEAVE_LATE,
        "deliver cancel", "cancel", "seller deliver", "seller accept, buyer pay"),
    "revising": Case(
        job("in_progress", **{**SHOWN, "review_by": None}, deliver_by=SOON, revision_count=1), WORK, *WORKS,
        "seller accept, buyer pay, buyer request_revision"),
    "sealed": Case(
        job("delivered", **HIDDEN), PAY_TO_SEE + LEAVE_IT,
        "", "pay cancel", "buyer pay", "seller deliver"),
    "sealed, window over": Case(job("delivered", delivered=True, pay_by=NOW), PAID_NOT + PAY_TO_SEE, *REVIVES),
    "sealed, grace over": Case(job("delivered", delivered=True, pay_by=AGO - TICK), PAID_NOT),
    "revealed": Case(job("delivered", **SHOWN), REVIEW + REVISE, *SEES, DELIVERED_PAID),
    "revealed, pay_by past": Case(
        job("delivered", **{**SHOWN, "pay_by": AGO}), REVIEW + REVISE, *SEES, DELIVERED_PAID),
    "revealed, no revision left": Case(
        job("delivered", **SHOWN, revision_count=2), REVIEW,
        "", "accept dispute", "buyer accept", DELIVERED_PAID),
    "delivered for free": Case(
        job("delivered", **FREE, delivered=True, review_by=SOON), REVIEW + REVISE, *SEES, "seller deliver"),
    "delivered, paid upfront": Case(job("delivered", **SHOWN, **UP), REVIEW + REVISE, *SEES, DELIVERED_PAID),
    "revealed, paid twice": Case(
        job("delivered", **SHOWN, orphaned_minor=7), REVIEW + REVISE,
        "refund", "accept request_revision dispute", "buyer accept", DELIVERED_PAID),
    "revealed, review over": Case(
        job("delivered", **{**SHOWN, "review_by": NOW}), "clock complete: completed job.completed review_timeout",
        "review", "review", again=CLOSED_PAID),
    "disputed": Case(
        job("disputed", **SHOWN, verdict_by=SOON), "panel resolve: resolved job.resolved verdict" + WITHDRAW,
        "", "withdraw_dispute", "evaluators verdict", "buyer dispute, buyer pay"),
    "disputed, escalated": Case(
        job("disputed", **SHOWN, escalated=True), "operator resolve: resolved job.resolved verdict" + WITHDRAW,
        "", "withdraw_dispute", "operator resolve", "buyer dispute, buyer pay"),
    "completed": Case(completed(), "", "review", "review", again=CLOSED_PAID),
    "completed, dispute withdrawn": Case(
        completed(closed_as=ClosedAs.DISPUTE_WITHDRAWN), "", "review", "review", again="buyer withdraw_dispute, buyer pay"),
    "completed, the buyer reviewed": Case(completed(reviewed_by_buyer=True), "", "review", again=CLOSED_PAID),
    "completed, both reviewed, paid twice": Case(
        completed(reviewed_by_buyer=True, reviewed_by_seller=True, orphaned_minor=7), "", *OWES, CLOSED_PAID),
    "resolved for the buyer": Case(
        resolved(Outcome.BUYER), "", "review refund", "review", "seller refund", JUDGED),
    "resolved by halves": Case(resolved(Outcome.SPLIT), "", "review refund", "review", "seller refund", JUDGED),
    "resolved for the seller": Case(resolved(Outcome.SELLER), "", "review", "review", again=JUDGED),
    "declined": Case(declined(), again="seller decline, seller cancel"),
    "declined, transfer in flight": Case(
        declined(orphaned_minor=100), "", *OWES, "seller decline, seller cancel"),
    "withdrawn by the buyer": Case(cancelled(ClosedAs.BUYER_WITHDREW), again="buyer cancel"),
    "returned": Case(cancelled(ClosedAs.RETURNED), again="seller return, seller return_too_often"),
    "returned too often": Case(
        cancelled(ClosedAs.RETURNED_TOO_OFTEN), again="seller return, seller return_too_often"),
    "given up": Case(cancelled(ClosedAs.SELLER_FAILED), again="seller cancel"),
    "given up, paid": Case(cancelled(ClosedAs.SELLER_FAILED, **PAID), "", *OWES, "seller cancel, buyer pay"),
    "given up, refunded": Case(
        cancelled(ClosedAs.SELLER_FAILED, **PAID, refunded_minor=100), again="seller cancel, buyer pay"),
    "left late, paid": Case(
        cancelled(ClosedAs.BUYER_LEFT_AFTER_DEADLINE, **PAID), "", *OWES, "buyer cancel, buyer pay"),
    "never delivered": Case(cancelled(ClosedAs.DELIVERY_TIMEOUT), again=BOTH_CANCEL),
    "walked away from": Case(cancelled(ClosedAs.BUYER_WALKED_AWAY, **HIDDEN), again="buyer cancel"),
    "never answered": Case(job("expired", accept_by=AGO, closed_as=ClosedAs.ACCEPT_TIMEOUT)),
    "unpaid upfront, in grace": Case(job("expired", **UP, pay_by=AGO, **UNPAID), PAY_TO_START, *REVIVES),
    "unpaid delivery, in grace": Case(job("expired", delivered=True, pay_by=AGO, **UNPAID), PAY_TO_SEE, *REVIVES),
    "unpaid upfront, grace over": Case(job("expired", **UP, pay_by=AGO - TICK, **UNPAID)),
    "unpaid delivery, grace over": Case(job("expired", delivered=True, pay_by=AGO - TICK, **UNPAID)),
}  # fmt: skip
ESCALATED = "Nothing happens by itself: report_support, with the job's id, reminds the operator."
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@each_case
def test_every_action_of_every_actor_leads_where_the_contract_says_and_nowhere_else(case: Case) -> None:
    got = {
        f"{actor} {action}: {move.target} {move.event} {move.closes or '-'}"
        for actor in Actor
        for action in ACTIONS
        if (move := lifecycle.allowed(case.facts, action, actor, NOW))
    }
    assert got == {line for line in case.moves.splitlines() if line}


@each_case
@covers("state.job.decided.actions")
def test_available_actions_are_exactly_the_decided_lists_in_their_order(case: Case) -> None:
    for role, listed in ((SELLER, case.seller), (BUYER, case.buyer)):
        assert " ".join(lifecycle.available_actions(case.facts, role, NOW)) == f"{listed} message".strip()


@each_case
def test_a_repeat_holds_exactly_when_the_same_step_was_already_made(case: Case) -> None:
    got = {
        f"{actor} {action}"
        for actor in Actor
        if actor is not Actor.CLOCK  # a done move is no longer due, so the clock never repeats one
        for action in ACTIONS
        if lifecycle.is_repeat(case.facts, action, actor, NOW, same_content=True)
    }
    assert got == {line for line in case.again.split(", ") if line}


@each_case
def test_the_record_says_who_must_act(case: Case) -> None:
    waiting = lifecycle.waiting_on(case.facts, NOW)
    assert (f"{waiting.who} {waiting.action}" if waiting else "") == case.waits


def test_the_cases_reach_every_status_and_every_row_of_the_table() -> None:
    reached = {m for c in CASES.values() for a in Actor for m in lifecycle.moves_for(c.facts, a, NOW)}
    assert (reached, {c.facts.status for c in CASES.values()}) == (set(MOVES), set(JobStatus))


def test_content_that_differs_is_never_a_repeat() -> None:
    delivered, resolved = CASES["sealed"].facts, CASES["resolved for the buyer"].facts
    assert not lifecycle.is_repeat(delivered, "deliver", SELLER, NOW)
    assert not lifecycle.is_repeat(resolved, "resolve", Actor.OPERATOR, NOW)


CLOCK = [
    ("open", "accept_by", 0, "expired"),
    ("quote requested", "accept_by", 0, "expired"),
    ("quoted", "accept_by", 0, "expired"),
    ("awaiting payment", "pay_by", 0, "expired"),
    ("sealed", "pay_by", 0, "expired"),
    ("working", "deliver_by", 3600, "cancelled"),
    ("revealed", "review_by", 0, "completed"),
]


@pytest.mark.parametrize("name, deadline, grace_seconds, target", CLOCK)
def test_the_clock_moves_at_the_instant_of_its_deadline_and_not_before(
    name: str, deadline: str, grace_seconds: int, target: str
) -> None:
    facts = replace(CASES[name].facts, **{deadline: NOW})  # type: ignore[arg-type]
    at = NOW + timedelta(seconds=grace_seconds)
    move = lifecycle.due(facts, at)
    assert (lifecycle.due(facts, at - TICK), move and move.target) == (None, target)
    assert lifecycle.due(replace(facts, **{deadline: None}), at) is None  # type: ignore[arg-type]


def test_m10_a_paid_buyer_is_told_once_per_deadline_and_the_clock_leaves_the_job_to_them() -> None:
    late = CASES["working, paid, past grace"].facts
    assert [m.event for m in lifecycle.notices_due(late, NOW)] == ["job.delivery_overdue"]
    assert lifecycle.notices_due(late, NOW - TICK) == []
    assert lifecycle.notices_due(replace(late, overdue_told=True), NOW) == []
    assert lifecycle.notices_due(CASES["working, past grace"].facts, NOW) == []
    assert lifecycle.due(late, NOW) is None


@pytest.mark.parametrize(
    "name, mined_at, path",
    [
        ("awaiting payment", AGO, "awaiting_payment in_progress"),
        ("awaiting payment, window over", AGO, "expired in_progress"),
        ("sealed", SOON + TICK, "delivered delivered"),  # the block's timestamp is ahead of our clock
        ("unpaid delivery, grace over", AGO, "expired delivered"),
        ("unpaid upfront, grace over", NOW - TICK, "expired in_progress"),
        ("unpaid upfront, grace over", NOW, None),
        ("revealed", AGO, None),
        ("working", AGO, None),
        ("open", AGO, None),
        ("declined", AGO, None),
        ("never answered", AGO, None),
    ],
)
@covers("state.job.decided.revival")
def test_m5_block_time_decides_whether_a_late_payment_revives_the_job(
    name: str, mined_at: datetime, path: str | None
) -> None:
    move = lifecycle.payment_move(CASES[name].facts, mined_at, NOW)
    assert (move and f"{move.source} {move.target}") == path


def test_a_revived_job_no_longer_says_why_it_ended() -> None:
    facts = CASES["unpaid delivery, in grace"].facts
    move = lifecycle.allowed(facts, "pay", BUYER, NOW)
    assert move is not None
    assert lifecycle.after(facts, move) == replace(facts, status=JobStatus.DELIVERED, closed_as=None)


def test_m13_a_sealed_delivery_does_not_fill_the_sellers_capacity() -> None:
    assert {str(status) for status in lifecycle.FILLS_CAPACITY} == {
        "open", "quote_requested", "quoted", "awaiting_payment", "in_progress",
    }  # fmt: skip


def test_every_move_of_the_clock_has_a_column_and_a_grace_to_be_found_by() -> None:
    moves = (*lifecycle.CLOCK_MOVES, *lifecycle.NOTICES)
    assert {(move.source, move.deadline, move.grace.total_seconds(), move.when) for move in moves} == {
        (JobStatus.OPEN, "accept_by", 0, None),
        (JobStatus.QUOTE_REQUESTED, "accept_by", 0, None),
        (JobStatus.QUOTED, "accept_by", 0, None),
        (JobStatus.AWAITING_PAYMENT, "pay_by", 0, None),
        (JobStatus.IN_PROGRESS, "deliver_by", 3600, lifecycle.unpaid),
        (JobStatus.IN_PROGRESS, "deliver_by", 3600, lifecycle.overdue_untold),
        (JobStatus.DELIVERED, "pay_by", 0, lifecycle.sealed),
        (JobStatus.DELIVERED, "review_by", 0, lifecycle.revealed),
    }


def test_only_the_clock_moves_a_job_without_an_agent() -> None:
    assert {move.actor for move in (*lifecycle.CLOCK_MOVES, *lifecycle.NOTICES)} == {lifecycle.CLOCK}


@pytest.mark.parametrize(
    "name, expected",
    [
        ("open", PendingAction(Waiter.SELLER, "accept", SOON, "The job expires and nothing is owed.")),
        ("disputed, escalated", PendingAction(Waiter.OPERATOR, "resolve", None, ESCALATED)),
        ("unpaid delivery, in grace", PendingAction(Waiter.BUYER, "pay", NOW, "The job stays expired.")),
        ("revealed", PendingAction(Waiter.BUYER, "accept", SOON, "The job completes.")),
        (
            "awaiting payment",
            PendingAction(
                Waiter.BUYER,
                "pay",
                SOON,
                "The job expires as unpaid; a payment mined within one hour after that revives it.",
            ),
        ),
    ],
)
def test_waiting_says_by_when_and_what_happens_by_itself(name: str, expected: PendingAction) -> None:
    assert lifecycle.waiting_on(CASES[name].facts, NOW) == expected


@pytest.mark.parametrize(
    "action, draft, target",
    [
        ("order", job("open"), "open"),
        ("order", job("open", **UP), "open"),
        ("order", job("open", **UNQUOTED), "quote_requested"),
        ("award", job("open"), "in_progress"),
        ("award", job("open", **UP), "awaiting_payment"),
        ("award", job("open", **UP, **FREE), "in_progress"),
    ],
)
@covers("state.job.order")
def test_a_job_begins_where_its_listing_or_bounty_says(action: str, draft: JobFacts, target: str) -> None:
    assert lifecycle.opening(draft, action, NOW).target == target


@covers("state.listing.pause", "state.listing.activate")
def test_a_listing_is_paused_activated_and_archived_for_good() -> None:
    pairs = {(move.source, move.target) for move in lifecycle.LISTING_MOVES if move.actor is Actor.SELLER}
    assert pairs == {("active", "paused"), ("paused", "active"), ("active", "archived"), ("paused", "archived")}


def test_only_moves_into_a_final_state_say_why_the_job_ended() -> None:
    assert [move for move in MOVES if (move.closes is not None) != (move.target in FINAL)] == []
