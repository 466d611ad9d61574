"""Clauses: which words of a text mean something to screening, and which of them stand together as an attack puts them.

A text becomes a list of plain words; a word or a row of words of the vocabulary leaves a mark; a rule looks for marks near to one
another. Word order and endings therefore matter little, and every step is bounded: linear time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tools.rules.plaintext import FIRST_WIDE, known_word, read, words

Vocabulary = Mapping[str, Mapping[str, str]]  # what is meant: language: its words, with bars between them
_CLITICS = frozenset("وفبلكالושמהלבכ")  # letters Arabic and Hebrew write before a word


@dataclass(frozen=True, slots=True)
class Near:
    """One of `kinds` (a list with bars) at most `before` words ahead of a place or `after` words behind it; -1: not even in it.

    `alone`: also one that is a clause by itself, as the heading "Instructions:" is.
    """

    kinds: str
    before: int
    after: int
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A text earns `code` where `anchor` is said and, in its sentence, all of `near`; `unless` looks around all of that."""

    code: str
    anchor: str
    near: tuple[Near, ...] = ()
    unless: tuple[Near, ...] = ()
    across: bool = False  # sentences


@dataclass(slots=True)
class _Step:
    """A place in the tree of known words: what it means to come here, and the words that lead on."""

    kinds: list[str] = field(default_factory=list)
    words: dict[str, "_Step"] = field(default_factory=dict)
    opened: dict[str, list[tuple[str, "_Step"]]] = field(default_factory=dict)  # "word*", by its first three letters

    def towards(self, word: str) -> "_Step":
        """The step after a word of the vocabulary, made where there is none."""
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
        """The steps a word of a text leads to."""
        found = [step for bare, step in self.opened.get(word[:3], ()) if word.startswith(bare)]
        if word in self.words:
            found.append(self.words[word])
        return found


@dataclass(slots=True)
class _Said:
    """The marks of a text: of each kind the first and last place, in order."""

    marks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)  # places of words that begin a sentence
    breaks: list[int] = field(default_factory=list)  # ... that follow a comma or a colon


class Clauses:
    """The rules with the words they are made of."""

    def __init__(self, vocabularies: Iterable[Vocabulary], rules: Iterable[Rule]) -> None:
        self._root = _Step()
        self._rules = [(rule, [near.kinds.split("|") for near in rule.near]) for rule in rules]
        self._parts: dict[str, set[str]] = {}
        for vocabulary in vocabularies:
            for kind, languages in vocabulary.items():
                for text in languages.values():
                    for phrase in text.split("|"):
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
        """The codes of a text in its folded form."""
        said = self._marked(read(folded, self._parts))
        found: set[str] = set()
        for rule, needed in self._rules:
            if rule.code in found or rule.anchor not in said.marks:
                continue
            if all(any(kind in said.marks for kind in kinds) for kinds in needed) and _earned(rule, said):
                found.add(rule.code)
        return found

    def _marked(self, text: list[str]) -> _Said:
        said = _Said()
        spoken, said.ends, said.breaks = words(text)
        known, opened = self._root.words, self._root.opened
        for place, (word, following) in enumerate(zip(spoken, [*spoken[1:], " "], strict=False)):
            step = known.get(word)
            if word >= FIRST_WIDE:  # a character, never the beginning of a longer word
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

    def _mark_without_clitics(self, said: _Said, spoken: list[str], place: int) -> None:
        for bare in _without_clitics(spoken[place]):
            if bare in self._root.words or bare[:3] in self._root.opened:
                for step in self._root.after(bare):
                    _mark(said, step, spoken, place, place + 1)


def _mark(said: _Said, step: _Step, spoken: list[str], place: int, end: int) -> None:
    """Leave a mark for what is known to begin at `place` and reaches to `end`, and for what goes on from there."""
    for kind in step.kinds:
        said.marks.setdefault(kind, []).append((place, end - 1))
    if end == len(spoken) or not (step.words or step.opened):
        return
    word = spoken[end]
    if word in step.words:
        _mark(said, step.words[word], spoken, place, end + 1)
    if step.opened:
        for bare, further in step.opened.get(word[:3], ()):
            if word.startswith(bare):
                _mark(said, further, spoken, place, end + 1)
    if word[0] in _CLITICS:
        for bare_word in _without_clitics(word):
            for further in step.after(bare_word):
                _mark(said, further, spoken, place, end + 1)


@lru_cache(4096)
def _without_clitics(word: str) -> list[str]:
    found = []
    for length in range(1, min(5, len(word) - 2)):
        if word[length - 1] not in _CLITICS:
            break
        found.append(word[length:])
    return found


def _earned(rule: Rule, said: _Said) -> bool:
    return any(_holds(rule, anchor, said) for anchor in said.marks[rule.anchor])


def _holds(rule: Rule, anchor: tuple[int, int], said: _Said) -> bool:
    used = [anchor]
    for near in rule.near:
        found = _nearest(near, anchor, said, rule.across)
        if found is None:
            return False
        used.append(found)
    return not any(_vetoed(near, used, said) for near in rule.unless)


def _nearest(near: Near, anchor: tuple[int, int], said: _Said, across: bool) -> tuple[int, int] | None:
    """The mark closest to the anchor."""
    first, last = anchor
    closest, distance = None, near.before + near.after + 1
    for mark in _marks(said, near.kinds.split("|"), first - near.before - 5, last + near.after):
        away = max(first - mark[1], mark[0] - last, 0)
        allowed = near.before if mark[1] < first else near.after
        if away > allowed or away >= distance or (not near.alone and _is_heading(mark, said)):
            continue
        if across or _together(said.ends, mark[0], first):
            closest, distance = mark, away
    return closest


def _is_heading(mark: tuple[int, int], said: _Said) -> bool:
    """Whether a mark is all that stands between the beginning of a sentence and a comma or a colon."""
    first, last = mark
    begins = not first or said.ends[bisect_left(said.ends, first) :][:1] == [first]
    return begins and said.breaks[bisect_left(said.breaks, last + 1) :][:1] == [last + 1]


def _vetoed(near: Near, used: list[tuple[int, int]], said: _Said) -> bool:
    """Whether a mark stands from `before` words ahead of all that is used to `after` behind it, in the anchor's sentence.

    Not counted: what is part of that, or of a refusal that is none; a "~kind" is cut off by a comma.
    """
    anchor = used[0][0]
    low, high = min(used)[0], max(last for _, last in used)
    for named in near.kinds.split("|"):
        borders = [said.ends, said.breaks] if named.startswith("~") else [said.ends]
        last_place = low - 1 if near.after < 0 else high + near.after
        for mark in _marks(said, [named.lstrip("~")], low - near.before, last_place):
            if all(_together(border, mark[0], anchor) for border in borders) and not _is_part(mark, used, said):
                return True
    return False


def _is_part(mark: tuple[int, int], used: list[tuple[int, int]], said: _Said) -> bool:
    anchor = used[0][0]
    none = [still for still in _marks(said, ["still"], mark[0] - 4, mark[0]) if not still[0] <= anchor <= still[1]]
    return any(first <= mark[0] and mark[1] <= last for first, last in [*used, *none])


def _marks(said: _Said, kinds: list[str], low: int, high: int) -> Iterator[tuple[int, int]]:
    """The marks of some kinds that begin between two places."""
    for kind in kinds:
        marks = said.marks.get(kind)
        if marks:
            yield from marks[bisect_left(marks, (low, 0)) : bisect_right(marks, (high, 1 << 30))]


def _together(borders: list[int], one: int, other: int) -> bool:
    return bisect_right(borders, one) == bisect_right(borders, other)
