"""Search for operations by words: hits in names count more than in texts, rare words more than common ones."""

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from tools.kernel.search_terms import index_terms, query_terms

MIN_PREFIX = 4  # characters; shorter beginnings match too much
MEANS = {  # synonyms of the words in operation names
    "create": ("add", "make", "new", "register", "publish", "open", "subscribe"),
    "delete": ("remove", "drop", "erase"),
    "get": ("read", "show", "fetch", "see"),
    "search": ("find", "browse", "discover"),
    "update": ("edit", "change", "modify"),
    "job": ("order", "hire", "buy"),
    "deliver": ("submit", "hand"),
    "post": ("send", "write"),
    "put": ("store", "save"),
}
OTHERWISE = {word: name for name, words in MEANS.items() for word in words}


@dataclass(frozen=True, slots=True)
class Told:
    """The terms of an operation by place, the most telling first, with the worth of a hit."""

    name: str
    places: tuple[tuple[int, frozenset[str]], ...]


def told(name: str, toolset: str, summary: str, description: str) -> Told:
    texts = ((8, name.replace("_", " ")), (4, toolset), (3, summary), (1, description))
    return Told(name, tuple((worth, frozenset(index_terms(text, "", (), ""))) for worth, text in texts))


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the name most like an unknown one, or one with all its words, or None."""
    name = name[:64]
    alike, words = difflib.get_close_matches(name, names, n=1), {*name.split("_")}
    return alike[0] if alike else next((one for one in names if words <= {*one.split("_")}), None)


def found(asked: str, tools: Iterable[Told]) -> list[str]:
    """Return the names of operations that match any word, the best first.

    Equal ones keep their order.
    """
    tools = list(tools)
    scores = {tool.name: Fraction() for tool in tools}
    for term in query_terms(asked):
        meant = {term, OTHERWISE.get(term, term)}
        worths = {tool.name: worth for tool in tools if (worth := max(_worth(word, tool) for word in meant))}
        for name, worth in worths.items():
            scores[name] += Fraction(worth, len(worths))
    return [name for name in sorted(scores, key=lambda one: -scores[one]) if scores[name]]


def _worth(term: str, tool: Told) -> int:
    """Return the worth of a term: double for a whole word, single if one begins with the other."""
    worth = 0
    for weight, words in tool.places:
        if term in words:
            worth += 2 * weight
        elif len(term) >= MIN_PREFIX and _begins(term, words):
            worth += weight
    return worth


def _begins(term: str, words: frozenset[str]) -> bool:
    return any(word.startswith(term) or (len(word) >= MIN_PREFIX and term.startswith(word)) for word in words)
