"""Queries of threads and messages: an agent's threads, most recently active first, and its unread ones."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, literal, literal_column, select, union_all

from storage.json_in import in_json_list
from storage.query import Query
from storage.rows import as_row
from storage.tables import JobEventRow, MessageRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import ThreadKind

_NONE: ColumnElement[int] = literal_column(
    "0"
)  # a constant, as in the partial index: with a parameter the database would not use the index

thread_of_pair = Query(select(ThreadRow).where(ThreadRow.pair == bindparam("pair")))
messages_among = Query(select(MessageRow).where(in_json_list(MessageRow.id, "ids")))
message_numbered = Query(
    select(MessageRow).where(MessageRow.thread_id == bindparam("thread_id"), MessageRow.number == bindparam("number"))
)
stepped_since = Query(
    select(JobEventRow.id)
    .where(
        JobEventRow.job_id == bindparam("job_id"),
        JobEventRow.actor_id == bindparam("actor_id"),
        JobEventRow.created_at > bindparam("since"),
    )
    .limit(1)
)


@cache
def messages_of(newest_first: bool) -> Query[MessageRow]:
    """Build the query of a page of a thread's messages, in the order of posting or reversed."""
    place, order = (
        (MessageRow.number < bindparam("place"), MessageRow.number.desc())
        if newest_first
        else (MessageRow.number > bindparam("place"), MessageRow.number)
    )
    mine = MessageRow.thread_id == bindparam("thread_id")
    return Query(select(MessageRow).where(mine, place).order_by(order).limit(bindparam("limit")))


@cache
def threads_of(kind: ThreadKind | None) -> Query[Any]:
    """Build the query of a page of an agent's threads.

    It reads one range of an index for each side of a thread and each kind.
    """
    kinds = [kind] if kind else list(ThreadKind)
    return _merged(
        [(side, ThreadRow.kind == literal(one.value)) for side in (ThreadRow.a, ThreadRow.b) for one in kinds]
    )


def page_of_threads(
    tx: Tx, agent_id: str, env: str, before: str, limit: int, *, kind: ThreadKind | None = None, unread: bool = False
) -> list[ThreadRow]:
    """Return an agent's threads after the thread `before`, most recently active first."""
    query = unread_threads if unread else threads_of(kind)
    found = tx.all(query, agent_id=agent_id, env=env, before=before, limit=limit)
    return [as_row(ThreadRow, values) for values in found]


def _merged(ranges: list[tuple[Any, ColumnElement[bool]]]) -> Query[Any]:
    """Build the query of the newest rows of several ranges together.

    Each range is limited to one page, because PostgreSQL would read it whole.
    """
    pages = [
        select(ThreadRow)
        .where(side == bindparam("agent_id"), ThreadRow.env == bindparam("env"), more)
        .where(ThreadRow.latest < bindparam("before"))
        .order_by(ThreadRow.latest.desc())
        .limit(bindparam("limit"))
        .subquery(f"page_{number}")
        for number, (side, more) in enumerate(ranges)
    ]
    together = union_all(*(select(*page.c) for page in pages))
    return Query(together.order_by(together.selected_columns.latest.desc()).limit(bindparam("limit")))


unread_threads = _merged([(ThreadRow.a, ThreadRow.unread_a > _NONE), (ThreadRow.b, ThreadRow.unread_b > _NONE)])
