"""The names and places by which an agent was known, kept when its profile or domains change."""

from collections.abc import Mapping
from datetime import datetime

import orjson

from storage.tables import AgentRow, DomainRow
from tools.agents.aliases import KnownAs, known_after, read_known


def kept_names(agent: AgentRow, wanted: Mapping[str, object], now: datetime) -> dict[str, str]:
    """Return the column of former names if `wanted` changes the name or the endpoints."""
    after = AgentRow(**(agent.__dict__ | dict(wanted)))
    if (after.name, after.endpoints) == (agent.name, agent.endpoints):
        return {}
    taken = [KnownAs(one.text, one.place, now) for one in current_names(after)]
    return {"known_as": known_after(all_names(agent, []), taken)}


def kept_domains(agent: AgentRow, given_up: list[DomainRow]) -> dict[str, str]:
    """Return the column of former names, with the domains that the agent no longer claims."""
    return {"known_as": known_after(all_names(agent, given_up), current_names(agent))}


def all_names(agent: AgentRow, domains: list[DomainRow]) -> list[KnownAs]:
    """Return every name and place of the agent; those never changed count from its registration."""
    known = read_known(agent.known_as)
    known += [KnownAs(row.domain, True, row.created_at) for row in domains]
    had = {(one.text, one.place) for one in known}
    return known + [one for one in current_names(agent) if (one.text, one.place) not in had]


def current_names(agent: AgentRow) -> list[KnownAs]:
    """Return the name and the places that the profile shows now."""
    urls = [url.split("://", 1)[-1].rstrip("/") for url in orjson.loads(agent.endpoints).values()]
    places = [*urls, *([agent.verified_domain] if agent.verified_domain else [])]
    since = agent.created_at
    return [KnownAs(agent.name, False, since), *(KnownAs(place, True, since) for place in places)]
