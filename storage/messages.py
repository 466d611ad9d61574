"""Queries of threads and messages: an agent's pages, most recently active first, and what it has not read."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, literal, literal_column, select, union_all

from storage.among import among
from storage.query import Query
from storage.tables import JobEventRow, MessageRow, ThreadKind, ThreadRow
from storage.unit import Tx

_SIDES = (ThreadRow.a, ThreadRow.b)
_NONE: ColumnElement[int] = literal_column(
    "0"
)  # as it stands in the index: a parameter would keep the database from seeing that it fits

thread_of_pair = Query(select(ThreadRow).where(ThreadRow.pair == bindparam("pair")))
messages_among = Query(select(MessageRow).where(among(MessageRow.id, "ids")))
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
    """A page of a thread's messages, in the order they were posted or against it."""
    place, order = (
        (MessageRow.number < bindparam("place"), MessageRow.number.desc())
        if newest_first
        else (MessageRow.number > bindparam("place"), MessageRow.number)
    )
    mine = MessageRow.thread_id == bindparam("thread_id")
    return Query(select(MessageRow).where(mine, place).order_by(order).limit(bindparam("limit")))


@cache
def threads_of(kind: ThreadKind | None) -> Query[Any]:
    """A page of an agent's threads: one range of an index for each side it can stand on and each kind."""
    return _merged(
        [
            _range(side, ThreadRow.kind == literal(one.value))
            for side in _SIDES
            for one in ([kind] if kind else ThreadKind)
        ]
    )


def page_of_threads(
    tx: Tx, agent_id: str, env: str, before: str, limit: int, *, kind: ThreadKind | None = None, unread: bool = False
) -> list[ThreadRow]:
    """An agent's threads, the most recently active first, from the one behind `before` on."""
    query = unread_threads if unread else threads_of(kind)
    return tx.all(query, agent_id=agent_id, env=env, before=before, limit=limit)


def _range(side: Any, more: Any) -> Select[Any]:
    return select(ThreadRow).where(
        side == bindparam("agent_id"), ThreadRow.env == bindparam("env"), more, ThreadRow.latest < bindparam("before")
    )


def _merged(parts: list[Select[Any]]) -> Query[Any]:
    """Both databases walk the ranges side by side, each in the order of its index, and end with the page."""
    together = union_all(*parts)
    return Query(together.order_by(together.selected_columns.latest.desc()).limit(bindparam("limit")))


unread_threads = _merged(
    [_range(ThreadRow.a, ThreadRow.unread_a > _NONE), _range(ThreadRow.b, ThreadRow.unread_b > _NONE)]
)
