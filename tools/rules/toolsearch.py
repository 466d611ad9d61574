"""Which operations a few words mean: a name tells more than a text, and a word few operations use more than one many use."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tools.rules.words import index_terms, query_terms

LEAST_PREFIX = 4  # characters; shorter beginnings mean too much
MEANS = {  # other words for those the operations' names are made of
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
    """What an operation says of itself, as terms, the most telling place first, with what a hit there is worth."""

    name: str
    places: tuple[tuple[int, frozenset[str]], ...]


def told(name: str, toolset: str, summary: str, description: str) -> Told:
    texts = ((8, name.replace("_", " ")), (4, toolset), (3, summary), (1, description))
    return Told(name, tuple((worth, frozenset(index_terms(text, "", (), ""))) for worth, text in texts))


def found(asked: str, tools: Iterable[Told]) -> list[str]:
    """The names of those that any of the words hits, the best first; equals keep their order."""
    tools = list(tools)
    scores = {tool.name: Fraction() for tool in tools}
    for term in query_terms(asked):
        meant = {term, OTHERWISE.get(term, term)}
        worths = {tool.name: worth for tool in tools if (worth := max(_worth(word, tool) for word in meant))}
        for name, worth in worths.items():
            scores[name] += Fraction(worth, len(worths))
    return [name for name in sorted(scores, key=lambda one: -scores[one]) if scores[name]]


def _worth(term: str, tool: Told) -> int:
    """A hit counts double where it is the whole word, once where one begins with the other."""
    worth = 0
    for weight, words in tool.places:
        if term in words:
            worth += 2 * weight
        elif len(term) >= LEAST_PREFIX and _begins(term, words):
            worth += weight
    return worth


def _begins(term: str, words: frozenset[str]) -> bool:
    return any(word.startswith(term) or (len(word) >= LEAST_PREFIX and term.startswith(word)) for word in words)
