"""The lifecycle of jobs and listings: one table of moves, and functions that read it.

The clock is an actor: a timeout is a row like any other. A deadline has passed from its own instant on (now >= deadline
plus grace), and the clock's move comes before anything else. Every function here answers as if a sweep had just run, so
a caller writes `due(facts, now)` first and only then its own move. Only one bound includes its instant, the revival of
an unpaid job: a payment mined exactly at pay_by + PAYMENT_GRACE still counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from storage.vocabulary import Actor, ClosedAs, ListingStatus
from storage.vocabulary import JobStatus as S
from tools.jobs.facts import (
    DELIVERY_GRACE,
    PAYMENT_GRACE,
    Guard,
    JobFacts,
    PaymentStatus,
    escalated,
    overdue_untold,
    paid,
    payment_status,
    pays_first,
    priced,
    quote_was_accepted,
    quoting,
    refund_expected,
    returnable,
    revealed,
    revisions_left,
    revivable,
    revives_delivery,
    revives_work,
    sealed,
    starts_at_once,
    under_revision,
    unpaid,
    was_accepted,
    was_returned,
    with_panel,
)

State = TypeVar("State", bound=StrEnum)
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Move(Generic[State, Facts]):
    """One row: in `source`, `actor` may do `action`, which leads to `target` and emits `event`."""

    action: str
    source: State | None  # None: it does not exist yet
    actor: Actor
    target: State
    event: str | None = None
    _: KW_ONLY
    when: Callable[[Facts, datetime], bool] | None = None  # the guard; its docstring is the condition in the docs
    deadline: str | None = None  # a field of the facts: the move opens at this deadline plus grace
    grace: timedelta = timedelta()
    closes: ClosedAs | None = None  # set on exactly the moves into a final state
    listed: bool = True  # False: accepted, but not offered in available_actions
    repeat: Callable[[Facts, datetime], bool] | None = None  # whether the result holds; None: it does in `target`
    compares: bool = False  # a repeat must have the same content, which the caller compares

    def is_open(self, facts: Facts, now: datetime) -> bool:
        """Check whether deadline and guard allow the move; the caller matches source and actor."""
        if self.deadline is not None:
            deadline: datetime | None = getattr(facts, self.deadline)
            if deadline is None or now < deadline + self.grace:
                return False
        return self.when is None or self.when(facts, now)


JobMove: TypeAlias = Move[S, JobFacts]
BUYER, SELLER, CLOCK, PANEL, OPERATOR = Actor


# The table. available_actions lists the rows of a state in this order.

_DECLINED, _WITHDREW, _IGNORED = ClosedAs.SELLER_DECLINED, ClosedAs.BUYER_WITHDREW, ClosedAs.ACCEPT_TIMEOUT
_CALLED_OFF = ClosedAs.CALLED_OFF

OPENINGS: tuple[JobMove, ...] = (
    Move("order", None, BUYER, S.OPEN, "job.created", when=priced),
    Move("order", None, BUYER, S.QUOTE_REQUESTED, "job.created", when=quoting),
    Move("award", None, BUYER, S.IN_PROGRESS, "job.created", when=starts_at_once),
    Move("award", None, BUYER, S.AWAITING_PAYMENT, "job.created", when=pays_first),
)

MOVES: tuple[JobMove, ...] = (
    Move("accept", S.OPEN, SELLER, S.IN_PROGRESS, "job.accepted", when=starts_at_once, repeat=was_accepted),
    Move("accept", S.OPEN, SELLER, S.AWAITING_PAYMENT, "job.accepted", when=pays_first, repeat=was_accepted),
    Move("deliver", S.OPEN, SELLER, S.DELIVERED, "job.delivered", when=starts_at_once, compares=True),  # and accepts
    Move("decline", S.OPEN, SELLER, S.DECLINED, "job.declined", closes=_DECLINED),
    Move("cancel", S.OPEN, SELLER, S.DECLINED, "job.declined", closes=_DECLINED, listed=False),
    Move("cancel", S.OPEN, BUYER, S.CANCELLED, "job.cancelled", closes=_WITHDREW),
    Move("expire", S.OPEN, CLOCK, S.EXPIRED, "job.expired", deadline="accept_by", closes=_IGNORED),
    Move("call_off", S.OPEN, OPERATOR, S.CANCELLED, "job.cancelled", closes=_CALLED_OFF, listed=False),
    #
    Move("quote", S.QUOTE_REQUESTED, SELLER, S.QUOTED, "job.quoted"),
    Move("decline", S.QUOTE_REQUESTED, SELLER, S.DECLINED, "job.declined", closes=_DECLINED),
    Move("cancel", S.QUOTE_REQUESTED, SELLER, S.DECLINED, "job.declined", closes=_DECLINED, listed=False),
    Move("cancel", S.QUOTE_REQUESTED, BUYER, S.CANCELLED, "job.cancelled", closes=_WITHDREW),
    Move("expire", S.QUOTE_REQUESTED, CLOCK, S.EXPIRED, "job.expired", deadline="accept_by", closes=_IGNORED),
    #
    Move("quote", S.QUOTED, SELLER, S.QUOTED, "job.quoted"),
    Move("decline", S.QUOTED, SELLER, S.DECLINED, "job.declined", closes=_DECLINED),
    Move("cancel", S.QUOTED, SELLER, S.DECLINED, "job.declined", closes=_DECLINED, listed=False),
    Move("accept_quote", S.QUOTED, BUYER, S.IN_PROGRESS, "job.quote_accepted",
         when=starts_at_once, repeat=quote_was_accepted),
    Move("accept_quote", S.QUOTED, BUYER, S.AWAITING_PAYMENT, "job.quote_accepted",
         when=pays_first, repeat=quote_was_accepted),
    Move("cancel", S.QUOTED, BUYER, S.CANCELLED, "job.cancelled", closes=_WITHDREW),
    Move("expire", S.QUOTED, CLOCK, S.EXPIRED, "job.expired", deadline="accept_by", closes=_IGNORED),
    #
    Move("decline", S.AWAITING_PAYMENT, SELLER, S.DECLINED, "job.declined", closes=_DECLINED),
    Move("cancel", S.AWAITING_PAYMENT, SELLER, S.DECLINED, "job.declined", closes=_DECLINED, listed=False),
    Move("pay", S.AWAITING_PAYMENT, BUYER, S.IN_PROGRESS, "job.paid", repeat=paid),
    Move("cancel", S.AWAITING_PAYMENT, BUYER, S.CANCELLED, "job.cancelled", closes=_WITHDREW),
    Move("expire", S.AWAITING_PAYMENT, CLOCK, S.EXPIRED, "job.expired",
         deadline="pay_by", closes=ClosedAs.PAYMENT_TIMEOUT),
    #
    Move("deliver", S.IN_PROGRESS, SELLER, S.DELIVERED, "job.delivered", compares=True),
    Move("cancel", S.IN_PROGRESS, SELLER, S.CANCELLED, "job.cancelled", closes=ClosedAs.SELLER_FAILED),
    Move("return", S.IN_PROGRESS, SELLER, S.CANCELLED, "job.cancelled",
         when=returnable, closes=ClosedAs.RETURNED, listed=False, repeat=was_returned),
    Move("return_too_often", S.IN_PROGRESS, SELLER, S.CANCELLED, "job.cancelled",
         when=returnable, closes=ClosedAs.RETURNED_TOO_OFTEN, listed=False, repeat=was_returned),
    Move("cancel", S.IN_PROGRESS, BUYER, S.CANCELLED, "job.cancelled",
         deadline="deliver_by", grace=DELIVERY_GRACE, closes=ClosedAs.BUYER_LEFT_AFTER_DEADLINE),
    Move("fail", S.IN_PROGRESS, CLOCK, S.CANCELLED, "job.cancelled",
         when=unpaid, deadline="deliver_by", grace=DELIVERY_GRACE, closes=ClosedAs.DELIVERY_TIMEOUT),
    Move("call_off", S.IN_PROGRESS, OPERATOR, S.CANCELLED, "job.cancelled",
         when=unpaid, closes=_CALLED_OFF, listed=False),
    #
    Move("pay", S.DELIVERED, BUYER, S.DELIVERED, "job.paid", when=sealed, repeat=paid),
    Move("cancel", S.DELIVERED, BUYER, S.CANCELLED, "job.cancelled", when=sealed, closes=ClosedAs.BUYER_WALKED_AWAY),
    Move("expire", S.DELIVERED, CLOCK, S.EXPIRED, "job.expired",
         when=sealed, deadline="pay_by", closes=ClosedAs.PAYMENT_TIMEOUT),
    Move("call_off", S.DELIVERED, OPERATOR, S.CANCELLED, "job.cancelled",
         when=sealed, closes=_CALLED_OFF, listed=False),
    Move("accept", S.DELIVERED, BUYER, S.COMPLETED, "job.completed", when=revealed, closes=ClosedAs.BUYER_ACCEPTED),
    Move("request_revision", S.DELIVERED, BUYER, S.IN_PROGRESS, "job.revision_requested",
         when=revisions_left, repeat=under_revision),
    Move("dispute", S.DELIVERED, BUYER, S.DISPUTED, "job.disputed", when=revealed),
    Move("complete", S.DELIVERED, CLOCK, S.COMPLETED, "job.completed",
         when=revealed, deadline="review_by", closes=ClosedAs.REVIEW_TIMEOUT),
    #
    Move("resolve", S.DISPUTED, PANEL, S.RESOLVED, "job.resolved",
         when=with_panel, closes=ClosedAs.VERDICT, compares=True),
    Move("resolve", S.DISPUTED, OPERATOR, S.RESOLVED, "job.resolved",
         when=escalated, closes=ClosedAs.VERDICT, compares=True),
    Move("withdraw_dispute", S.DISPUTED, BUYER, S.COMPLETED, "job.completed", closes=ClosedAs.DISPUTE_WITHDRAWN),
    #
    Move("pay", S.EXPIRED, BUYER, S.IN_PROGRESS, "job.paid", when=revives_work, repeat=paid),
    Move("pay", S.EXPIRED, BUYER, S.DELIVERED, "job.paid", when=revives_delivery, repeat=paid),
)  # fmt: skip

CLOCK_MOVES: tuple[JobMove, ...] = tuple(move for move in MOVES if move.actor is CLOCK)

NOTICES: tuple[JobMove, ...] = (
    Move("remind", S.IN_PROGRESS, CLOCK, S.IN_PROGRESS, "job.delivery_overdue",
         when=overdue_untold, deadline="deliver_by", grace=DELIVERY_GRACE),
)  # fmt: skip
"""Reminders by the clock, once per deadline: sending one sets overdue_told, and a new deliver_by clears it."""

FILLS_CAPACITY = frozenset({S.OPEN, S.QUOTE_REQUESTED, S.QUOTED, S.AWAITING_PAYMENT, S.IN_PROGRESS})
"""The states that count against max_open_jobs; a delivery waiting for its buyer does not block the seller."""


# Functions that read the table.


def opening(draft: JobFacts, action: str, now: datetime) -> JobMove:
    """Return the move that makes a job by `order` or `award`; raises KeyError for others.

    The draft's own status does not matter.
    """
    return {move.action: move for move in OPENINGS if move.is_open(draft, now)}[action]


def due(facts: JobFacts, now: datetime) -> JobMove | None:
    """Return the clock's move that is due at `now`, at most one; a caller writes it first."""
    return next((move for move in _BY_PLACE[facts.status, CLOCK] if move.is_open(facts, now)), None)


