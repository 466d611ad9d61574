"""Search for operations by everyday words, with the statistics of their phrases and of example questions.

1. A question becomes terms: identifiers are dropped, expressions are replaced, words are stemmed, synonyms count as one
   (vocabulary.toml), and a word that nobody knows counts as a known one that differs by one letter.
2. A term speaks for an operation if it is more frequent in the operation's texts than in all others. Texts of
   operations with a similar verb or in the same toolset count a little too, so that "get rid of" speaks for each
   deletion.
3. The nearest phrase (phrases.toml) or example (examples.tsv) counts by its cosine similarity, with rare terms as weights.
4. A naive Bayes classifier (naive_bayes.py) that learns from phrases and examples compares words, pairs of words and
   parts of words, so that "cancelling" and "cancelation" are alike.
5. Names are verb_noun: an operation gains if the question has its kind of verb and its noun, and loses otherwise.
   Plural nouns speak for lists, and questions such as "is my ..." for operations that only read.
"""

import difflib
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import fsum, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import snowballstemmer

from tools.discovery.naive_bayes import NaiveBayes
from tools.kernel.search_terms import fold

PHRASE, NAME, EXAMPLE, SUMMARY, DESCRIPTION = 1.0, 1.0, 0.3, 0.5, 0.2  # how much one occurrence of a term counts there
LENGTH = 0.5  # how far a long text dilutes its terms: 0 not at all, 1 fully
VERB_FAMILY, TOOLSET = 0.3, 0.2  # the worth of a term's share in the texts of related operations
COMMON = 0.3  # the worth of a term's share in all texts, against which the others are compared
SAME_PHRASE, SAME_PAIRS = 5.0, 3.5  # the worth of a question that is a phrase, and of pairs of words from phrases
LIKELIHOOD = 0.7  # the worth of the classifier's log likelihood
SAME_VERB, SAME_NOUN, OTHER_NOUN = 0.7, 0.4, -0.3
LIST_OF_PLURAL, LIST_OF_SINGULAR, LIST_OF_MINE = 1.3, -1.6, 1.2
READS_IF_ASKED = 4.6
# With fewer a question is about something else: of its terms in one operation's texts, of its features in any text.
MIN_COVERED, MIN_KNOWN = 0.35, 0.7
MIN_ASKED = 0.65  # of a question's terms besides the verb in one phrase: with fewer a deletion does not come first
MIN_MARGIN = 6.0  # of a deletion's log likelihood above that of any harmless operation, for the deletion to come first
MIN_TYPO_LETTERS = 5
PART_LETTERS = 4  # of the parts of words that the classifier compares
MAX_WORDS = 40
IDENTIFIER = re.compile(
    r"\b[a-z]+_\w*\d\w*|@\w+|\b\w+\.(?:com|org|net|io)\b|\b\d+\b"
)  # an identifier does not tell what the caller wants


class Spoken(NamedTuple):
    """A question or a phrase: its terms, and what its form asks for."""

    terms: tuple[str, ...]
    verbs: frozenset[str]  # families of verbs
    has_plural: bool
    is_mine: bool  # "my jobs"
    asks: bool  # "is it", "which ones"
    features: frozenset[str]  # for the classifier


@dataclass(frozen=True, slots=True)
class Searchable:
    """The texts of an operation as the index takes them."""

    name: str
    toolset: str
    safe: bool
    destructive: bool
    verb: str  # the family of its verb
    nouns: frozenset[str]  # of its name
    phrases: tuple[frozenset[str], ...]  # the terms of each way to say it; its name is one
    examples: tuple[frozenset[str], ...]  # the terms of each question that it answers
    pairs: frozenset[tuple[str, str]]  # of neighbours in phrases and examples
    counts: Mapping[str, float]  # how often a term occurs, by the worth of the text
    learned: tuple[frozenset[str], ...]  # the features of each phrase and example

    @property
    def lists(self) -> bool:
        return self.name.startswith(("list_", "search_"))


