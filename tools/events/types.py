"""The kinds of events, and the filters over them."""

from collections.abc import Iterable
from difflib import get_close_matches

from tools.events.payloads import PAYLOADS

KINDS = frozenset(PAYLOADS)
FAMILIES = frozenset(kind.split(".")[0] for kind in KINDS)


class BadKind(ValueError):
    """A name that is not an event kind."""


def expand(types: Iterable[str]) -> frozenset[str]:
    """Return the kinds that a filter names: exact ones, families (`job.*`), or `*` for all.

    Raises BadKind for anything else.
    """
    found: set[str] = set()
    for word in types:
        if word == "*":
            return KINDS
        family, _, rest = word.partition(".")
        if rest == "*" and family in FAMILIES:
            found |= {kind for kind in KINDS if kind.startswith(family + ".")}
        elif word in KINDS:
            found.add(word)
        else:
            raise BadKind(_unknown(word[:64]))
    return frozenset(found)


def _unknown(word: str) -> str:
    near = get_close_matches(word, sorted(KINDS), n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    families = ", ".join(f"{family}.*" for family in sorted(FAMILIES))
    return (
        f"there is no event type {word}; {meant}Known are {families}, * for all, and each kind that docs/events lists"
    )
