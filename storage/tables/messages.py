"""Tables of threads between two agents, their messages, the counts of unread ones, and reports to the operator.

The counts of a thread are stored in its row and change with each message, so that no reader counts messages.
"""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, StateOfAgentInEnv, partial_index
from storage.vocabulary import ThreadKind

THREAD_PARTS = [
    *(Index(None, side, "env", "kind", "latest") for side in "ab"),
    *(Index(None, side, "env", "id") for side in "ab"),
    partial_index("ix_threads_pair", "pair", where="pair IS NOT NULL", unique=True),
    # The threads in which one side has unread messages.
    *(partial_index(f"ix_threads_unread_{side}", side, "env", "latest", where=f"unread_{side} > 0") for side in "ab"),
]


class ThreadRow(EntityOfEnv, name="threads", parts=THREAD_PARTS):
    kind: Mapped[ThreadKind]
    job_id: Mapped[str | None]
    bounty_id: Mapped[str | None] = mapped_column(default=None)
    pair: Mapped[str | None] = mapped_column(default=None)  # environment and agents, if direct
    a: Mapped[str]
    b: Mapped[str]
    # The newest message's id without its prefix; without messages the thread's.
    latest: Mapped[str] = mapped_column(default="")
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


class UnreadRow(StateOfAgentInEnv, name="mailboxes"):
    """The number of unread messages of an agent, in all its threads of one environment."""

    unread: Mapped[int]


class ReportRow(Row, name="support_reports", parts=[Index(None, "agent_id", "env", "id")]):
    id: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str | None]  # None: sent without a key
    env: Mapped[str]
    message: Mapped[str]
    request_id: Mapped[str | None]
    references_json: Mapped[list[str]] = mapped_column(JsonText)
    contact: Mapped[str | None]
    received_at: Mapped[datetime]
