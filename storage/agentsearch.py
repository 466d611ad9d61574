"""Search among agents: the listings' machinery (storage.search) with one order, the newest first, and no environment.

SQLite: a contentless FTS5 table, its rowid the sort key. PostgreSQL: a tsvector with a GIN index, a b-tree on the key.
The index is kept inside the unit of work that changes an agent; who is not active is not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson
from sqlalchemy import BigInteger, Text, bindparam, column, delete, insert, literal_column, select, table, update
from sqlalchemy.dialects.postgresql import TSVECTOR

from storage.query import Query
from storage.search import LAST_KEY, NEAR_ROWS, matches, render
from storage.searchindex import Conjunction, filter_token, newest_key
from storage.tables.agents import AgentRow, AgentStatus
from storage.tables.search import AgentSearchRow as A
from storage.tables.search import UnindexedRow
from storage.unit import Tx

FTS = "search_agents"  # SQLite's table


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


class Hit(NamedTuple):
    """A found agent and its sort key."""

    agent_id: str
    key: int


@dataclass(frozen=True, slots=True)
class FoundAgents:
    """A page of hits, the newest first. The next page's search carries `after`, if there is one, and `any_terms`."""

    hits: tuple[Hit, ...]
    after: int | None
    any_terms: bool


def find_agents(tx: Tx, search: AgentSearch) -> FoundAgents:
    """One page. Where no agent has all the terms, the first page and those after it take any of them."""
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


def index_agent(tx: Tx, agent: AgentRow, terms: Sequence[str]) -> None:
    """Make search show this agent as it now stands, or not at all unless it is active."""
    row = tx.one(BY_AGENT, agent_id=agent.id)
    seq = row.seq if row else tx.one(NUMBER, agent_id=agent.id)
    assert seq is not None
    before = row.tokens if row else None
    after = agent_tokens(agent, terms) if agent.status is AgentStatus.ACTIVE else None
    if before == after:
        return
    key = newest_key(seq)
    tx.run(PLACE, _seq=seq, newest=None if after is None else key, tokens=after)
    if tx.is_sqlite:  # a contentless table forgets a row only when it is told the row's text
        for query, tokens in ((FORGET, before), (REMEMBER, after)):
            if tokens is not None:
                tx.run(query, rowid=key, tokens=tokens)


def agent_tokens(agent: AgentRow, terms: Sequence[str]) -> str:
    """All tokens of an agent, parted by spaces; each begins with the letter of its kind."""
    kinds = [
        "a",
        *(filter_token("t", tag) for tag in orjson.loads(agent.tags)),
        *(filter_token("c", capability) for capability in orjson.loads(agent.capabilities)),
        *((filter_token("f", agent.framework),) if agent.framework else ()),
        *((filter_token("d", agent.verified_domain),) if agent.verified_domain else ()),
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


def _page(tx: Tx, search: AgentSearch) -> FoundAgents:
    hits = _hits(tx, replace(search, limit=search.limit + 1))
    page = tuple(hits[: search.limit])
    return FoundAgents(page, page[-1].key if len(hits) > search.limit else None, search.any_terms)


def _hits(tx: Tx, search: AgentSearch) -> list[Hit]:
    match = render(conjunction(search), tx.is_sqlite)
    values = {"match": match, "low": search.after + 1, "high": LAST_KEY, "limit": search.limit}
    if tx.is_sqlite:
        return [*map(Hit._make, tx.all(FROM_SQLITE, **values))]
    near = tx.all(NEAR, **values)
    return [*map(Hit._make, near if len(near) == search.limit else tx.all(ANYWHERE, **values))]


_fts = table(FTS, column("rowid", BigInteger), column("tokens", Text), column(FTS, Text))
_written: dict[str, Any] = {"rowid": bindparam("rowid"), "tokens": bindparam("tokens")}
_newest = A.__table__.c.newest
_next = (  # PostgreSQL, what is found often: among the next NEAR_ROWS rows of the order
    select(A.agent_id, _newest.label("key"), column("terms", TSVECTOR))
    .where(_newest.between(bindparam("low"), bindparam("high")))
    .order_by(_newest)
    .limit(literal_column(str(NEAR_ROWS)))
    .subquery()
)
_unsorted = _newest + literal_column("0")  # keeps the planner off the order's b-tree

FROM_SQLITE: Query[tuple[str, int]] = Query(
    select(A.agent_id, _fts.c.rowid)
    .select_from(_fts.outerjoin(A.__table__, _newest == _fts.c.rowid))  # outer: the full-text index is read first
    .where(_fts.c[FTS].op("MATCH")(bindparam("match")), _fts.c.rowid.between(bindparam("low"), bindparam("high")))
    .order_by(_fts.c.rowid)
    .limit(bindparam("limit"))
)
NEAR: Query[tuple[str, int]] = Query(
    select(_next.c.agent_id, _next.c.key).where(matches(_next.c.terms)).order_by(_next.c.key).limit(bindparam("limit"))
)
ANYWHERE: Query[tuple[str, int]] = Query(  # what is found seldom: all that match, then sorted
    select(A.agent_id, _newest)
    .where(matches(column("terms", TSVECTOR)), _unsorted.between(bindparam("low"), bindparam("high")))
    .order_by(_unsorted)
    .limit(bindparam("limit"))
)
REMEMBER: Query[None] = Query(insert(_fts).values(_written))
FORGET: Query[None] = Query(insert(_fts).values({**_written, FTS: "delete"}))
BY_AGENT = Query(select(A).where(A.agent_id == bindparam("agent_id")).with_for_update())
NUMBER = Query(insert(A).values({"agent_id": bindparam("agent_id")}).returning(A.seq))
PLACE = Query(
    update(A).where(A.seq == bindparam("_seq")).values(newest=bindparam("newest"), tokens=bindparam("tokens"))
)
ANY_UNINDEXED = Query(select(UnindexedRow).limit(1))
UNINDEXED = Query(
    select(UnindexedRow).order_by(UnindexedRow.agent_id).limit(bindparam("limit")).with_for_update(skip_locked=True)
)
INDEXED: Query[None] = Query(delete(UnindexedRow.__table__).where(UnindexedRow.agent_id == bindparam("agent_id")))
