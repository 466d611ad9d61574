"""Screening by clauses: finds words near one another in a text that together are typical of an attack.

A text becomes a list of plain words. A word or a phrase of the vocabulary leaves a mark. A rule looks for marks near
one another, so word order and endings matter little. Every step is bounded, so the time is linear.
"""

import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path

from tools.screening.visible_text import FIRST_WIDE, known_word, read, words

Vocabulary = Mapping[str, Mapping[str, Sequence[str]]]  # kind of mark: language: words and phrases
VOCABULARIES = Path(__file__).with_name("vocabularies")
_CLITICS = frozenset("وفبلكالושמהלבכ")  # prefixes that Arabic and Hebrew write together with a word


@dataclass(frozen=True, slots=True)
class Near:
    """One of `kinds` (separated by bars), at most `before` words ahead or `after` behind.

    If `after` is -1, only marks that begin ahead count. `alone` also accepts a mark that is a clause by itself, as in
    the heading "Instructions:".
    """

    kinds: str
    before: int
    after: int
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A screening rule: `anchor` with all of `near` in its sentence earns the text `code`.

    A mark of `unless` around all of these prevents it.
    """

    code: str
    anchor: str
    near: tuple[Near, ...] = ()
    unless: tuple[Near, ...] = ()
    across: bool = False  # `near` may be in another sentence


@dataclass(slots=True)
class _Step:
    """A node in the tree of known words: the kinds it completes, and the words that follow."""

    kinds: list[str] = field(default_factory=list)
    words: dict[str, "_Step"] = field(default_factory=dict)
    opened: dict[str, list[tuple[str, "_Step"]]] = field(default_factory=dict)  # "word*", by the first three letters

    def towards(self, word: str) -> "_Step":
        """Return the node after a word of the vocabulary; create it if it is missing."""
        if not word.endswith("*"):
            return self.words.setdefault(word, _Step())
        bare = word[:-1]
        listed = self.opened.setdefault(bare[:3], [])
        for known, step in listed:
            if known == bare:
                return step
        listed.append((bare, _Step()))
        return listed[-1][1]

    def after(self, word: str) -> list["_Step"]:
        """Return the nodes to which a word of a text leads."""
        found = [step for bare, step in self.opened.get(word[:3], ()) if word.startswith(bare)]
        if word in self.words:
            found.append(self.words[word])
        return found


@dataclass(slots=True)
class TextMarks:
    """The marks of a text: for each kind the first and last word of each mark, in order."""

    marks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)  # indexes of words that begin a sentence
    breaks: list[int] = field(default_factory=list)  # indexes of words that follow a comma or a colon

    def within(self, kind: str, low: int, high: int) -> list[tuple[int, int]]:
        """Return the marks of a kind that begin between two places."""
        found = self.marks.get(kind, [])
        return found[bisect_left(found, (low, 0)) : bisect_right(found, (high, 1 << 30))]

    def same_sentence(self, one: int, other: int) -> bool:
        """Check whether two places lie in one sentence."""
        return _together(self.ends, one, other)


def vocabulary(name: str) -> Vocabulary:
    """Read the words of one data file."""
    return tomllib.loads((VOCABULARIES / f"{name}.toml").read_text(encoding="utf-8"))


class Clauses:
    """The rules with their vocabulary, ready to screen texts."""

    def __init__(self, vocabularies: Iterable[Vocabulary], rules: Iterable[Rule]) -> None:
        self._root = _Step()
        self._rules = [(rule, [near.kinds.split("|") for near in rule.near]) for rule in rules]
        self._parts: dict[str, set[str]] = {}
        for vocabulary in vocabularies:
            for kind, languages in vocabulary.items():
                for phrase in chain.from_iterable(languages.values()):
                    self._learn(kind, known_word(phrase))

    def _learn(self, kind: str, phrase: tuple[str, ...]) -> None:
        step = self._root
        for word in phrase:
            step = step.towards(word)
            self._parts.setdefault(word[:3], set()).add(word.rstrip("*"))
        assert len(phrase[0].rstrip("*")) > 2 or not phrase[0].endswith("*"), f"{phrase} is too open"
        if kind not in step.kinds:
            step.kinds.append(kind)

    def codes(self, folded: str) -> set[str]:
        """Return the codes that a folded text earns."""
        said = self.marks_of(folded)
        found: set[str] = set()
        for rule, needed in self._rules:
            if rule.code in found or rule.anchor not in said.marks:
                continue
            if all(any(kind in said.marks for kind in kinds) for kinds in needed) and _earned(rule, said):
                found.add(rule.code)
        return found

    def marks_of(self, folded: str) -> TextMarks:
        """Return the marks of a folded text."""
        return self._marked(read(folded, self._parts))

    def _marked(self, text: list[str]) -> TextMarks:
        said = TextMarks()
        spoken, said.ends, said.breaks = words(text)
        known, opened = self._root.words, self._root.opened
        for place, (word, following) in enumerate(zip(spoken, [*spoken[1:], " "], strict=False)):
            step = known.get(word)
            if word >= FIRST_WIDE:  # one character of a script without spaces never begins a longer word
                if step and (step.kinds or following in step.words):
                    _mark(said, step, spoken, place, place + 1)
                continue
            if step and (step.kinds or step.opened or following in step.words or following[0] in _CLITICS):
                _mark(said, step, spoken, place, place + 1)
            for bare, step in opened.get(word[:3], ()):
                if word.startswith(bare):
                    _mark(said, step, spoken, place, place + 1)
            if word[0] in _CLITICS:
                self._mark_without_clitics(said, spoken, place)
        return said

    def _mark_without_clitics(self, marks: TextMarks, spoken: list[str], place: int) -> None:
        for bare in _without_clitics(spoken[place]):
            if bare in self._root.words or bare[:3] in self._root.opened:
                for step in self._root.after(bare):
                    _mark(marks, step, spoken, place, place + 1)


def _mark(marks: TextMarks, step: _Step, spoken: list[str], place: int, end: int) -> None:
    """Mark the known phrase from `place` to `end`, and every longer one that continues it."""
    for kind in step.kinds:
        marks.marks.setdefault(kind, []).append((place, end - 1))
    if end == len(spoken) or not (step.words or step.opened):
        return
    word = spoken[end]
    if word in step.words:
        _mark(marks, step.words[word], spoken, place, end + 1)
    if step.opened:
        for bare, further in step.opened.get(word[:3], ()):
            if word.startswith(bare):
                _mark(marks, further, spoken, place, end + 1)
    if word[0] in _CLITICS:
        for bare_word in _without_clitics(word):
            for further in step.after(bare_word):
                _mark(marks, further, spoken, place, end + 1)


@lru_cache(4096)
def _without_clitics(word: str) -> list[str]:
    found = []
    for length in range(1, min(5, len(word) - 2)):
        if word[length - 1] not in _CLITICS:
            break
        found.append(word[length:])
    return found


def _earned(rule: Rule, marks: TextMarks) -> bool:
    return any(_holds(rule, anchor, marks) for anchor in marks.marks[rule.anchor])


def _holds(rule: Rule, anchor: tuple[int, int], marks: TextMarks) -> bool:
    used = [anchor]
    for near in rule.near:
        found = _nearest(near, anchor, marks, rule.across)
        if found is None:
            return False
        used.append(found)
    return not any(_vetoed(near, used, marks) for near in rule.unless)


def _nearest(near: Near, anchor: tuple[int, int], marks: TextMarks, across: bool) -> tuple[int, int] | None:
    """Return the mark closest to the anchor."""
    first, last = anchor
    closest, distance = None, near.before + near.after + 1
    found = (marks.within(kind, first - near.before - 5, last + near.after) for kind in near.kinds.split("|"))
    for mark in chain.from_iterable(found):
        away = max(first - mark[1], mark[0] - last, 0)
        allowed = near.before if mark[1] < first else near.after
        if away > allowed or away >= distance or (not near.alone and _is_heading(mark, marks)):
            continue
        if across or marks.same_sentence(mark[0], first):
            closest, distance = mark, away
    return closest


def _is_heading(mark: tuple[int, int], marks: TextMarks) -> bool:
    """Check whether only this mark is between the start of a sentence and a comma or colon."""
    first, last = mark
    begins = not first or marks.ends[bisect_left(marks.ends, first) :][:1] == [first]
    return begins and marks.breaks[bisect_left(marks.breaks, last + 1) :][:1] == [last + 1]


def _vetoed(near: Near, used: list[tuple[int, int]], marks: TextMarks) -> bool:
    """Check whether a mark of `near` is close enough to veto a rule, in the anchor's sentence.

    It may begin from `before` words ahead of all used marks to `after` words behind them. Parts of used marks do not
    count. Neither do parts of a phrase that only looks like a refusal, such as "do not hesitate". A comma ends the
    reach of a "~kind".
    """
    anchor = used[0][0]
    low, high = min(used)[0], max(last for _, last in used)
    for named in near.kinds.split("|"):
        borders = [marks.ends, marks.breaks] if named.startswith("~") else [marks.ends]
        last_place = low - 1 if near.after < 0 else high + near.after
        for mark in marks.within(named.lstrip("~"), low - near.before, last_place):
            if all(_together(border, mark[0], anchor) for border in borders) and not _is_part(mark, used, marks):
                return True
    return False


def _is_part(mark: tuple[int, int], used: list[tuple[int, int]], marks: TextMarks) -> bool:
    anchor = used[0][0]
    none = [still for still in marks.within("still", mark[0] - 4, mark[0]) if not still[0] <= anchor <= still[1]]
    return any(first <= mark[0] and mark[1] <= last for first, last in [*used, *none])


def _together(borders: list[int], one: int, other: int) -> bool:
    return bisect_right(borders, one) == bisect_right(borders, other)
