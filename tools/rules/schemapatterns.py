"""Patterns in schemas from strangers: which are taken, and what one costs to read and to run."""

import re
from math import prod
from typing import Any

MAX_PATTERNS, MAX_PATTERN_LENGTH = 100, 512
MAX_READING = 20_000  # microseconds, of all patterns of a schema
TOO_LONG = (
    "The patterns take too long to read: shorten them, count what repeats (\\d{4}, not \\d\\d\\d\\d), "
    "and write [0-9] for \\d or [ \\t] for \\s where that will do."
)

_COUNTED = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_FLAGS = re.compile(r"(?<!\\)(?:\\\\)*\(\?[a-zA-Z-]+[:)]")
_RESPELLED = re.compile(r"\\[dDwWcsS]")
_SPACE, _TABLE = re.compile(r"\\[sS]"), re.compile(r"\\[pP]")


def patterns_in(node: dict[str, Any]) -> list[str]:
    """The patterns one subschema holds itself."""
    named = node.get("patternProperties")
    found = list(named) if isinstance(named, dict) else []
    return [*found, node["pattern"]] if isinstance(node.get("pattern"), str) else found


def refusal_of(pattern: str) -> str | None:
    """Why a pattern is not taken, as far as its text shows; None where it may be read."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"A pattern is longer than {MAX_PATTERN_LENGTH} characters."
    if _FLAGS.search(pattern):
        return "A pattern sets flags, which ECMA-262 has not: leave (?i) out and write [Aa] for both cases."
    return None


def running_weight(pattern: str) -> float:
    """What running it costs for each character, in units of one subschema.

    Grows with the states a character can meet: about one for four letters, and as many as a repetition counts.
    """
    counts = [max(int(low), int(high or 1), 1) for low, high in _COUNTED.findall(pattern)]
    states = len(pattern) / 4 + (prod(counts) if "){" in pattern else sum(counts))
    return 2 + min(states, 400) / 4


def reading_weight(pattern: str) -> float:
    """Microseconds the engine takes to read it, about and at most.

    It respells ECMA-262's classes one after the other and reads the whole pattern again for each, \\s in ten ranges; a class of
    Unicode is a table. (Flags are not taken for what ignoring case costs: milliseconds for one wide class.)
    """
    respelled = len(_RESPELLED.findall(pattern))
    spelled_out = len(pattern) + 10 * len(_SPACE.findall(pattern))
    return len(pattern) + respelled * spelled_out / 6 + 20 * len(_TABLE.findall(pattern))


def explaining_weight(pattern: str) -> float:
    """What reading it counts where subschemas are read one by one to explain a document: a subschema of 5 microseconds is 1."""
    return 10 * running_weight(pattern) + reading_weight(pattern) / 5
