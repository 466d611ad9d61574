"""Queries of threads and messages: an agent's threads, most recently active first, and its unread ones.

Also of an agent's reports to the operator.
"""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, literal, literal_column, select, union_all

from storage.query import Query
from storage.rows import as_row
from storage.statements import LIMIT, matching, newest_of_sides, newest_rows, rows_among
from storage.tables import JobEventRow, MessageRow, ReportRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import ThreadKind

# A constant, as in the partial index: with a parameter the database would not use the index.
_NONE: ColumnElement[int] = literal_column("0")

threads_by_id: Query[ThreadRow] = newest_of_sides(ThreadRow, (ThreadRow.a, ThreadRow.b))
thread_of_pair = Query(select(ThreadRow).where(*matching(ThreadRow.pair)))
messages_among = rows_among(MessageRow, MessageRow.id)
message_numbered = Query(select(MessageRow).where(*matching(MessageRow.thread_id, MessageRow.number)))
stepped_since = Query(
    select(JobEventRow.id)
    .where(*matching(JobEventRow.job_id, JobEventRow.actor_id), JobEventRow.created_at > bindparam("since"))
    .limit(1)
)
reports_of: Query[ReportRow] = newest_rows(ReportRow, *matching(ReportRow.agent_id, ReportRow.env))


@cache
def messages_of(newest_first: bool) -> Query[MessageRow]:
    """Build the query of a page of a thread's messages, in the order of posting or reversed."""
    place, order = (
        (MessageRow.number < bindparam("place"), MessageRow.number.desc())
        if newest_first
        else (MessageRow.number > bindparam("place"), MessageRow.number)
    )
    return Query(select(MessageRow).where(*matching(MessageRow.thread_id), place).order_by(order).limit(LIMIT))


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
        .where(side == bindparam("agent_id"), *matching(ThreadRow.env), more)
        .where(ThreadRow.latest < bindparam("before"))
        .order_by(ThreadRow.latest.desc())
        .limit(LIMIT)
        .subquery(f"page_{number}")
        for number, (side, more) in enumerate(ranges)
    ]
    together = union_all(*(select(*page.c) for page in pages))
    return Query(together.order_by(together.selected_columns.latest.desc()).limit(LIMIT))


unread_threads = _merged([(ThreadRow.a, ThreadRow.unread_a > _NONE), (ThreadRow.b, ThreadRow.unread_b > _NONE)])
