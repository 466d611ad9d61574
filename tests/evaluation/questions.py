"""Everyday questions and the tools that answer them, written by testers that had not seen the phrases of the registry.

Phrases, synonyms and weights are tuned on the first half only, which is also part of the examples in
tools/discovery/examples.tsv. The second half is the figure: none of its questions is an example.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROWS = Path(__file__).with_name("questions.tsv").read_text("utf-8").splitlines()
FIRST, BEST = 1, 3


class Question(NamedTuple):
    """A question, and the tools of which one should be offered."""

    text: str
    tools: frozenset[str]


class Hits(NamedTuple):
    """The shares of the questions whose tool came first, and was among the best three."""

    first: float
    best: float


def questions() -> tuple[list[Question], list[Question]]:
    """Return the half for tuning and the half for the figure."""
    rows = [row.split("\t") for row in ROWS]
    every = [Question(text, frozenset(tools.split(","))) for text, tools in rows]
    return every[::2], every[1::2]


def measure(asked: Sequence[Question], find: Callable[[str], Sequence[str]]) -> Hits:
    """Ask a search all questions; return the shares of hits."""
    found = [(one, find(one.text)) for one in asked]
    first, best = (sum(not one.tools.isdisjoint(names[:most]) for one, names in found) for most in (FIRST, BEST))
    return Hits(first / len(asked), best / len(asked))
