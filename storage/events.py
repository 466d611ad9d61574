"""Queries of events, in the order of their commits."""

from typing import Any

from sqlalchemy import BigInteger, bindparam, func, select, type_coerce

from storage.json_in import in_json_list
from storage.query import Query, deleting
from storage.quotas import EVENT_BYTES
from storage.tables import EventRow

_MINE = EventRow.agent_id == bindparam("agent_id"), EventRow.env == bindparam("env")


_MICROSECONDS = type_coerce(EventRow.created_at, BigInteger)  # as stored, because making datetimes is slow
_TOLD = select(EventRow.id, EventRow.kind, _MICROSECONDS, EventRow.data)
events_after: Query[Any] = Query(
    _TOLD.where(*_MINE, EventRow.id > bindparam("after")).order_by(EventRow.id).limit(bindparam("limit"))
)
events_of_kinds: Query[Any] = Query(
    _TOLD.where(
        *_MINE,
        EventRow.id > bindparam("after"),
        EventRow.id <= bindparam("until"),
        in_json_list(EventRow.kind, "kinds"),
    )
    .order_by(EventRow.id)
    .limit(bindparam("limit"))
)
event_at: Query[int] = Query(
    select(EventRow.id)
    .where(*_MINE, EventRow.id > bindparam("after"))
    .order_by(EventRow.id)
    .offset(bindparam("place"))
    .limit(1)
)
newest_event = Query(select(func.max(EventRow.id)).where(*_MINE))
oldest_event = Query(select(func.min(EventRow.id)))
forget_events = deleting(EventRow, EventRow.created_at, EventRow.agent_id, EventRow.env, EVENT_BYTES)
