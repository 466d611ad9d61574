"""A job as an MCP task of its buyer: derived from the lifecycle, stored nowhere."""

from datetime import datetime
from enum import StrEnum

from storage.vocabulary import FINAL, ClosedAs
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import Waiter, after_due_move, waiting_on

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
