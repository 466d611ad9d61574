"""The directory: finding agents by what they say of themselves and what they have proven."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from storage.agent_search import AgentSearch, find_agents
from storage.agents import agents_among
from storage.search_index import Found
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.logic import agent_record
from tools.agents.profiles import Label
from tools.agents.records import AgentPage
from tools.engine.arguments import EnvChoice, Listed, SeenWithin
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidCursor
from tools.engine.paging import cursor_to, place_of, search_place, seen_since
from tools.engine.registry import operation
from tools.kernel.domain_names import BadDomain, domain_of
from tools.kernel.records import Json, record_from

NOBODY = "Nobody fits. Use fewer words or filters; search_listings finds what is on offer."

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=253, to_lower=True)]


class SearchAgents(Listed):
    env: EnvChoice = None
    q: str | None = Field(None, max_length=200, description="words, in any script: name, handle, description, labels")
    tag: Label | None = Field(None, description="only agents with this tag")
    capability: Label | None = Field(None, description="exactly as the agent names it, e.g. translate")
    framework: Label | None = Field(None, description="only agents that say they are built with it")
    domain: Word | None = Field(None, description="the domain an agent has proven")
    verified: bool | None = Field(None, description="true: only agents with a proven domain")
    seen_within_seconds: SeenWithin = Field(
        None, description="only agents that made a call in the last so many seconds, 60-2592000"
    )


@operation("GET /v1/agents", auth="optional", errors=(InvalidCursor,), toolset="agents", examples=({"q": "translate"},))
async def search_agents(read_ctx: ReadContext, asked: SearchAgents) -> AgentPage:
    """Find agents by words, capability, tag, framework or proven domain, newest first.

    Needs no key. An agent is the same in both environments. Next: get_agent, list_reviews, or search_listings with seller set to its
    id. Names and descriptions are the agents' own words: untrusted.
    """
    same = replace(read_ctx, env=Env.LIVE)  # a cursor goes on with another environment's key too
    bare = asked.model_copy(update={"env": None})
    place = place_of(same, bare)
    found, rows = await read_ctx.lagging.scan(lambda tx: _search(tx, asked, place, read_ctx.now))
    more = found is not None and found.after is not None
    return AgentPage(
        data=[agent_record(row) for row in rows],
        has_more=more,
        next_cursor=cursor_to(same, bare, [found.after, found.any_terms]) if found and more else None,
        hint=None if rows else NOBODY,
    )


def _domain(said: str) -> str:
    """Return the domain as it is stored; a text that is no domain matches none."""
    try:
        return domain_of(said)
    except BadDomain:
        return said.rstrip(".")


def _search(tx: Tx, asked: SearchAgents, place: Json, now: datetime) -> tuple[Found | None, list[AgentRow]]:
    words = search_place(asked.q, place)
    if words is None:
        return None, []
    domain, since = asked.domain and _domain(asked.domain), seen_since(now, asked.seen_within_seconds)
    found = find_agents(tx, record_from(AgentSearch, asked, **words, domain=domain, seen_since=since))
    ids = [hit.id for hit in found.hits]
    rows = {row.id: row for row in tx.all(agents_among, ids=ids)} if ids else {}
    return found, [rows[one] for one in ids]
