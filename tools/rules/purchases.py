"""What a purchase with one signed payment waits for: its row and its job decide, whoever looks."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from tools.rules.jobfacts import FINAL, JobFacts, JobStatus
from tools.rules.x402payments import LEAST_TO_SETTLE

PATIENCE = timedelta(seconds=90)  # for the delivery
AFTERMATH = timedelta(seconds=60)  # past valid_before: what a node shows may lag behind its chain
QUIET = timedelta(hours=1)  # past valid_before, on a chain whose newest block is older
LEAST_PAUSE, MOST_PAUSE = timedelta(seconds=10), timedelta(seconds=60)  # between two looks for a payment
PAUSES = 8  # in the age of a purchase


class Stage(StrEnum):
    """How far a purchase has gone."""

    WORKING = "working"
    SETTLING = "settling"
    REFUSED = "refused"
    SENT = "sent"
    PAID = "paid"
    CLOSED = "closed"


UNDER_WAY = frozenset({Stage.SETTLING, Stage.REFUSED, Stage.SENT})


class Next(StrEnum):
    """What is to be done with it now."""

    WAIT = "wait"  # for the delivery, or for whoever is at it
    SETTLE = "settle"  # the work is there: the payment may be handed over
    FOLLOW = "follow"  # find out what became of the payment
    CLOSE = "close"  # it comes to nothing
    TELL = "tell"  # it has ended


class End(StrEnum):
    """Why a purchase came to nothing."""

    NOT_DELIVERED = "not_delivered"
    TIMEOUT = "timeout"
    ELSEWHERE = "paid_otherwise"
    NOT_CHARGED = "not_charged"  # the authorization ended, and no block holds it
    TOGETHER = (
        "charged_together"  # in one transaction with another payment, which is what the market has recorded of it
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """A purchase as it stands."""

    stage: Stage
    job: JobFacts
    created_at: datetime
    valid_before: int  # Unix seconds
    held: bool  # somebody is at it


def next_of(one: Standing, now: datetime) -> Next:
    """What a purchase waits for at `now`."""
    if one.stage in (Stage.PAID, Stage.CLOSED):
        return Next.TELL
    if one.stage in UNDER_WAY:
        return Next.WAIT if one.held else Next.FOLLOW
    if end_of(one, now) is not None:
        return Next.CLOSE
    return Next.SETTLE if one.job.status is JobStatus.DELIVERED else Next.WAIT


def end_of(one: Standing, now: datetime) -> End | None:
    """Why one that nobody has handed over yet comes to nothing; None while it may still be paid."""
    if one.job.is_paid:
        return End.ELSEWHERE
    if one.job.status in FINAL:
        return End.NOT_DELIVERED
    if now >= last_moment(one.valid_before):
        return End.TIMEOUT
    waits = one.job.status is not JobStatus.DELIVERED
    return End.TIMEOUT if waits and now >= one.created_at + PATIENCE else None


def look_again_at(one: Standing, now: datetime) -> datetime:
    """When one that is still worked on, or whose client has gone, is looked at again by itself."""
    patient = one.created_at + PATIENCE
    return patient if now < patient else last_moment(one.valid_before)


def look_for_it_at(created_at: datetime, valid_before: int, now: datetime) -> datetime:
    """When a payment that was handed over is looked for again: soon at first, then ever less often, and once it is over.

    Each look asks the facilitator and the chain, and a wallet without money keeps one open for an hour at no cost to it.
    """
    pause = min(max((now - created_at) / PAUSES, LEAST_PAUSE), MOST_PAUSE)
    over = _moment(valid_before) + AFTERMATH
    return min(now + pause, over) if now < over else now + pause


def last_moment(valid_before: int) -> datetime:
    """Until when a payment may be handed over."""
    return _moment(valid_before - LEAST_TO_SETTLE)


def ends_at(valid_before: int) -> datetime:
    """When it is known at the latest whether a payment has come; with time to write it down."""
    return _moment(valid_before) + QUIET + AFTERMATH


def has_ended(valid_before: int, now: datetime) -> bool:
    """Whether the authorization is worth nothing any more, by our clock; a chain may lag behind it."""
    return now >= _moment(valid_before) + AFTERMATH


def is_over(valid_before: int, head_time: int, now: datetime) -> bool:
    """Whether no block after the newest known one can hold a transfer that had to be mined before `valid_before`.

    `head_time` is that block's (Unix seconds); a chain that makes no blocks unless asked is waited for an hour.
    """
    if not has_ended(valid_before, now):
        return False
    return head_time >= valid_before or now >= _moment(valid_before) + QUIET


def _moment(unix_seconds: int) -> datetime:
    return datetime.fromtimestamp(unix_seconds, UTC)
