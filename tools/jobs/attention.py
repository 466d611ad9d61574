"""Deadlines of a job's parties: the party that must act, by when, and when the clock looks at the job again."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from storage.vocabulary import Actor, JobStatus
from tools.jobs.facts import DELIVERY_GRACE, JobFacts, overdue_untold
from tools.jobs.lifecycle import Waiter, waiting_on

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
        if self.act_by is None or self.notice_at is None:
            return False
        return self.notice_at <= now < self.act_by

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
