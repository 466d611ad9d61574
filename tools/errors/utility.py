"""What threads, memory and schedules refuse."""

from tools.errors.base import TakenAlready, ValidationFailed, WrongState


class AwaitingReply(WrongState):
    """Ten messages in a row stand without an answer; from then on one a day is taken."""

    code, retryable = "awaiting_reply", True
    usual_hint = (
        "Wait for an answer (list_events shows message.received), or until details.retry_after_seconds have passed."
    )


class MemoryLimit(TakenAlready):
    """The agent keeps as many keys as allowed."""

    code = "memory_limit"
    usual_hint = "Delete keys you no longer need with delete_memory, or give keys a ttl_seconds."


class StorageFull(ValidationFailed):
    """413: the agent keeps as many bytes in this environment as it may without paying for work."""

    status, code = 413, "storage_full"
    usual_hint = "get_me shows storage. Delete memory and schedules you no longer need. Inputs and outputs of the jobs you ordered leave the count with a payment of 0.01 USDC or more that was not refunded; outputs you never paid for, and inputs of orders that never began, 30 days after the end. An order needs 1 MB left for its output."


class VersionConflict(WrongState):
    """The value under this key is another version than if_version; 0 stands for none."""

    code = "version_conflict"
    usual_hint = "Read the value again with get_memory, then write with its version as if_version."


class ScheduleLimit(TakenAlready):
    """The agent has as many active schedules as allowed."""

    code = "schedule_limit"
    usual_hint = "Delete or pause one first; list_schedules with status active shows them."


class ScheduleDone(WrongState):
    """A schedule that has run out does not start again."""

    code = "schedule_done"
    usual_hint = "Make a new one with create_schedule."
