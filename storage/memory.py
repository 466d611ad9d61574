"""Queries of an agent's memory in one environment: keys in byte order, and expired entries."""

from typing import Any

from sqlalchemy import and_, bindparam, delete, func, or_, select

from storage.query import Query, deleting
from storage.tables import MemoryRow

_MINE = and_(MemoryRow.agent_id == bindparam("agent_id"), MemoryRow.env == bindparam("env"))
_ALIVE = or_(MemoryRow.expires_at.is_(None), MemoryRow.expires_at > bindparam("now"))

keys_between: Query[Any] = Query(
    select(
        MemoryRow.key,
        MemoryRow.size,
        MemoryRow.version,
        MemoryRow.expires_at,
        MemoryRow.created_at,
        MemoryRow.updated_at,
    )
    .where(_MINE, MemoryRow.key >= bindparam("first"), MemoryRow.key < bindparam("end"), _ALIVE)
    .order_by(MemoryRow.key)
    .limit(bindparam("limit"))
)
keys_kept = Query(select(func.count()).select_from(MemoryRow.__table__).where(_MINE, _ALIVE))
forget_key = Query(delete(MemoryRow.__table__).where(_MINE, MemoryRow.key == bindparam("key")))
forget_expired = deleting(MemoryRow, MemoryRow.expires_at, MemoryRow.agent_id, MemoryRow.env, MemoryRow.size)
