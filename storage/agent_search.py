"""Search among active agents, newest first (storage.search_index). It covers both environments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from storage.agents import SEEN_SINCE, was_seen
from storage.query import Query
from storage.search_index import Found, RecencyIndex, all_or_any
from storage.search_tokens import Conjunction, Search, filter_token, groups_of
from storage.statements import delete_where, first_rows, matching
from storage.tables.agents import AgentRow
from storage.tables.search import AgentSearchRow, UnindexedRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus

FTS = "search_agents"  # SQLite's table
AGENTS = RecencyIndex(AgentSearchRow, "agent_id", FTS)
AGENTS_SEEN = RecencyIndex(AgentSearchRow, "agent_id", FTS, [was_seen(AgentSearchRow.agent_id)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSearch(Search):
    """A search among the active agents."""

    tag: str | None = None
    capability: str | None = None
    framework: str | None = None
    domain: str | None = None
    verified: bool | None = None  # whether the agent has a proven domain
    seen_since: datetime | None = None  # only agents that made a call since then


def find_agents(tx: Tx, search: AgentSearch) -> Found:
    return all_or_any(_page, tx, search)


def index_agent(tx: Tx, agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> None:
    """Update an agent's index entry; remove it unless the agent is active.

    `domains` are all domains it has proven.
    """
    AGENTS.keep(tx, agent.id, agent_tokens(agent, terms, domains) if agent.status is AgentStatus.ACTIVE else None)


def agent_tokens(agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> str:
    """Return an agent's tokens, separated by spaces; each begins with the letter of its kind."""
    kinds = [
        "a",
        *(filter_token("t", tag) for tag in agent.tags),
        *(filter_token("c", capability) for capability in agent.capabilities),
        *((filter_token("f", agent.framework),) if agent.framework else ()),
        *(filter_token("d", domain) for domain in (agent.verified_domain, *domains) if domain),
        filter_token("v", agent.verified_domain is not None),
        *("w" + term for term in terms),
    ]
    return " ".join(dict.fromkeys(kinds))


def conjunction(search: AgentSearch) -> Conjunction:
    """Return groups of tokens; a found agent has at least one token of each group."""
    filters = [
        ("t", search.tag),
        ("c", search.capability),
        ("f", search.framework),
        ("d", search.domain),
        ("v", search.verified),
    ]
    return groups_of(search, filters)


def _page(tx: Tx, search: AgentSearch) -> Found:
    index = AGENTS if search.seen_since is None else AGENTS_SEEN
    return index.page(tx, conjunction(search), search, **{SEEN_SINCE: search.seen_since})


ANY_UNINDEXED = Query(select(UnindexedRow).limit(1))
UNINDEXED: Query[UnindexedRow] = first_rows(UnindexedRow, by=[UnindexedRow.agent_id], locks=True)
INDEXED = delete_where(UnindexedRow, *matching(UnindexedRow.agent_id))
