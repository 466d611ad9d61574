"""Names by which an agent was known, and since when: also its domains and addresses, and those that it gave up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

MAX_KEPT = 20  # in all; of the names that the agent gave up, the newest are kept


@dataclass(frozen=True, slots=True)
class KnownAs:
    """A name by which an agent is known, and since when; `place` marks a domain or an address."""

    text: str
    place: bool
    since: datetime


def read_known(kept: str) -> list[KnownAs]:
    """Parse the names that are stored with an agent."""
    return [KnownAs(text, place, datetime.fromisoformat(since)) for text, place, since in orjson.loads(kept)]


def known_after(before: Iterable[KnownAs], now: Sequence[KnownAs]) -> str:
    """Return the names to store when the agent is known by `now` from here on.

    A name that it already had keeps its time.
    """
    found = {(one.text, one.place): one for one in now}
    found |= {(one.text, one.place): one for one in before}
    current = {(one.text, one.place) for one in now}
    ordered = sorted(found, key=lambda key: (key in current, found[key].since))
    kept = [found[key] for key in ordered[-max(MAX_KEPT, len(current)) :]]
    return orjson.dumps([[one.text, one.place, one.since.isoformat()] for one in kept]).decode()
