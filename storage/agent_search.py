"""Search among active agents, newest first (storage.recency_index). It covers both environments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import orjson
from sqlalchemy import bindparam, delete, select

from storage.agents import SEEN_SINCE, was_seen
from storage.listing_search_tokens import Conjunction, filter_token
from storage.query import Query
from storage.recency_index import FoundNewest, RecencyIndex
from storage.tables.agents import AgentRow
from storage.tables.search import AgentSearchRow, UnindexedRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus

FTS = "search_agents"  # SQLite's table
AGENTS = RecencyIndex(AgentSearchRow, "agent_id", FTS)
AGENTS_SEEN = RecencyIndex(AgentSearchRow, "agent_id", FTS, [was_seen(AgentSearchRow.agent_id)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSearch:
    """A search among the active agents."""

    terms: tuple[str, ...] = ()  # as returned by tools.kernel.search_terms.query_terms
    any_terms: bool = False  # one term is enough; otherwise all are required
    tag: str | None = None
    capability: str | None = None
    framework: str | None = None
    domain: str | None = None
    verified: bool | None = None  # whether the agent has a proven domain
    seen_since: datetime | None = None  # only agents that made a call since then
    after: int = -1  # key of the last hit of the previous page
    limit: int = 20


def find_agents(tx: Tx, search: AgentSearch) -> FoundNewest:
    """Return one page of hits.

    If no agent has all the terms, the first page and the following ones accept any of them.
    """
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


def index_agent(tx: Tx, agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> None:
    """Update an agent's index entry; remove it unless the agent is active.

    `domains` are all domains it has proven.
    """
    AGENTS.keep(tx, agent.id, agent_tokens(agent, terms, domains) if agent.status is AgentStatus.ACTIVE else None)


def agent_tokens(agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> str:
    """Return an agent's tokens, separated by spaces; each begins with the letter of its kind."""
    kinds = [
        "a",
        *(filter_token("t", tag) for tag in orjson.loads(agent.tags)),
        *(filter_token("c", capability) for capability in orjson.loads(agent.capabilities)),
        *((filter_token("f", agent.framework),) if agent.framework else ()),
        *(filter_token("d", domain) for domain in (agent.verified_domain, *domains) if domain),
        _verified(agent.verified_domain is not None),
        *("w" + term for term in terms),
    ]
    return " ".join(dict.fromkeys(kinds))


def conjunction(search: AgentSearch) -> Conjunction:
    """Return groups of tokens; a found agent has at least one token of each group.

    Without terms and filters the only group is the token that every agent has.
    """
    words = tuple("w" + term for term in search.terms)
    filters = (("t", search.tag), ("c", search.capability), ("f", search.framework), ("d", search.domain))
    groups: list[tuple[str, ...]] = [words] if search.any_terms else [(word,) for word in words]
    groups += [(filter_token(kind, value),) for kind, value in filters if value is not None]
    if search.verified is not None:
        groups.append((_verified(search.verified),))
    return tuple(group for group in groups if group) or (("a",),)


def _verified(proven: bool) -> str:
    return f"v{int(proven)}"


def _page(tx: Tx, search: AgentSearch) -> FoundNewest:
    asked, any_terms = conjunction(search), search.any_terms
    if search.seen_since is None:
        return AGENTS.page(tx, asked, search.after, search.limit, any_terms=any_terms)
    seen = {SEEN_SINCE: search.seen_since}
    return AGENTS_SEEN.page(tx, asked, search.after, search.limit, any_terms=any_terms, **seen)


ANY_UNINDEXED = Query(select(UnindexedRow).limit(1))
UNINDEXED = Query(
    select(UnindexedRow).order_by(UnindexedRow.agent_id).limit(bindparam("limit")).with_for_update(skip_locked=True)
)
INDEXED: Query[None] = Query(delete(UnindexedRow.__table__).where(UnindexedRow.agent_id == bindparam("agent_id")))
