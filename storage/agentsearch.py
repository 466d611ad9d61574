"""Search among agents: the newest first (storage.newest), without an environment. Who is not active is not in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson
from sqlalchemy import bindparam, delete, select

from storage.newest import FoundNewest, NewestIndex
from storage.query import Query
from storage.searchindex import Conjunction, filter_token
from storage.tables.agents import AgentRow, AgentStatus
from storage.tables.search import AgentSearchRow, UnindexedRow
from storage.unit import Tx

FTS = "search_agents"  # SQLite's table
AGENTS = NewestIndex(AgentSearchRow, "agent_id", FTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSearch:
    """What to look for among the active agents."""

    terms: tuple[str, ...] = ()  # as tools.rules.words.query_terms gives them
    any_terms: bool = False  # one term is enough; else all are needed
    tag: str | None = None
    capability: str | None = None
    framework: str | None = None
    domain: str | None = None
    verified: bool | None = None  # whether a domain is proven
    after: int = -1  # the key of the last hit of the page before
    limit: int = 20


def find_agents(tx: Tx, search: AgentSearch) -> FoundNewest:
    """One page. Where no agent has all the terms, the first page and those after it take any of them."""
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


def index_agent(tx: Tx, agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> None:
    """Make search show this agent as it now stands, or not at all unless it is active; `domains` are all it has proven."""
    AGENTS.keep(tx, agent.id, agent_tokens(agent, terms, domains) if agent.status is AgentStatus.ACTIVE else None)


def agent_tokens(agent: AgentRow, terms: Sequence[str], domains: Sequence[str] = ()) -> str:
    """All tokens of an agent, parted by spaces; each begins with the letter of its kind."""
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
    """The alternatives of which a found agent has one each; no words and no filters: all of them."""
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
    return AGENTS.page(tx, conjunction(search), search.after, search.limit, any_terms=search.any_terms)


ANY_UNINDEXED = Query(select(UnindexedRow).limit(1))
UNINDEXED = Query(
    select(UnindexedRow).order_by(UnindexedRow.agent_id).limit(bindparam("limit")).with_for_update(skip_locked=True)
)
INDEXED: Query[None] = Query(delete(UnindexedRow.__table__).where(UnindexedRow.agent_id == bindparam("agent_id")))
