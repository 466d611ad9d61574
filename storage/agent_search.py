"""Search among active agents, newest first (storage.search_index). It covers both environments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sqlalchemy import select

from storage.agents import SEEN_SINCE, was_seen
from storage.query import Query
from storage.search_index import Found, Hit, Order, SearchIndex, all_or_any, keep_newest
from storage.search_tokens import Filters, Search, groups_of, join_tokens
from storage.statements import delete_where, first_rows, matching
from storage.tables.agents import AgentRow
from storage.tables.search import AgentSearchRow, UnindexedRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus

FTS = "search_agents"  # SQLite's table
NEWEST, NEWEST_SEEN = (
    Order(FTS, AgentSearchRow.newest, AgentSearchRow.agent_id, conditions=conditions)
    for conditions in ([], [was_seen(AgentSearchRow.agent_id)])
)
AGENTS = SearchIndex(AgentSearchRow, "agent_id", {"newest": NEWEST})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSearch(Search):
    """A search among the active agents."""

    FILTERS: ClassVar = {"t": "tag", "c": "capability", "f": "framework", "d": "domain", "v": "verified"}

    tag: str | None = None
    capability: str | None = None
    framework: str | None = None
    domain: str | None = None
    verified: bool | None = None  # whether the agent has a proven domain
    seen_since: datetime | None = None  # only agents that made a call since then


def find_agents(tx: Tx, search: AgentSearch) -> Found:
    return all_or_any(_hits, tx, search)


def _hits(tx: Tx, search: AgentSearch) -> list[Hit]:
    order = NEWEST if search.seen_since is None else NEWEST_SEEN
    return order.after(tx, groups_of(search), search, **{SEEN_SINCE: search.seen_since})


def index_agent(tx: Tx, agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> None:
    """Update an agent's index entry; remove it unless the agent is active.

    `domains` are all domains it has proven.
    """
    tokens = agent_tokens(agent, terms, domains) if agent.status is AgentStatus.ACTIVE else None
    keep_newest(tx, AGENTS, agent.id, tokens)


def agent_tokens(agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> str:
    """Return an agent's tokens, separated by spaces; each begins with the letter of its kind."""
    filters: Filters = {
        "t": agent.tags,
        "c": agent.capabilities,
        "f": [agent.framework] if agent.framework else [],
        "d": [domain for domain in (agent.verified_domain, *domains) if domain],
        "v": [agent.verified_domain is not None],
    }
    return join_tokens(filters, terms)


ANY_UNINDEXED = Query(select(UnindexedRow).limit(1))
UNINDEXED: Query[UnindexedRow] = first_rows(UnindexedRow, by=[UnindexedRow.agent_id], locks=True)
INDEXED = delete_where(UnindexedRow, *matching(UnindexedRow.agent_id))
