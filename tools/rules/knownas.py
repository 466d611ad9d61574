"""What an agent was called, and since when: names and addresses of its own, also those it gave up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

MOST_KEPT = 20  # of those it gave up the newest; no more than that are ever looked for in a case


@dataclass(frozen=True, slots=True)
class KnownAs:
    """A name, or a domain or address of its own (`place`), and since when the agent has been known by it."""

    text: str
    place: bool
    since: datetime


def read_known(kept: str) -> list[KnownAs]:
    """As they are kept with the agent."""
    return [KnownAs(text, place, datetime.fromisoformat(since)) for text, place, since in orjson.loads(kept)]


def known_after(before: Iterable[KnownAs], now: Sequence[KnownAs]) -> str:
    """What is kept when the agent is known by `now` from here on: what it had before keeps its time."""
    found = {(one.text, one.place): one for one in now}
    found |= {(one.text, one.place): one for one in before}
    current = {(one.text, one.place) for one in now}
    ordered = sorted(found, key=lambda key: (key in current, found[key].since))
    kept = [found[key] for key in ordered[-max(MOST_KEPT, len(current)) :]]
    return orjson.dumps([[one.text, one.place, one.since.isoformat()] for one in kept]).decode()
