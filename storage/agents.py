"""Queries of agents, keys and wallets."""

from sqlalchemy import bindparam, or_, select, update

from storage.query import Query
from storage.tables import AgentRow, KeyRow, WalletRow

key_by_hash = Query(select(KeyRow).where(KeyRow.hash == bindparam("hash")))
agent_by_handle = Query(select(AgentRow).where(AgentRow.handle == bindparam("handle")))
agent_by_public_key = Query(select(AgentRow).where(AgentRow.public_key == bindparam("public_key")))
wallets_of_address = Query(select(WalletRow).where(WalletRow.address == bindparam("address")).limit(10))
touch_key = Query(
    update(KeyRow.__table__)
    .where(KeyRow.id == bindparam("id"), or_(KeyRow.last_used_at.is_(None), KeyRow.last_used_at < bindparam("before")))
    .values(last_used_at=bindparam("at"))
)
touch_agent = Query(
    update(AgentRow.__table__)
    .where(
        AgentRow.id == bindparam("id"),
        or_(AgentRow.last_seen_at.is_(None), AgentRow.last_seen_at < bindparam("before")),
    )
    .values(last_seen_at=bindparam("at"))
)