def due_at(facts: JobFacts) -> datetime | None:
    """Return when the clock's next move is due if nothing else happens; None if it has none."""
    moves = [(getattr(facts, move.deadline), move) for move in _BY_PLACE[facts.status, CLOCK] if move.deadline]
    times = [deadline + move.grace for deadline, move in moves if deadline is not None]
    return min((at for at in times if due(facts, at) is not None), default=None)


def after(facts: JobFacts, move: JobMove) -> JobFacts:
    """Return the facts after a move: its status, and why the job ended (None after a revival)."""
    return replace(facts, status=move.target, closed_as=move.closes)


def after_due_move(facts: JobFacts, now: datetime) -> JobFacts:
    """Return the facts after the clock's due move; one is enough, as its targets are final."""
    move = due(facts, now)
    return facts if move is None else after(facts, move)


def payment_due(facts: JobFacts, now: datetime) -> bool:
    """Check whether the buyer can pay at `now`, after the clock's due move."""
    return payment_status(after_due_move(facts, now), now) is PaymentStatus.DUE


def moves_for(facts: JobFacts, actor: Actor, now: datetime) -> list[JobMove]:
    """Return the actor's open moves at `now`, in table order; the clock's due move goes first."""
    seen = facts if actor is CLOCK else after_due_move(facts, now)
    return [move for move in _BY_PLACE[seen.status, actor] if move.is_open(seen, now)]


