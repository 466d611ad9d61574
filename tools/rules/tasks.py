"""A job as the task of whoever ordered it, in the words of MCP: derived from the lifecycle, stored nowhere."""

from datetime import datetime
from enum import StrEnum

from tools.rules.jobfacts import FINAL, ClosedAs, JobFacts
from tools.rules.lifecycle import Waiter, clocked, waiting_on

CANCELLED_BY_BUYER = frozenset(
    {ClosedAs.BUYER_WITHDREW, ClosedAs.BUYER_WALKED_AWAY, ClosedAs.BUYER_LEFT_AFTER_DEADLINE}
)


class TaskStatus(StrEnum):
    """Of the five MCP knows, `failed` is left out: it is for faults of the protocol, and a job has none."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


def task_status(facts: JobFacts, now: datetime) -> TaskStatus:
    """The status at `now`. A task ends once: an output its buyer has read completes it, whatever becomes of the job then."""
    seen = clocked(facts, now)
    if has_output(seen):
        return TaskStatus.COMPLETED
    if seen.closed_as in CANCELLED_BY_BUYER:
        return TaskStatus.CANCELLED
    waits = waiting_on(facts, now)
    if waits is not None and waits.who is Waiter.BUYER:
        return TaskStatus.INPUT_REQUIRED
    return TaskStatus.COMPLETED if seen.status in FINAL else TaskStatus.WORKING


def has_output(facts: JobFacts) -> bool:
    """A delivery exists, also an earlier one under revision, and its buyer can read it."""
    return facts.delivered and not facts.is_sealed
