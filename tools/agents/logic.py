"""Agents: lookup by id or handle, changes to a profile, the search index, and the public and private records."""

from typing import TypeVar

from storage.agent_search import INDEXED, UNINDEXED, index_agent
from storage.agents import agent_by_handle, handles_of, proven_domains_of
from storage.tables import AgentRow, RoomRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tools.agents.records import Agent, OwnAgent, Storage
from tools.agents.trust_tiers import trust_tier
from tools.engine.context import TxContext
from tools.engine.errors import NotFound
from tools.kernel.ids import is_id
from tools.kernel.keys import binding_message, did_of_hex
from tools.kernel.records import record_from
from tools.kernel.search_terms import index_terms

A = TypeVar("A", bound=Agent)
GONE = "(gone)"  # no handle has brackets
INDEXED_AT_ONCE = 50


def find_agent(tx: Tx, id_or_handle: str) -> AgentRow | None:
    """Return the agent with this id or handle; None if it is deleted or unclaimed."""
    row = any_agent(tx, id_or_handle)
    return None if row is None or row.status in (AgentStatus.DELETED, AgentStatus.UNCLAIMED) else row


def need_agent(tx: Tx, id_or_handle: str, *, deleted: bool = False) -> AgentRow:
    """Return the agent with this id or handle, or raise NotFound; `deleted`: in any status."""
    found = (any_agent if deleted else find_agent)(tx, id_or_handle)
    if found is None:
        raise NotFound("there is no such agent", param="agent_id", hint="Use an agent id (agt_…) or a handle.")
    return found


def any_agent(tx: Tx, id_or_handle: str) -> AgentRow | None:
    """Return the agent with this id or handle, even if it is deleted."""
    by_id = is_id("agt_", id_or_handle)
    return tx.get(AgentRow, id_or_handle) if by_id else tx.one(agent_by_handle, handle=id_or_handle.lower())


def change_agent(tx: Tx, row: AgentRow, **values: object) -> AgentRow:
    """Change an agent, reindex it for search, and drop the cached listings that show it."""
    changed = tx.change(row, **values)
    index(tx, changed)
    tx.invalidate(f"seller:{row.id}", f"holder:{row.id}")
    return changed


def set_tier(tx: Tx, row: AgentRow, *, reached_one: bool = False) -> AgentRow:
    """Set the agent's trust tier; `reached_one`: its sales now earn tier 1.

    `row` must already have the change of the domain. Tier 2 is gained and lost with the domain; tier 1 is kept. The row
    should be read with a lock.
    """
    tier = trust_tier(reached_one or row.trust_tier >= 1, row.verified_domain)
    return row if tier == row.trust_tier else change_agent(tx, row, trust_tier=tier)


def index(tx: Tx, row: AgentRow) -> None:
    """Update the agent's entry in the search index."""
    labels = [*row.capabilities, *row.tags]
    terms = index_terms(f"{row.name} {row.handle}", row.description or "", labels, row.framework or "")
    domains = tx.all(proven_domains_of, agent_id=row.id) if row.verified_domain else ()
    index_agent(tx, row, terms, domains)


def index_waiting(tx: Tx) -> bool:
    """Index a batch of agents that are older than agent search; return False if none are left."""
    waiting = tx.all(UNINDEXED, limit=INDEXED_AT_ONCE)
    for one in reversed(waiting):  # the newest first, because SQLite's index is fastest with ascending keys
        index(tx, tx.need(AgentRow, one.agent_id, lock=True))  # the lock keeps a concurrent change
        tx.run(INDEXED, agent_id=one.agent_id)
    return bool(waiting)


def agent_record(row: AgentRow, kind: type[A] = Agent, **others: object) -> A:  # type: ignore[assignment]
    """Return the public record of an agent, or another record that extends it."""
    return record_from(kind, row, did=did_of_hex(row.public_key), **others)


def own_record(ctx: TxContext, row: AgentRow, address: str | None = None) -> OwnAgent:
    """Return the agent's own view of itself in the environment of the call.

    `address` is the wallet of wallet_binding.
    """
    wallet, room = ctx.tx.get(WalletRow, row.id, ctx.env), ctx.tx.get(RoomRow, row.id, ctx.env)
    limit = None if row.first_party else ctx.config.limits.storage_bytes
    return agent_record(
        row,
        OwnAgent,
        metadata=row.metadata_json,
        wallet_address=wallet.address if wallet else None,
        wallet_binding=binding_message(ctx.config.brand, row.id, address or "<address_lowercase>"),
        env=ctx.env.value,
        storage=Storage(used=0 if room is None else room.used, limit=limit),
    )


def handles(tx: Tx, ids: set[str]) -> dict[str, str]:
    """Return handles by agent id, in one statement; GONE for an account that was deleted.

    Only the account of a purchase that was never paid is deleted in this way.
    """
    return dict.fromkeys(ids, GONE) | dict(tx.all(handles_of, ids=ids))
