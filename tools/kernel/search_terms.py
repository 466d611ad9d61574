"""Search terms of a text: split in the same way, in every script, for what is indexed and what is searched.

1. Fold: NFKC and case folding (UAX #15, Unicode 3.13), decimal digits as 0-9; accents, Hebrew points and Arabic
   vowel signs are left out, because people search without them. Other combining marks stay with their letter.
2. Cut: a word is a run of letters, marks and digits; `c++`, `c#` and similar words keep their sign.
3. Scripts that write no spaces between words (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) are cut into overlapping
   pairs of characters; a single character is a word.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

from tools.kernel.unicode_folding import TranslationCache

MAX_QUERY_CHARACTERS = 200
MAX_QUERY_TERMS = 10
MAX_INDEX_TERMS = 1_000
MAX_CHARACTERS = 40  # of one term; a longer run is cut
# Agents write sentences, so English function words count only if there are no other words.
FUNCTION_WORDS = frozenset(
    ("a", "an", "and", "are", "at", "be", "for", "from", "i", "in", "is", "me", "my", "of", "on", "or", "our", "that",
     "the", "this", "to", "we", "with", "you", "your")
)  # fmt: skip
MAX_FOLDED = 8_000  # characters of one text before case folding, because one may become eighteen

OPTIONAL_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309f\u30a1-\u30ff\u3105-\u312f\u31f0-\u31ff"  # Hiragana, Katakana, Bopomofo
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # Hangul
    "\u0e01-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\uaa60-\uaa7f\u1780-\u17d3"  # Burmese, Khmer
)
RUNS = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
SIGNED = re.compile(r"[^+#]+(?:(?:\+\+|#)$)?")


def query_terms(q: str) -> tuple[str, ...]:
    """Return the terms of a query, each once, in order: at most MAX_QUERY_TERMS.

    Only its first 200 characters count. English function words count only if there is nothing else. The result is empty
    if `q` has no letter or digit. Never raises.
    """
    asked = [term for run in _runs(q[:MAX_QUERY_CHARACTERS]) for term in _asked(run)]
    telling = [term for term in asked if term not in FUNCTION_WORDS]
    return _first(telling or asked, MAX_QUERY_TERMS)


def index_terms(title: str, description: str, tags: Sequence[str], category: str) -> tuple[str, ...]:
    """Return the terms by which a listing is found, each once, the title's first.

    There are at most MAX_INDEX_TERMS. A single character of an unspaced script is found in title, tags and category,
    but in the description only its pairs are.
    """
    head = (term for text in (title, category, *tags) for run in _runs(text) for term in (*_asked(run), *_within(run)))
    body = (term for run in _runs(description) for term in (*_asked(run), *_signless(run)))
    return _first(chain(head, body), MAX_INDEX_TERMS)


def fold(text: str) -> str:
    """Unify what readers take as the same: width, case, ligatures, optional marks."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text)[:MAX_FOLDED].casefold())
    return unicodedata.normalize("NFKC", OPTIONAL_MARKS.sub("", unicodedata.normalize("NFD", folded)))


def _first(terms: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(terms), most))


def _runs(text: str) -> Iterator[str]:
    """Split a folded text at gaps, at signs, and between spaced and unspaced script."""
    for piece in fold(text).translate(SHOWN).split():
        if piece.isalnum() and piece.isascii():
            yield piece
            continue
        for signed in SIGNED.findall(piece):
            yield from (run for found in RUNS.findall(signed) if (run := _unmarked(found)).strip("+#"))


def _asked(run: str) -> Iterable[str]:
    if not IS_UNSPACED.match(run):
        return (run[:MAX_CHARACTERS],)
    letters = _letters(run)
    return map("".join, pairwise(letters)) if len(letters) > 1 else letters


def _within(run: str) -> Iterable[str]:
    """Return further terms that find a run, besides those of a query for the whole run."""
    return _letters(run) if IS_UNSPACED.match(run) else _signless(run)


def _signless(run: str) -> Iterable[str]:
    return (run.rstrip("+#")[:MAX_CHARACTERS],) if run[-1] in "+#" else ()


def _letters(run: str) -> list[str]:
    """Split a run into letters, each with the marks that follow it."""
    letters: list[str] = []
    for character in run:
        if letters and unicodedata.category(character)[0] == "M":
            letters[-1] = (letters[-1] + character)[:MAX_CHARACTERS]
        else:
            letters.append(character)
    return letters


def _unmarked(run: str) -> str:
    """Drop the marks before the first letter or digit of a run, because they mean nothing."""
    start = next((place for place, character in enumerate(run) if unicodedata.category(character)[0] != "M"), len(run))
    return run[start:]


def _shown(character: str) -> str:
    """Return what a character counts as: itself, a digit, a gap, or nothing."""
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind == "Cf" or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return " " if character == "\u200b" else ""  # joiners, soft hyphens and variants vanish; U+200B separates words
    return character if kind[0] in "LNM" or character in "+#" else " "


SHOWN = TranslationCache(_shown)
