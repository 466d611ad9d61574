"""Search for operations by everyday words: phrases count most, then names, then descriptions.

The phrases of phrases.toml say what a caller wants in the words of a caller that does not know the names. A phrase
counts by the share of its words in the question, and by the share of the question's words in it; a rare word counts
more than a common one (inverse document frequency). Synonyms count as one word (vocabulary.toml).
"""

import difflib
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import snowballstemmer

from tools.kernel.search_terms import index_terms

QUESTION = 0.35  # the worth of the share of the question's words in a phrase; the other share is worth the rest
ALL_PHRASES, SUMMARY, DESCRIPTION = 1.0, 0.3, 0.15  # the worth of a question whose words are all there
MIN_SCORE = 0.35  # below it a tool has nothing to do with the question
MIN_SHARE = 0.6  # of the words of a destructive tool's phrase: with fewer in the question it does not come first


@dataclass(frozen=True, slots=True)
class Searchable:
    """The stemmed words of an operation."""

    name: str
    destructive: bool
    phrases: tuple[frozenset[str], ...]  # its name is one
    texts: tuple[tuple[float, frozenset[str]], ...]  # with what a question is worth whose words are all in the text


class ToolSearch:
    """An index of operations in memory."""

    def __init__(self, tools: Iterable[Searchable]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        known = Counter(word for tool in self._tools.values() for word in frozenset().union(*tool.phrases))
        self._weights = {word: log(1 + len(self._tools) / count) for word, count in known.items()}
        self._rarest = log(1 + len(self._tools))

    def find(self, question: str) -> list[str]:
        """Return the names of the operations for a question, the best first; none if nothing fits.

        A destructive operation comes first only if the question is one of its own phrases or its name.
        """
        asked, exact = words(question), question.strip()
        ranked = self._ranked(asked)
        leading = (name for name in ranked if self._may_lead(name, asked))
        first = exact if exact in self._tools else next(leading, None)
        return [] if first is None else [first, *(name for name in ranked if name != first)]

    def _ranked(self, asked: frozenset[str]) -> list[str]:
        scores = {name: self._phrase(asked, tool) + self._texts(asked, tool) for name, tool in self._tools.items()}
        return sorted((name for name, score in scores.items() if score >= MIN_SCORE), key=lambda name: -scores[name])

    def _may_lead(self, name: str, asked: frozenset[str]) -> bool:
        tool = self._tools[name]
        longer = [phrase for phrase in tool.phrases if len(phrase) > 1]  # "delete" alone asks for nothing certain
        return not tool.destructive or any(len(asked & phrase) >= MIN_SHARE * len(phrase) for phrase in longer)

    def _phrase(self, asked: frozenset[str], tool: Searchable) -> float:
        """Return the similarity of the question and the nearest phrase, 0 to 1."""
        return max(self._similarity(asked, phrase) for phrase in tool.phrases)

    def _similarity(self, asked: frozenset[str], phrase: frozenset[str]) -> float:
        shared = self._weight(asked & phrase)
        if not shared:
            return 0.0
        return QUESTION * shared / self._weight(asked) + (1 - QUESTION) * shared / self._weight(phrase)

    def _texts(self, asked: frozenset[str], tool: Searchable) -> float:
        whole = self._weight(asked)
        return sum(worth * self._weight(asked & found) / whole for worth, found in tool.texts) if whole else 0.0

    def _weight(self, some: frozenset[str]) -> float:
        return sum(self._weights.get(word, self._rarest) for word in some)


def searchable(name: str, summary: str, description: str, *, destructive: bool) -> Searchable:
    """Return an operation as the index takes it."""
    said = (name.replace("_", " "), *phrases().get(name, ()))
    texts = ((ALL_PHRASES, words(" ".join(said))), (SUMMARY, words(summary)), (DESCRIPTION, words(description)))
    return Searchable(name, destructive, tuple(map(words, said)), texts)


@cache
def phrases() -> dict[str, Sequence[str]]:
    """Return the everyday phrases of each operation."""
    return _table("phrases.toml")


@cache
def synonyms() -> dict[str, str]:
    """Return the stem by which the stem of each synonym is replaced."""
    return {stem(word): stem(one) for one, same in _table("vocabulary.toml")["synonyms"].items() for word in same}


@cache
def stop_words() -> frozenset[str]:
    """Return the words that say nothing about the purpose of a question."""
    return frozenset(_table("vocabulary.toml")["stop_words"])


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


def words(text: str) -> frozenset[str]:
    """Return the stems of a text's words without stop words; with them if there is nothing else."""
    terms = index_terms(text, "", (), "")
    telling = [term for term in terms if term not in stop_words()]
    stems = map(stem, telling or terms)
    return frozenset(synonyms().get(one, one) for one in stems)


@cache
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")


def stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the name most like an unknown one, or one with all its words, or None."""
    name = name[:64]
    alike, parts = difflib.get_close_matches(name, names, n=1), {*name.split("_")}
    return alike[0] if alike else next((one for one in names if parts <= {*one.split("_")}), None)