def allowed(facts: JobFacts, action: str, actor: Actor, now: datetime) -> JobMove | None:
    """Return the move of `action` by `actor` at `now`, or None; the clock's due move goes first."""
    return next((move for move in moves_for(facts, actor, now) if move.action == action), None)


def payment_move(facts: JobFacts, mined_at: datetime, now: datetime) -> JobMove | None:
    """Return the move of a verified transfer that covers the price; None if unpayable.

    The clock's moves are judged at `now`, the revival of an expired-unpaid job at `mined_at`, the block time.
    """
    return allowed(after_due_move(facts, now), "pay", BUYER, min(mined_at, now))


def is_repeat(facts: JobFacts, action: str, actor: Actor, now: datetime, *, same_content: bool = False) -> bool:
    """Check whether the action's result already holds: a repeat then answers 200, not 409.

    It holds if the same side, or the clock in its place, has made the same step. For actions with content (deliver,
    resolve) the caller compares it and passes `same_content`.
    """
    if allowed(facts, action, actor, now) is not None:
        return False
    seen = after_due_move(facts, now)
    rows = [move for move in MOVES if move.action == action and move.actor is actor]
    return any(_holds(move, seen, now) for move in rows if same_content or not move.compares)


def available_actions(facts: JobFacts, role: Actor, now: datetime) -> tuple[str, ...]:
    """List what buyer or seller can do at `now`, in the order that agents see.

    Each has an operation. Other moves are accepted but not listed: they lead where
    a listed action leads (a seller's cancel before the work is a decline), or are never expected (a refund while
    nothing is owed).
    """
    seen = after_due_move(facts, now)
    actions = [move.action for move in moves_for(seen, role, now) if move.listed]
    if seen.status in REVIEWED_IN and not (seen.reviewed_by_buyer if role is BUYER else seen.reviewed_by_seller):
        actions.append("review")
    if role is SELLER and refund_expected(seen) > 0:
        actions.append("refund")
    return (*actions, "message")  # a job's thread stays open, also when the job is over


