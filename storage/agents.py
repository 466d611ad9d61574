"""Queries of agents, their handles, keys and wallets."""

from sqlalchemy import bindparam, func, or_, select, update

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import AgentRow, HandleRow, KeyRow

key_by_hash = Query(select(KeyRow).where(KeyRow.hash == bindparam("hash")))
agent_by_handle = Query(select(AgentRow).where(AgentRow.handle == bindparam("handle")))
agents_among = Query(select(AgentRow).where(in_json_list(AgentRow.id, "ids")))
handles_held: Query[int] = Query(
    select(func.count()).select_from(HandleRow.__table__).where(HandleRow.agent_id == bindparam("agent_id"))
)
agent_by_public_key = Query(select(AgentRow).where(AgentRow.public_key == bindparam("public_key")))
touch_key = Query(
    update(KeyRow.__table__)
    .where(KeyRow.id == bindparam("id"), or_(KeyRow.last_used_at.is_(None), KeyRow.last_used_at < bindparam("before")))
    .values(last_used_at=bindparam("at"))
)
begin_live = Query(
    update(AgentRow.__table__)
    .where(AgentRow.id == bindparam("id"), AgentRow.live_since.is_(None))
    .values(live_since=bindparam("at"))
)
touch_agent = Query(
    update(AgentRow.__table__)
    .where(
        AgentRow.id == bindparam("id"),
        or_(AgentRow.last_seen_at.is_(None), AgentRow.last_seen_at < bindparam("before")),
    )
    .values(last_seen_at=bindparam("at"))
)
