"""Labelled texts to measure screening with: the rules were made with `known`; `held_out` was written without them.

Do not read held_out.jsonl if you write rules: look only at its sums. All credentials in both are invented.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.screening.rules import REFUSED, Code, warnings

HALVES = ("known", "held_out")
MENTIONS = frozenset({Code.SYSTEM_PROMPT_REFERENCE, Code.CREDENTIAL_MENTION})  # codes of a topic, not alarms


@dataclass(frozen=True, slots=True)
class Labelled:
    id: str
    label: Literal["attack", "ordinary"]
    kind: str | None
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """Numbers of texts: all, with an alarm, with their kind's code, refused, with any code."""

    texts: int
    alarms: int
    exact: int
    refused: int
    any_code: int

    @property
    def rate(self) -> float:
        return self.alarms / self.texts


def texts(half: str) -> list[Labelled]:
    lines = (Path(__file__).parent / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Labelled(**json.loads(line)) for line in lines]


def score(some: Iterable[Labelled]) -> Score:
    counted: Counter[str] = Counter()
    for one in some:
        codes = set(warnings(one.text))
        counted["texts"] += 1
        counted["alarms"] += bool(codes - MENTIONS)
        counted["exact"] += one.kind in codes
        counted["refused"] += bool(codes & REFUSED)
        counted["any_code"] += bool(codes)
    return Score(**{name: counted[name] for name in ("texts", "alarms", "exact", "refused", "any_code")})


def labelled(half: str, label: str) -> list[Labelled]:
    return [one for one in texts(half) if one.label == label]


def report(half: str) -> Iterator[str]:
    """Yield the sums of a half, then attacks by kind, then both labels by language; no text."""
    attacks, ordinary = labelled(half, "attack"), labelled(half, "ordinary")
    found, alarmed = score(attacks), score(ordinary)
    yield f"{half}: {found.texts} attacks, {alarmed.texts} ordinary texts"
    yield f"  recall {found.rate:.1%} (with the code of their kind {found.exact / found.texts:.1%}, refused in public {found.refused / found.texts:.1%})"
    yield f"  false alarms {alarmed.rate:.1%} (refused in public {alarmed.refused / alarmed.texts:.1%}, any code {alarmed.any_code / alarmed.texts:.1%})"
    yield from _lines("attacks by kind", attacks, lambda one: str(one.kind))
    yield from _lines("attacks by language", attacks, lambda one: one.language)
    yield from _lines("ordinary texts by language", ordinary, lambda one: one.language)


def _lines(heading: str, some: list[Labelled], key: Callable[[Labelled], str]) -> Iterator[str]:
    yield f"  {heading} (alarms of texts)"
    for name, _ in Counter(map(key, some)).most_common():
        part = score(one for one in some if key(one) == name)
        yield f"    {name:22} {part.alarms:3} of {part.texts}"
