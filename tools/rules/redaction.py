"""Anonymity of a case file: whatever says who a party is reads "buyer" or "seller".

Texts are compared as a reader would see them: without case, compatibility forms, accents, letters that look alike, or
characters that cannot be seen. Handles, domains and names count as whole tokens only: `ada` is not in `adapter` nor in
`ada-lovelace`; scripts that write without spaces have no tokens, there a name counts wherever it stands. Ids, keys, dids
and wallets count anywhere, also inside a longer string. The words "buyer" and "seller" stay as they are, whoever is
called that. Every other id of the market reads "[id]": one of a listing would lead to its seller. Linear in the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from tools.rules.ids import Prefix
from tools.rules.jsontext import Json

BUYER, SELLER, EITHER, OTHER_ID = "buyer", "seller", "buyer or seller", "[id]"


@dataclass(frozen=True, slots=True)
class Known:
    """By what one party could be known."""

    marks: tuple[str, ...] = ()  # ids, keys, dids, wallets: counted anywhere
    words: tuple[str, ...] = ()  # handles, domains, addresses of its own: whole tokens, in data too
    names: tuple[str, ...] = ()  # whole tokens, in free text


Redacted: TypeAlias = tuple[str, int]
"""A text, and how many places in it were changed."""


class Veil:
    """What is taken out of the texts of one case."""

    def __init__(self, buyer: Known, seller: Known) -> None:
        marks = _by_key({BUYER: buyer.marks, SELLER: seller.marks})
        words = _by_key({BUYER: buyer.words, SELLER: seller.words})
        names = _by_key({BUYER: buyer.words + buyer.names, SELLER: seller.words + seller.names})
        self._in_data, self._in_text = _Finder(marks, words), _Finder(marks, names)

    def text(self, text: str) -> Redacted:
        """A text that a person or an agent wrote: names are taken out too."""
        return self._in_text.replaced(text)

    def data(self, value: Json, *, names: bool = False) -> tuple[Json, int]:
        """A JSON value: strings and names of members, at any depth. An ordinary word may be a name: they stay, unless `names`."""
        return _in_json(self._in_text if names else self._in_data, value)

    def word(self, text: str) -> Redacted:
        """A string of data."""
        return self._in_data.replaced(text)

    def schema(self, value: Json) -> tuple[Json, int]:
        """A JSON Schema: its descriptions are text, everything else is data."""
        return _in_schema(self, value)


class _Finder:
    def __init__(self, marks: Mapping[str, str], words: Mapping[str, str]) -> None:
        self._reads = {**words, **marks}
        anywhere = [*marks, *(word for word in words if _has_unspaced_edge(word))]
        tokens = [word for word in words if not _has_unspaced_edge(word)]
        bounded = rf"(?<!{_LETTER})(?<!{_LETTER}[_-])(?:{_any_of(tokens)})(?!{_LETTER})(?![_-]{_LETTER})"
        self._pattern = re.compile("|".join(part for part in (_any_of(anywhere), _MARKET_ID, bounded) if part))

    def replaced(self, text: str) -> Redacted:
        folded, places = _folded(text)
        parts, done, count = list[str](), 0, 0
        for found in self._pattern.finditer(folded):
            begin, end = found.span()
            if places is not None:
                begin, end = places[begin], places[end - 1] + 1
            if begin < done:  # the second half of a character that was taken out
                continue
            parts += (text[done:begin], self._reads.get(_key(found[0]), OTHER_ID))
            done, count = end, count + 1
        return ("".join((*parts, text[done:])), count) if count else (text, 0)


def _in_json(finder: _Finder, value: Json) -> tuple[Json, int]:
    if isinstance(value, str):
        return finder.replaced(value)
    if isinstance(value, list):
        several = [_in_json(finder, one) for one in value]
        return [one for one, _ in several], sum(count for _, count in several)
    if not isinstance(value, dict):
        return value, 0
    made: dict[str, Json] = {}
    count = 0
    for name, inner in value.items():
        shown, in_name = finder.replaced(name)
        made[_free(made, shown)], in_value = _in_json(finder, inner)
        count += in_name + in_value
    return made, count


def _in_schema(veil: Veil, value: Json) -> tuple[Json, int]:
    if isinstance(value, list):
        several = [_in_schema(veil, one) for one in value]
        return [one for one, _ in several], sum(count for _, count in several)
    if not isinstance(value, dict):
        return veil.data(value)
    made: dict[str, Json] = {}
    count = 0
    for name, inner in value.items():
        shown, in_name = veil.word(name)
        said = veil.text(inner) if name in _SAID and isinstance(inner, str) else _in_schema(veil, inner)
        made[_free(made, shown)] = said[0]
        count += in_name + said[1]
    return made, count


def _free(made: Mapping[str, Json], name: str) -> str:
    """A name that no earlier member has: two may read alike now, and neither is lost."""
    number, free = 2, name
    while free in made:
        number, free = number + 1, f"{name} ({number})"
    return free


# --- tokens -----------------------------------------------------------------------------------------------------------

_SAID = frozenset({"title", "description", "$comment"})
_UNSPACED = (  # scripts written without spaces between words
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_UNSPACED}]"
_EDGE = re.compile(rf"^[{_UNSPACED}]|[{_UNSPACED}]$")
_MARKET_ID = "(?:" + "|".join(one.value for one in Prefix) + ")[0-9a-hjkmnp-tv-z]{26}"
_JOINTS = re.compile(r"[\s_-]+")
_SIGNS = re.compile(r"[\s!-/:-@\[-`{-~]*")
_STAYS = frozenset({BUYER, SELLER})
_NOTHING = r"(?!)"


def _by_key(texts: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """What each token reads, by its key; what both parties are known by reads as either."""
    reads: dict[str, str] = {}
    for side, several in texts.items():
        for text in several:
            key = _key(_folded(text)[0])
            if key in _STAYS or _SIGNS.fullmatch(key):
                continue
            reads[key] = side if reads.get(key, side) == side else EITHER
    return reads


def _key(folded: str) -> str:
    """What tokens are compared by: how its parts are joined makes no difference."""
    return _JOINTS.sub(" ", folded).strip()


def _any_of(keys: Iterable[str]) -> str:
    """The longest first: of two that begin alike it is the one that is meant."""
    ordered = sorted(keys, key=lambda key: (-len(key), key))
    return "|".join(r"[\s_\-]+".join(re.escape(part) for part in key.split(" ")) for key in ordered) or _NOTHING


def _has_unspaced_edge(key: str) -> bool:
    return _EDGE.search(key) is not None


# --- how a reader sees it ---------------------------------------------------------------------------------------------

_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтгԍɑɡıłøđαοιρτυκνεβχγօսհո",
    "aeopcyxijshdqwbkmhtrgagilodaoiptukvebxyouhn",
)
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


def _folded(text: str) -> tuple[str, list[int] | None]:
    """The text to compare, and which character each of its characters comes from (None: its own)."""
    if text.isascii():
        return text.lower(), None
    parts, places = list[str](), list[int]()
    for place, one in enumerate(text):
        seen = _fold(one)
        parts.append(seen)
        if len(seen) == 1:
            places.append(place)
        else:
            places.extend([place] * len(seen))
    return "".join(parts), places


@lru_cache(4096)
def _fold(one: str) -> str:
    if one in _UNSEEN or unicodedata.category(one) == "Cf" or 0x180B <= ord(one) <= 0x180F or _is_selector(one):
        return ""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", one).casefold())
    if not any(ord(part) >= 0x600 for part in plain):  # accents of Latin, Greek and Cyrillic letters
        plain = "".join(part for part in unicodedata.normalize("NFD", plain) if not 0x300 <= ord(part) < 0x370)
    return plain.translate(_ALIKE)


def _is_selector(one: str) -> bool:
    return 0xFE00 <= ord(one) <= 0xFE0F or 0xE0100 <= ord(one) <= 0xE01EF
