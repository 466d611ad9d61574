"""The names, domains and addresses by which an agent is or was known, and since when."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from storage.tables import AgentRow, DomainRow

MAX_KEPT = 20  # in all; of the names that the agent gave up, the newest are kept
StoredName = tuple[str, bool, str]


class KnownAs(NamedTuple):
    """A name by which an agent is known, and since when; `place` marks a domain or an address."""

    text: str
    place: bool
    since: datetime


def read_known(kept: Iterable[StoredName]) -> list[KnownAs]:
    """Parse the names that are stored with an agent."""
    return [KnownAs(text, place, datetime.fromisoformat(since)) for text, place, since in kept]


def known_after(before: Iterable[KnownAs], now: Sequence[KnownAs]) -> list[StoredName]:
    """Return the names to store when the agent is known by `now` from here on.

    A name that it already had keeps its time.
    """
    found = {one[:2]: one for one in (*now, *before)}
    current = {one[:2] for one in now}
    ordered = sorted(found, key=lambda key: (key in current, found[key].since))
    kept = ordered[-max(MAX_KEPT, len(current)) :]
    return [(*key, found[key].since.isoformat()) for key in kept]


def kept_names(agent: AgentRow, wanted: Mapping[str, object], now: datetime) -> dict[str, list[StoredName]]:
    """Return the column of former names if `wanted` changes the name or the endpoints."""
    after = agent.with_(**wanted)
    if (after.name, after.endpoints) == (agent.name, agent.endpoints):
        return {}
    taken = [one._replace(since=now) for one in current_names(after)]
    return {"known_as": known_after(all_names(agent, []), taken)}


def kept_domains(agent: AgentRow, given_up: list[DomainRow]) -> dict[str, list[StoredName]]:
    """Return the column of former names, with the domains that the agent no longer claims."""
    return {"known_as": known_after(all_names(agent, given_up), current_names(agent))}


def all_names(agent: AgentRow, domains: list[DomainRow]) -> list[KnownAs]:
    """Return all current and former names and places of the agent, and since when."""
    known = read_known(agent.known_as)
    known += [KnownAs(row.domain, True, row.created_at) for row in domains]
    had = {one[:2] for one in known}
    return known + [one for one in current_names(agent) if one[:2] not in had]


def current_names(agent: AgentRow) -> list[KnownAs]:
    """Return the name and the places that the profile shows now."""
    urls = [url.split("://", 1)[-1].rstrip("/") for url in agent.endpoints.values()]
    places = [*urls, *([agent.verified_domain] if agent.verified_domain else [])]
    since = agent.created_at
    return [KnownAs(agent.name, False, since), *(KnownAs(place, True, since) for place in places)]
