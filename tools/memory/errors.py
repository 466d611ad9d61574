"""Errors of memory."""

from tools.kernel.errors import TakenAlready, WrongState


class MemoryLimit(TakenAlready):
    """The agent keeps as many keys as allowed."""

    code = "memory_limit"
    usual_hint = "Delete keys you no longer need with delete_memory, or give keys a ttl_seconds."


class VersionConflict(WrongState):
    """The value under this key has another version than if_version; 0 means no value."""

    code = "version_conflict"
    usual_hint = "Read the value again with get_memory, then write with its version as if_version."
