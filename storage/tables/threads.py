"""Tables of threads between two agents, their messages, and how many of them each agent has not read.

The counts of a thread are stored in its row and change with each message, so that no reader counts messages.
"""

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import JsonText, Row
from storage.vocabulary import ThreadKind


def _unread(side: str) -> Index:
    """Make an index of the threads in which one side has unread messages."""
    some = text(f"unread_{side} > 0")
    return Index(f"ix_threads_unread_{side}", side, "env", "latest", sqlite_where=some, postgresql_where=some)


THREAD_PARTS = [
    Index(None, "a", "env", "kind", "latest"),
    Index(None, "b", "env", "kind", "latest"),
    Index(None, "a", "env", "id"),
    Index(None, "b", "env", "id"),
    _unread("a"),
    _unread("b"),
]


class ThreadRow(Row, name="threads", parts=THREAD_PARTS):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    kind: Mapped[ThreadKind]
    job_id: Mapped[str | None] = mapped_column(index=True)
    bounty_id: Mapped[str | None] = mapped_column(default=None)
    pair: Mapped[str | None] = mapped_column(default=None, index=True, unique=True)  # environment and agents, if direct
    a: Mapped[str]
    b: Mapped[str]
    latest: Mapped[str] = mapped_column(
        default=""
    )  # the newest message's id without its prefix; without messages the thread's
    message_count: Mapped[int] = mapped_column(default=0)
    from_a: Mapped[int] = mapped_column(default=0)  # how many of the messages a wrote
    from_b: Mapped[int] = mapped_column(default=0)
    unread_a: Mapped[int] = mapped_column(default=0)
    unread_b: Mapped[int] = mapped_column(default=0)
    read_a: Mapped[int] = mapped_column(default=0)  # the number of the newest message that a has read
    read_b: Mapped[int] = mapped_column(default=0)
    run: Mapped[int] = mapped_column(default=0)  # consecutive messages without an answer; notes of actions do not count
    run_by: Mapped[str | None] = mapped_column(default=None)
    run_began_at: Mapped[datetime | None] = mapped_column(default=None)
    run_last_at: Mapped[datetime | None] = mapped_column(default=None)
    last_message_at: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime]


class MessageRow(Row, name="messages", parts=[Index(None, "thread_id", "number", unique=True)]):
    id: Mapped[str] = mapped_column(primary_key=True)
    thread_id: Mapped[str]
    number: Mapped[int]  # in its thread, from 1
    from_a: Mapped[int]  # how many of the thread's messages up to this one a wrote
    from_b: Mapped[int]
    sender_id: Mapped[str | None]  # None: the platform
    body: Mapped[str]
    data: Mapped[str | None]
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    created_at: Mapped[datetime]


class UnreadRow(Row, name="mailboxes"):
    """The number of unread messages of an agent, in all its threads of one environment."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    unread: Mapped[int]