class ToolSearch:
    """An index of operations in memory."""

    def __init__(self, tools: Iterable[Searchable]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._nouns = frozenset().union(*(tool.nouns for tool in self._tools.values()))
        known = Counter(term for tool in self._tools.values() for term in tool.counts)
        self._rarity = {term: log(1 + len(self._tools) / count) for term, count in known.items()}
        self._gains = _gains(self._tools.values())
        self._texts = [(tool.name, text) for tool in self._tools.values() for text in (*tool.phrases, *tool.examples)]
        self._classifier = NaiveBayes((some, tool.name) for tool in self._tools.values() for some in tool.learned)
        self._norms = [sqrt(self._rare(text)) for _, text in self._texts]
        self._with_term: dict[str, list[int]] = defaultdict(list)
        for at, (_, text) in enumerate(self._texts):
            for term in text:
                self._with_term[term].append(at)

    def find(self, question: str) -> list[str]:
        """Return the names of the operations for a question, the best first; none if nothing fits.

        A destructive operation comes first only if the question has its verb and its noun, or most of one of its phrases,
        or if the classifier finds it far more likely than any operation that is not destructive.
        """
        exact, asked = question.strip(), spoken(question)
        if exact in self._tools:
            asked = spoken(exact.replace("_", " "))
        ranked = self._ranked(asked)
        first = exact if exact in self._tools else next((name for name in ranked if self._may_lead(name, asked)), None)
        return [] if first is None else [first, *(name for name in ranked if name != first)]

    def _ranked(self, asked: Spoken) -> list[str]:
        some = frozenset(asked.terms)
        shared = {name: self._rare(some & tool.counts.keys()) for name, tool in self._tools.items()}
        known = self._classifier.share_known(asked.features)
        if max(shared.values()) < MIN_COVERED * self._rare(some) or known < MIN_KNOWN:
            return []
        nearest, likely = self._nearest_texts(asked.terms), self._classifier.log_likelihoods(asked.features)
        scores = {
            name: SAME_PHRASE * nearest[name] + LIKELIHOOD * likely[name] + self._score(name, asked)
            for name, weight in shared.items()
            if weight
        }
        return sorted(scores, key=lambda name: -scores[name])

    def _score(self, name: str, asked: Spoken) -> float:
        tool = self._tools[name]
        score = sum(self._gains[term].get(name, 0.0) for term in asked.terms if term in self._gains)
        score += SAME_PAIRS * len(tool.pairs.intersection(pairwise(asked.terms))) / len(asked.terms)
        return score + self._form(tool, asked)

    def _nearest_texts(self, some: Sequence[str]) -> Mapping[str, float]:
        """Return by operation the cosine similarity of its nearest phrase or example."""
        shared: dict[int, float] = defaultdict(float)
        for term in some:
            for at in self._with_term.get(term, ()):
                shared[at] += self._rarity[term]
        norm, nearest = sqrt(self._rare(some)), defaultdict[str, float](float)
        for at, rare in shared.items():
            name = self._texts[at][0]
            nearest[name] = max(nearest[name], rare / (norm * self._norms[at]))
        return nearest

    def _form(self, tool: Searchable, asked: Spoken) -> float:
        """Return the worth of an agreement in verb, noun, number and kind of sentence."""
        nouns = self._nouns.intersection(asked.terms)
        same = nouns & tool.nouns
        score = SAME_VERB if tool.verb in asked.verbs else 0.0
        score += SAME_NOUN if same and same == tool.nouns else OTHER_NOUN if nouns and not same else 0.0
        if tool.lists:
            score += LIST_OF_MINE if asked.is_mine else 0.0
            score += (LIST_OF_PLURAL if asked.has_plural else LIST_OF_SINGULAR) if same else 0.0
        return score + (READS_IF_ASKED if asked.asks and tool.safe else 0.0)

    def _may_lead(self, name: str, asked: Spoken) -> bool:
        tool, some = self._tools[name], frozenset(asked.terms)
        asks_by_name = tool.verb in asked.verbs and self._nouns.intersection(some) == tool.nouns
        if asks_by_name or not tool.destructive:
            return True
        likely = self._classifier.log_likelihoods(asked.features)
        harmless = (value for other, value in likely.items() if not self._tools[other].destructive)
        if likely[name] - max(harmless) >= MIN_MARGIN:
            return True
        families = vocabulary().families
        telling = frozenset(term for term in some if tool.verb not in families.get(term, ()))
        shared = (telling & phrase for phrase in tool.phrases if telling & phrase)
        return any(self._rare(same) >= MIN_ASKED * self._rare(telling) for same in shared)

    def _rare(self, some: Iterable[str]) -> float:
        rarest = log(1 + len(self._tools))
        return fsum(self._rarity.get(term, rarest) for term in some)  # the same sum in any order


def _gains(tools: Collection[Searchable]) -> dict[str, dict[str, float]]:
    """Return by term and operation how much the term speaks for the operation."""
    lengths = {tool.name: fsum(tool.counts.values()) for tool in tools}
    average = sum(lengths.values()) / len(lengths)
    families, sets, common = defaultdict(list), defaultdict(list), [tool.counts for tool in tools]
    for tool in tools:
        families[tool.verb].append(tool.counts)
        sets[tool.toolset].append(tool.counts)
    by_family = {name: _shares(texts) for name, texts in families.items()}
    by_set = {name: _shares(texts) for name, texts in sets.items()}
    gains: dict[str, dict[str, float]] = {}
    for term, share in _shares(common).items():
        gains[term] = {
            tool.name: log(
                1
                + (
                    tool.counts.get(term, 0.0) / (LENGTH * lengths[tool.name] + (1 - LENGTH) * average)
                    + VERB_FAMILY * by_family[tool.verb].get(term, 0.0)
                    + TOOLSET * by_set[tool.toolset].get(term, 0.0)
                )
                / (COMMON * share)
            )
            for tool in tools
        }
    return gains


def _shares(texts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the average share of each term in some texts."""
    every = list(texts)
    shares: dict[str, float] = defaultdict(float)
    for counts in every:
        whole = fsum(counts.values())
        for term, count in counts.items():
            shares[term] += count / whole / len(every)
    return dict(shares)


def searchable(name: str, summary: str, description: str, *, toolset: str, safe: bool, destructive: bool) -> Searchable:
    """Return an operation as the index takes it."""
    said = [way for phrase in (name.replace("_", " "), *phrases().get(name, ())) for way in phrase.split(";")]
    asked = example_questions().get(name, ())
    ways, examples = [terms(way) for way in said], [terms(question) for question in asked]
    counts: dict[str, float] = defaultdict(float)
    weighed = [(NAME, ways[0]), *((PHRASE, way) for way in ways[1:]), *((EXAMPLE, way) for way in examples)]
    for worth, found in (*weighed, (SUMMARY, terms(summary)), (DESCRIPTION, terms(description))):
        for term in frozenset(found):
            counts[term] += worth
    first, *rest = name.split("_")
    family = next((family for family, row in vocabulary().verbs.items() if first in row["names"]), None)
    nouns = frozenset(terms(" ".join(rest if family else (first, *rest)))) - {"my"}
    pairs = frozenset(pair for way in (*ways, *examples) for pair in pairwise(way))
    return Searchable(
        name=name,
        toolset=toolset,
        safe=safe,
        destructive=destructive,
        verb=family or first,
        nouns=nouns,
        phrases=tuple(map(frozenset, ways)),
        examples=tuple(map(frozenset, examples)),
        pairs=pairs,
        counts=dict(counts),
        learned=tuple(_features(_words(text)) for text in (*said, *asked)),
    )


class Vocabulary(NamedTuple):
    """The words of vocabulary.toml, most by their stems."""

    stop_words: frozenset[str]
    question_words: frozenset[str]
    expressions: Mapping[str, list[tuple[list[str], list[str]]]]  # by the first word
    synonyms: Mapping[str, str]
    verbs: Mapping[str, Mapping[str, Collection[str]]]
    families: Mapping[str, frozenset[str]]  # of a verb's term


@cache
def vocabulary() -> Vocabulary:
    """Return the words with a particular meaning for the search."""
    table = _table("vocabulary.toml")
    expressions: dict[str, list[tuple[list[str], list[str]]]] = defaultdict(list)
    for words, meant in table["expressions"].items():
        expressions[words.split()[0]].append((words.split(), meant.split()))
    synonyms = {stem(word): stem(one) for one, same in table["synonyms"].items() for word in same}
    families: dict[str, set[str]] = defaultdict(set)
    for family, row in table["verbs"].items():
        for word in row["words"]:
            families[synonyms.get(stem(word), stem(word))].add(family)
    return Vocabulary(
        frozenset(table["stop_words"]),
        frozenset(table["question_words"]),
        {first: sorted(rows, key=lambda row: -len(row[0])) for first, rows in expressions.items()},
        synonyms,
        table["verbs"],
        {term: frozenset(found) for term, found in families.items()},
    )


@cache
def example_questions() -> dict[str, Sequence[str]]:
    """Return the questions of examples.tsv by the operation that answers them."""
    rows: dict[str, list[str]] = defaultdict(list)
    for line in Path(__file__).with_name("examples.tsv").read_text("utf-8").splitlines():
        question, name = line.split("\t")
        rows[name].append(question)
    return dict(rows)


@cache
def phrases() -> dict[str, Sequence[str]]:
    """Return the everyday phrases of each operation; a semicolon separates ways to say the same."""
    return _table("phrases.toml")


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


def spoken(question: str) -> Spoken:
    """Read a question: its terms with typing errors corrected, and its form."""
    words = [_corrected(word) for word in _words(question)]
    found = tuple(dict.fromkeys(_terms(words)))
    families = frozenset().union(*(vocabulary().families.get(term, ()) for term in found))
    plural = any(word.endswith("s") and stem(word) != word for word in words)
    return Spoken(found, families, plural, words[:1] == ["my"], _asks(words), _features(words))


def _asks(words: Sequence[str]) -> bool:
    """Check whether a sentence asks for facts.

    "how do I" and "can I" ask for a way to do something.
    """
    if not words or words[0] == "how":
        return len(words) > 1 and words[1] in vocabulary().question_words - {"do", "does", "can"}
    return words[0] in vocabulary().question_words and words[1:3] not in (["do", "i"], ["can", "i"])


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text in order: stems, with synonyms replaced.

    Stop words are terms only if the text has no other words.
    """
    return tuple(_terms(_words(text)))


def _terms(words: Sequence[str]) -> Iterator[str]:
    meant = list(_without_expressions(words))
    telling = [word for word in meant if word not in vocabulary().stop_words]
    for word in map(stem, telling or meant):
        yield vocabulary().synonyms.get(word, word)


def _features(words: Sequence[str]) -> frozenset[str]:
    """Return what the classifier compares: terms, pairs of stems, and parts of words."""
    stems = [stem(word) for word in words]
    parts = (f" {word} "[at : at + PART_LETTERS] for word in words for at in range(len(word) + 3 - PART_LETTERS))
    return frozenset((*_terms(words), *(f"{one}_{other}" for one, other in pairwise(stems)), *parts))


def _words(text: str) -> list[str]:
    letters = (letter if letter.isalnum() else " " for letter in IDENTIFIER.sub(" ", fold(text)))
    return "".join(letters).split()[:MAX_WORDS]


def _without_expressions(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, each expression replaced by the words that it means."""
    at = 0
    while at < len(words):
        rows = vocabulary().expressions.get(words[at], ())
        said, meant = next((row for row in rows if list(words[at : at + len(row[0])]) == row[0]), ([words[at]],) * 2)
        yield from meant
        at += len(said)


def _corrected(word: str) -> str:
    """Return a known word that differs from an unknown one by a letter, or the word itself."""
    if len(word) < MIN_TYPO_LETTERS or word in _known_words():
        return word
    return next((_spellings()[short] for short in _shortened(word) if short in _spellings()), word)


@cache
def _known_words() -> frozenset[str]:
    table = _table("vocabulary.toml")
    said = [phrase for row in phrases().values() for phrase in row]
    same = [word for one, row in table["synonyms"].items() for word in (one, *row)]
    kinds = [word for row in table["verbs"].values() for word in row["words"]]
    return frozenset(_words(" ".join((*said, *same, *kinds, *table["expressions"], *vocabulary().stop_words))))


@cache
def _spellings() -> dict[str, str]:
    """Return the known words by themselves and by what is left without one letter."""
    long = sorted(word for word in _known_words() if len(word) >= MIN_TYPO_LETTERS)
    return {short: word for word in long for short in _shortened(word)} | {word: word for word in long}


def _shortened(word: str) -> list[str]:
    return [word, *(word[:at] + word[at + 1 :] for at in range(len(word)))]


@cache
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")


@cache
def stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the name most like an unknown one, or one with all its words, or None."""
    name = name[:64]
    alike, parts = difflib.get_close_matches(name, names, n=1), {*name.split("_")}
    return alike[0] if alike else next((one for one in names if parts <= {*one.split("_")}), None)
