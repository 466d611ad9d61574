"""Purchases with one signed payment: the table of transitions, and the next step, derived from the row and its job."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from storage.vocabulary import FINAL, JobStatus, PurchaseStatus
from tools.chain.x402_payments import AFTERMATH, MIN_TO_SETTLE, QUIET
from tools.jobs.facts import JobFacts

PATIENCE = timedelta(seconds=90)  # from the order to the delivery
GONE = timedelta(seconds=60)  # without a call with the same payment, while the order is not accepted
BEAT = timedelta(seconds=15)  # between two records that a call is still connected
MIN_PAUSE, MAX_PAUSE = timedelta(seconds=10), timedelta(seconds=60)  # between two checks for a payment
PAUSES = 8  # a pause is an eighth of the purchase's age

NOT_SUBMITTED = frozenset({PurchaseStatus.CHECKING, PurchaseStatus.WORKING})
UNDER_WAY = frozenset({PurchaseStatus.SETTLING, PurchaseStatus.REFUSED, PurchaseStatus.SENT})
ORDERED = UNDER_WAY | {PurchaseStatus.WORKING}
ENDED = frozenset({PurchaseStatus.PAID, PurchaseStatus.CLOSED})


class Event(StrEnum):
    """Events that change the status of a purchase."""

    ORDER = "order"  # the payment is verified and the job is placed
    SUBMIT = "submit"  # the facilitator is about to get the payment
    TAKE_BACK = "take_back"  # the facilitator was not reached, and no other process has submitted the payment
    REFUSE = "refuse"  # the facilitator refused
    SEND = "send"  # a transaction hash is known
    DOUBT = "doubt"  # the facilitator's answer was lost, or the chain does not show the hash
    PAY = "pay"  # the chain shows the payment
    GIVE_UP = "give_up"  # it ends before it was submitted
    WRITE_OFF = "write_off"  # the chain decides that it ends unpaid


# Each event with the statuses in which it counts, and the status that follows. What is learned of a payment counts in
# every status of an ordered purchase, because several processes may submit it and look for it.
TRANSITIONS: Mapping[Event, tuple[frozenset[PurchaseStatus], PurchaseStatus]] = {
    Event.ORDER: (frozenset({PurchaseStatus.CHECKING}), PurchaseStatus.WORKING),
    Event.SUBMIT: (frozenset({PurchaseStatus.WORKING}), PurchaseStatus.SETTLING),
    Event.TAKE_BACK: (frozenset({PurchaseStatus.SETTLING}), PurchaseStatus.WORKING),
    Event.REFUSE: (ORDERED, PurchaseStatus.REFUSED),
    Event.SEND: (ORDERED, PurchaseStatus.SENT),
    Event.DOUBT: (ORDERED, PurchaseStatus.SETTLING),
    Event.PAY: (ORDERED, PurchaseStatus.PAID),
    Event.GIVE_UP: (frozenset({PurchaseStatus.WORKING}), PurchaseStatus.CLOSED),
    Event.WRITE_OFF: (ORDERED, PurchaseStatus.CLOSED),
}


class NextAction(StrEnum):
    """The next step of a purchase."""

    WAIT = "wait"  # for the delivery, or for the process that works on it
    SETTLE = "settle"  # the work is delivered: submit the payment
    FOLLOW = "follow"  # find out what happened to the payment
    CLOSE = "close"  # end it without a payment
    TELL = "tell"  # it has ended: report the result


class Outcome(StrEnum):
    """Reasons why a purchase failed."""

    NOT_DELIVERED = "not_delivered"
    TIMEOUT = "timeout"
    LEFT = "left"  # the client disconnected before the order was accepted
    ELSEWHERE = "paid_otherwise"
    NOT_CHARGED = "not_charged"  # the authorization expired, and no block has it
    TOGETHER = "charged_together"  # in one transaction with another payment, and only that one is recorded

    @property
    def event(self) -> Event:
        return Event.WRITE_OFF if self in (Outcome.NOT_CHARGED, Outcome.TOGETHER) else Event.GIVE_UP


@dataclass(frozen=True, slots=True)
class PurchaseState:
    """The current state of a purchase."""

    stage: PurchaseStatus
    job: JobFacts
    created_at: datetime
    valid_before: int  # Unix seconds
    held: bool  # a process is working on it
    asked_at: datetime | None = None  # when a call with this payment was last connected


def target_of(status: PurchaseStatus, event: Event) -> PurchaseStatus | None:
    """Return the status after an event; None if the event does not count in this status."""
    sources, target = TRANSITIONS[event]
    return target if status in sources else None


def next_of(one: PurchaseState, now: datetime) -> NextAction:
    """Return the next step of a purchase at `now`."""
    if one.stage in ENDED:
        return NextAction.TELL
    if one.stage in UNDER_WAY:
        return NextAction.WAIT if one.held else NextAction.FOLLOW
    if end_of(one, now) is not None:
        return NextAction.CLOSE
    return NextAction.SETTLE if one.job.status is JobStatus.DELIVERED else NextAction.WAIT


def end_of(one: PurchaseState, now: datetime) -> Outcome | None:
    """Return why a purchase that is not submitted fails; None while it may still be paid."""
    if one.job.is_paid:
        return Outcome.ELSEWHERE
    if one.job.status in FINAL:
        return Outcome.NOT_DELIVERED
    if now >= last_moment(one.valid_before):
        return Outcome.TIMEOUT
    waits = one.job.status is not JobStatus.DELIVERED
    if waits and now >= one.created_at + PATIENCE:
        return Outcome.TIMEOUT
    return Outcome.LEFT if now >= gone_at(one) else None


def look_again_at(one: PurchaseState, now: datetime) -> datetime:
    """Return when a worker looks again at a purchase whose payment is not submitted."""
    patient = one.created_at + PATIENCE
    return min(patient if now < patient else last_moment(one.valid_before), gone_at(one))


def gone_at(one: PurchaseState) -> datetime:
    """Return when an order that is not accepted ends, unless the same payment comes again."""
    if one.job.status is not JobStatus.OPEN or one.asked_at is None:
        return last_moment(one.valid_before)
    return one.asked_at + GONE


def needs_its_client(one: PurchaseState) -> bool:
    """Check whether a purchase ends soon if its client disconnects: its order is not accepted."""
    return one.stage is PurchaseStatus.WORKING and one.job.status is JobStatus.OPEN


def is_to_be_noted(one: PurchaseState, now: datetime) -> bool:
    """Check whether to record again that a call with this payment is connected."""
    return needs_its_client(one) and (one.asked_at is None or now >= one.asked_at + BEAT)


def look_for_it_at(created_at: datetime, valid_before: int, now: datetime) -> datetime:
    """Return when to check again for a submitted payment: soon at first, then less often.

    It is also checked right after the authorization has ended. Each check asks the facilitator and the chain, and a
    wallet without money can keep a purchase open for an hour at no cost to itself.
    """
    pause = min(max((now - created_at) / PAUSES, MIN_PAUSE), MAX_PAUSE)
    over = _moment(valid_before) + AFTERMATH
    return min(now + pause, over) if now < over else now + pause


def last_moment(valid_before: int) -> datetime:
    """Return the last moment at which a payment may be submitted."""
    return _moment(valid_before - MIN_TO_SETTLE)


def ends_at(valid_before: int) -> datetime:
    """Return when it is certain whether a payment has arrived, with time to record it."""
    return _moment(valid_before) + QUIET + AFTERMATH


def has_ended(valid_before: int, now: datetime) -> bool:
    """Check whether the authorization has expired by our clock; a chain may lag behind it."""
    return now >= _moment(valid_before) + AFTERMATH


def is_over(valid_before: int, confirmed_time: int, now: datetime) -> bool:
    """Check whether no later block can hold a transfer mined before `valid_before`.

    `confirmed_time` is the time of the newest confirmed block (Unix seconds). A chain that makes blocks only on demand
    is given an hour.
    """
    if not has_ended(valid_before, now):
        return False
    return confirmed_time >= valid_before or now >= _moment(valid_before) + QUIET


def _moment(unix_seconds: int) -> datetime:
    return datetime.fromtimestamp(unix_seconds, UTC)