def notices_due(facts: JobFacts, now: datetime) -> list[JobMove]:
    """Return the clock's reminders about the job that are due at `now`."""
    return [move for move in NOTICES if move.source is facts.status and move.is_open(facts, now)]


class Waiter(StrEnum):
    """The party that must act next."""

    BUYER = "buyer"
    SELLER = "seller"
    EVALUATORS = "evaluators"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class PendingAction:
    """The party that must act, how, by when (None: no deadline), and what happens otherwise."""

    who: Waiter
    action: str
    until: datetime | None
    then: str


class Wait(NamedTuple):
    """A row of WAITS: in `status`, while `when` holds, `who` must do `action` in time.

    The limit is `deadline` plus `grace`.
    """

    status: S
    when: Guard | None
    who: Waiter
    action: str
    deadline: str | None
    grace: timedelta
    then: str


def waiting_on(facts: JobFacts, now: datetime) -> PendingAction | None:
    """Return what the job waits for at `now`; None if no party has to act.

    A review is never waited for.
    """
    seen = after_due_move(facts, now)
    for wait in WAITS:
        if seen.status is wait.status and (wait.when is None or wait.when(seen, now)):
            until: datetime | None = getattr(seen, wait.deadline) if wait.deadline else None
            return PendingAction(wait.who, wait.action, until + wait.grace if until else None, wait.then)
    return PendingAction(Waiter.SELLER, "refund", None, _REFUND_THEN) if refund_expected(seen) > 0 else None


