"""The party a job waits for: when to announce the deadline, how sentences say it, and the MCP task status."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from storage.vocabulary import FINAL, Actor, ClosedAs, JobStatus
from tools.jobs.facts import DELIVERY_GRACE, JobFacts, overdue_untold
from tools.jobs.lifecycle import Waiter, after_due_move, waiting_on

LEAD_SHARE = 10  # a deadline is announced when a tenth of its window is left,
MIN_LEAD, MAX_LEAD = timedelta(seconds=60), timedelta(hours=1)  # but at least 60 seconds and at most an hour ahead
_PARTIES = {Waiter.BUYER: Actor.BUYER, Waiter.SELLER: Actor.SELLER}


@dataclass(frozen=True, slots=True)
class Attention:
    """The party that must act, its deadline, and when to look at the job again; or None."""

    party: Actor | None = None
    act_by: datetime | None = None
    notice_at: datetime | None = None

    def announces(self, now: datetime) -> bool:
        """Check whether to announce the deadline at `now`: it is pending and has not passed."""
        return self.act_by is not None and self.notice_at is not None and self.notice_at <= now < self.act_by

    def announced(self) -> "Attention":
        """Return a copy in which the deadline is announced."""
        return replace(self, notice_at=None)


NOBODY = Attention()


def attention(facts: JobFacts, now: datetime, before: Attention = NOBODY) -> Attention:
    """Return what the facts ask for at `now`.

    A deadline that was already set `before` for the same party is not announced again.
    The window of a deadline runs from when it was set, or from when it became this party's.
    """
    waiting = waiting_on(facts, now)
    party = None if waiting is None else _PARTIES.get(waiting.who)
    if waiting is None or party is None or waiting.until is None:
        return NOBODY
    if facts.status is JobStatus.EXPIRED:  # still payable during the grace, so only the end of the grace matters
        return Attention(party, waiting.until, waiting.until)
    if (before.party, before.act_by) == (party, waiting.until):
        soon = before.notice_at if before.notice_at is not None and before.notice_at < waiting.until else None
    else:
        soon = announced_at(now, waiting.until)
    return Attention(party, waiting.until, soon or _overdue_at(facts))


def announced_at(now: datetime, deadline: datetime) -> datetime | None:
    """Return when to announce a deadline set at `now`; None if its window is too short."""
    lead = min(max((deadline - now) / LEAD_SHARE, MIN_LEAD), MAX_LEAD)
    at = deadline - lead
    return at if at > now else None


def _overdue_at(facts: JobFacts) -> datetime | None:
    if facts.status is not JobStatus.IN_PROGRESS or facts.deliver_by is None:
        return None
    due = facts.deliver_by + DELIVERY_GRACE
    return due if overdue_untold(facts, due) else None


# Sentences about the party that a job waits for, for refusals and for protocols that show jobs as tasks.

DONE = {
    "accept": "accepted",
    "quote": "quoted a price",
    "accept_quote": "accepted the quote",
    "pay": "paid",
    "deliver": "delivered",
    "verdict": "voted",
}
ACTS = {
    "quote": "quote a price",
    "accept_quote": "accept the quote",
    "verdict": "vote",
    "refund": "send the money back",
}
PAY_FIRST = {  # actions of the buyer that a sealed delivery does not allow yet
    "accept": "Pay first: a delivery can be accepted once the output is revealed.",
    "request_revision": "Pay first: a revision can be asked for once the output is revealed.",
    "dispute": "Pay first: a delivery can be disputed once the output is revealed.",
}


def otherwise(who: str, action: str, until: str | None, then: str) -> str:
    """Return what happens if the party does not act in time."""
    if until is None:
        return then
    has = "have" if who == "evaluators" else "has"
    return f"If the {who} {has} not {DONE[action]} by {until}, {then[0].lower()}{then[1:]}"


def waits_for(who: str, action: str, until: str | None, then: str) -> str:
    """Return what follows "The job": the party it waits for, and what happens otherwise."""
    return f"waits for the {who} to {ACTS.get(action, action)}. {otherwise(who, action, until, then)}"


def pay_first(action: str, *, sealed: bool) -> list[str]:
    """Return the hint to pay first if a sealed delivery forbids the action; else empty."""
    return [PAY_FIRST[action]] if sealed and action in PAY_FIRST else []


# A job as an MCP task of its buyer: derived from the lifecycle, stored nowhere.

CANCELLED_BY_BUYER = frozenset(
    {ClosedAs.BUYER_WITHDREW, ClosedAs.BUYER_WALKED_AWAY, ClosedAs.BUYER_LEFT_AFTER_DEADLINE}
)


class TaskStatus(StrEnum):
    """The task statuses of MCP, without `failed`: that is for protocol faults, which jobs lack."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


def task_status(facts: JobFacts, now: datetime) -> TaskStatus:
    """Return the task status at `now`.

    A task ends once: an output that its buyer can read completes it, whatever happens to the job after that.
    """
    seen = after_due_move(facts, now)
    if has_output(seen):
        return TaskStatus.COMPLETED
    if seen.closed_as in CANCELLED_BY_BUYER:
        return TaskStatus.CANCELLED
    waits = waiting_on(facts, now)
    if waits is not None and waits.who is Waiter.BUYER:
        return TaskStatus.INPUT_REQUIRED
    return TaskStatus.COMPLETED if seen.status in FINAL else TaskStatus.WORKING


def has_output(facts: JobFacts) -> bool:
    """Check whether the buyer can read a delivery, also an earlier one under revision."""
    return facts.delivered and not facts.is_sealed
