"""Queries of events: in the order they were committed."""

from sqlalchemy import bindparam, delete, func, select

from storage.among import among
from storage.query import Query
from storage.tables import EventRow

_MINE = EventRow.agent_id == bindparam("agent_id"), EventRow.env == bindparam("env")


events_after = Query(
    select(EventRow).where(*_MINE, EventRow.id > bindparam("after")).order_by(EventRow.id).limit(bindparam("limit"))
)
events_of_kinds = Query(
    select(EventRow)
    .where(*_MINE, EventRow.id > bindparam("after"), among(EventRow.kind, "kinds"))
    .order_by(EventRow.id)
    .limit(bindparam("limit"))
)
newest_event = Query(select(func.max(EventRow.id)).where(*_MINE))
oldest_event = Query(select(func.min(EventRow.id)))
forget_events = Query(delete(EventRow.__table__).where(EventRow.created_at < bindparam("before")))
