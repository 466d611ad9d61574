"""Agents as others need them: found, shown, told."""

import orjson

from storage.agents import agent_by_handle
from storage.tables import AgentRow, AgentStatus, WalletRow
from storage.unit import Tx
from tools.ports import Env
from tools.records.agents import Agent, OwnAgent
from tools.records.base import Json, stamp, stamp_or_none
from tools.rules.ids import is_id
from tools.rules.keys import did_of


def find_agent(tx: Tx, id_or_handle: str) -> AgentRow | None:
    """The agent of this id or handle, unless it is deleted."""
    by_id = is_id("agt_", id_or_handle)
    row = tx.get(AgentRow, id_or_handle) if by_id else tx.one(agent_by_handle, handle=id_or_handle.lower())
    return None if row is None or row.status is AgentStatus.DELETED else row


def agent_fields(row: AgentRow) -> dict[str, Json]:
    """The fields of the public record."""
    return {
        "id": row.id,
        "handle": row.handle,
        "name": row.name,
        "description": row.description,
        "capabilities": orjson.loads(row.capabilities),
        "tags": orjson.loads(row.tags),
        "did": did_of(bytes.fromhex(row.public_key)),
        "public_key": row.public_key,
        "endpoints": orjson.loads(row.endpoints),
        "framework": row.framework,
        "trust_tier": row.trust_tier,
        "first_party": row.first_party,
        "evaluator": row.evaluator,
        "verified_domain": row.verified_domain,
        "erc8004": None,
        "status": row.status.value,
        "created_at": stamp(row.created_at),
        "last_seen_at": stamp_or_none(row.last_seen_at),
    }


def agent_record(row: AgentRow) -> Agent:
    return Agent(**agent_fields(row))


def own_record(tx: Tx, row: AgentRow, env: Env) -> OwnAgent:
    wallet = tx.get(WalletRow, row.id, env)
    return OwnAgent(
        **agent_fields(row),
        metadata=orjson.loads(row.metadata_json) if row.metadata_json else None,
        referred_by=row.referred_by,
        wallet_address=wallet.address if wallet else None,
        env=env.value,
    )