# Listings: the same kind of table, without facts.


ListingMove: TypeAlias = Move[ListingStatus, None]

LISTING_MOVES: tuple[ListingMove, ...] = (
    Move("pause", ListingStatus.ACTIVE, SELLER, ListingStatus.PAUSED),
    Move("activate", ListingStatus.PAUSED, SELLER, ListingStatus.ACTIVE),
    Move("pause", ListingStatus.ACTIVE, CLOCK, ListingStatus.PAUSED),
    Move("activate", ListingStatus.PAUSED, CLOCK, ListingStatus.ACTIVE),
    Move("archive", ListingStatus.ACTIVE, SELLER, ListingStatus.ARCHIVED),
    Move("archive", ListingStatus.PAUSED, SELLER, ListingStatus.ARCHIVED),
)


def _holds(move: JobMove, seen: JobFacts, now: datetime) -> bool:
    if move.repeat is not None:
        return move.repeat(seen, now)
    if seen.status is not move.target:
        return False
    twins = {row.closes for row in CLOCK_MOVES if (row.source, row.target) == (move.source, move.target)}
    return move.closes is None or seen.closed_as in {move.closes, *twins}


_BY_PLACE: Mapping[tuple[S, Actor], tuple[JobMove, ...]] = {
    (status, actor): tuple(move for move in MOVES if move.source is status and move.actor is actor)
    for status in S
    for actor in Actor
}
REVIEWED_IN = frozenset({S.COMPLETED, S.RESOLVED})

_EXPIRES = "The job expires and nothing is owed."
_REFUND_THEN = "Nothing happens by itself; an open refund counts against the seller's reputation."
WAITS: tuple[Wait, ...] = (
    Wait(S.OPEN, None, Waiter.SELLER, "accept", "accept_by", timedelta(), _EXPIRES),
    Wait(S.QUOTE_REQUESTED, None, Waiter.SELLER, "quote", "accept_by", timedelta(), _EXPIRES),
    Wait(S.QUOTED, None, Waiter.BUYER, "accept_quote", "accept_by", timedelta(), _EXPIRES),
    Wait(S.AWAITING_PAYMENT, None, Waiter.BUYER, "pay", "pay_by", timedelta(),
         "The job expires as unpaid; a payment mined within one hour after that revives it."),
    Wait(S.IN_PROGRESS, unpaid, Waiter.SELLER, "deliver", "deliver_by", timedelta(),
         "The job is cancelled one hour later and counts against the seller."),
    Wait(S.IN_PROGRESS, paid, Waiter.SELLER, "deliver", "deliver_by", timedelta(),
         "One hour later the buyer may cancel and is owed the payment back; nothing happens by itself."),
    Wait(S.DELIVERED, sealed, Waiter.BUYER, "pay", "pay_by", timedelta(),
         "The job expires as unpaid and the output stays sealed; a payment mined within one hour after that reveals it."),
    Wait(S.DELIVERED, revealed, Waiter.BUYER, "accept", "review_by", timedelta(), "The job completes."),
    Wait(S.DISPUTED, with_panel, Waiter.EVALUATORS, "verdict", "verdict_by", timedelta(),
         "Missing votes are drawn again once; then the most votes decide, or the case goes to the operator."),
    Wait(S.DISPUTED, escalated, Waiter.OPERATOR, "resolve", None, timedelta(),
         "Nothing happens by itself: report_support, with the job's id, reminds the operator."),
    Wait(S.EXPIRED, revivable, Waiter.BUYER, "pay", "pay_by", PAYMENT_GRACE, "The job stays expired."),
)  # fmt: skip
