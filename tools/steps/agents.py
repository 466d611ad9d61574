"""Agents as others need them: found, shown, changed, told."""

import orjson

from storage.agents import agent_by_handle
from storage.agentsearch import INDEXED, UNINDEXED, index_agent
from storage.proofs import proven_domains_of
from storage.tables import AgentRow, AgentStatus, KeyRow, KeyStatus, WalletRow
from storage.unit import Tx
from tools.context import Context
from tools.errors import Unauthenticated
from tools.ports import Env
from tools.records.agents import Agent, OwnAgent
from tools.records.base import Json, stamp, stamp_or_none
from tools.rules.ids import is_id
from tools.rules.keys import did_of
from tools.rules.words import index_terms

INDEXED_AT_ONCE = 50


def find_agent(tx: Tx, id_or_handle: str) -> AgentRow | None:
    """The agent of this id or handle, unless it is deleted."""
    row = any_agent(tx, id_or_handle)
    return None if row is None or row.status is AgentStatus.DELETED else row


def any_agent(tx: Tx, id_or_handle: str) -> AgentRow | None:
    """The agent of this id or handle, deleted ones too."""
    by_id = is_id("agt_", id_or_handle)
    return tx.get(AgentRow, id_or_handle) if by_id else tx.one(agent_by_handle, handle=id_or_handle.lower())


def acting_agent(ctx: Context, *, lock: bool = True) -> AgentRow:
    """The caller itself. Unauthenticated where it, or the key it came with, has ended since the door let it in.

    For what outlives a key: who holds one that is being revoked must not make another in the meantime.
    """
    row = ctx.tx.get(AgentRow, ctx.agent, lock=lock)
    if row is None or row.status is not AgentStatus.ACTIVE or not _key_stands(ctx, row):
        raise Unauthenticated("the key was revoked or changed, or its agent is no longer active")
    return row


def change_agent(tx: Tx, row: AgentRow, **values: object) -> AgentRow:
    """Change an agent, and with it what search finds of it and what is cached of its listings."""
    changed = tx.change(row, **values)
    index(tx, changed)
    tx.forget(f"seller:{row.id}", f"holder:{row.id}")
    return changed


def index(tx: Tx, row: AgentRow) -> None:
    """Make search show the agent as it now stands."""
    labels = [*orjson.loads(row.capabilities), *orjson.loads(row.tags)]
    terms = index_terms(f"{row.name} {row.handle}", row.description or "", labels, row.framework or "")
    domains = tx.all(proven_domains_of, agent_id=row.id) if row.verified_domain else ()
    index_agent(tx, row, terms, domains)


def index_waiting(tx: Tx) -> bool:
    """Index a batch of those that registered before agents could be searched for; whether there were any."""
    waiting = tx.all(UNINDEXED, limit=INDEXED_AT_ONCE)
    for one in reversed(waiting):  # the newest first, for SQLite's index takes ascending keys best
        row = tx.get(AgentRow, one.agent_id, lock=True)  # else a change at this moment would be indexed as it was
        assert row is not None
        index(tx, row)
        tx.run(INDEXED, agent_id=row.id)
    return bool(waiting)


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
        "erc8004": orjson.loads(row.erc8004) if row.erc8004 else None,
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


def _key_stands(ctx: Context, row: AgentRow) -> bool:
    if ctx.caller.proof is not None:
        return ctx.caller.proof.public_key == row.public_key
    if ctx.caller.epoch not in (None, row.auth_epoch):
        return False
    if ctx.caller.key_id is None:
        return True
    key = ctx.tx.get(KeyRow, ctx.caller.key_id)
    return key is not None and key.status is KeyStatus.ACTIVE
