"""Regular expressions in schemas from clients: which are accepted, and what they cost to compile and to run."""

import re
from math import prod
from typing import Any

MAX_PATTERNS, MAX_PATTERN_LENGTH = 100, 512
MAX_READING = 20_000  # microseconds to compile all patterns of a schema
TOO_LONG = (
    "The patterns take too long to read: shorten them, count what repeats (\\d{4}, not \\d\\d\\d\\d), "
    "and write [0-9] for \\d or [ \\t] for \\s where that will do."
)

_COUNTED = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_FLAGS = re.compile(r"(?<!\\)(?:\\\\)*\(\?[a-zA-Z-]+[:)]")
_RESPELLED = re.compile(r"\\[dDwWcsS]")
_SPACE, _TABLE = re.compile(r"\\[sS]"), re.compile(r"\\[pP]")


def patterns_in(node: dict[str, Any]) -> list[str]:
    """Return the patterns that one subschema has itself."""
    named = node.get("patternProperties")
    found = list(named) if isinstance(named, dict) else []
    return [*found, node["pattern"]] if isinstance(node.get("pattern"), str) else found


def refusal_of(pattern: str) -> str | None:
    """Return why a pattern is refused, as far as its text shows, or None."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"A pattern is longer than {MAX_PATTERN_LENGTH} characters."
    if _FLAGS.search(pattern):
        return "A pattern sets flags, which ECMA-262 has not: leave (?i) out and write [Aa] for both cases."
    return None


def running_weight(pattern: str) -> float:
    """Return the cost of running a pattern per character, in units of one subschema.

    It grows with the states that a character can meet: about one for four letters, and as many as a repetition counts.
    """
    counts = [max(int(low), int(high or 1), 1) for low, high in _COUNTED.findall(pattern)]
    states = len(pattern) / 4 + (prod(counts) if "){" in pattern else sum(counts))
    return 2 + min(states, 400) / 4


def reading_weight(pattern: str) -> float:
    """Return roughly the microseconds that the engine needs at most to compile a pattern.

    The engine rewrites the classes of ECMA-262 one after the other and parses the whole pattern again for each one, and
    \\s becomes ten ranges. A Unicode class is a table. Flags are refused because of the cost of ignoring case:
    milliseconds for one wide class.
    """
    respelled = len(_RESPELLED.findall(pattern))
    spelled_out = len(pattern) + 10 * len(_SPACE.findall(pattern))
    return len(pattern) + respelled * spelled_out / 6 + 20 * len(_TABLE.findall(pattern))


def explaining_weight(pattern: str) -> float:
    """Return the cost of compiling a pattern to explain a failure, in subschemas of 5 µs."""
    return 10 * running_weight(pattern) + reading_weight(pattern) / 5
