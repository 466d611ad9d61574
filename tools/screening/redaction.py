"""Anonymity of a case file: replaces what identifies a party with "buyer" or "seller".

Texts are compared in their folded form (`kernel/unicode_folding`). Handles, names and domains count only as whole tokens: `ada`
is not in `adapter` nor in `ada-lovelace`. Scripts that write without spaces have no tokens, so a name in them counts
anywhere. How the tokens of a name are joined makes no difference. Ids, keys, dids and wallets count anywhere, in every
encoding. A handle or a name of ordinary words only would change what the parties said, so it counts
only if it is clearly a handle: `@error`, `agents/error`. Every other id of the market becomes "[id]", because the id of
a listing would lead to its seller. In free text a transaction's hash becomes "[hash]", because it leads to both
wallets. The time is linear in the text.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tools.kernel.ids import Prefix
from tools.kernel.keys import did_of_hex
from tools.kernel.strict_json import Json
from tools.kernel.unicode_folding import Folded

BUYER, SELLER, EITHER, OTHER_ID, HASH = "buyer", "seller", "buyer or seller", "[id]", "[hash]"


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names and marks by which one party could be known when a text was written."""

    marks: tuple[str, ...] = ()  # ids, keys, dids: counted anywhere
    wallets: tuple[str, ...] = ()  # 0x…: anywhere, also shortened to both ends
    places: tuple[str, ...] = ()  # domains and addresses: whole tokens
    handles: tuple[str, ...] = ()  # whole tokens, but not in the member names of a document
    names: tuple[str, ...] = ()  # likewise; a name of a single token only in free text


Redacted: TypeAlias = tuple[str, int]
"""A text, and how many places in it were changed."""


class Redactor:
    """The redaction of the texts of one case."""

    def __init__(self, buyer: KnownNames, seller: KnownNames) -> None:
        self._sides = {BUYER: buyer, SELLER: seller}

    @cached_property
    def _in_members(self) -> "_Finder":
        return _Finder(self._sides, {"places"})

    @cached_property
    def _in_data(self) -> "_Finder":
        return _Finder(self._sides, {"places", "handles", "long names"})

    @cached_property
    def _in_text(self) -> "_Finder":
        return _Finder(self._sides, {"places", "handles", "names", "hashes"})

    def text(self, text: str) -> Redacted:
        """Redact a text that a person or an agent wrote."""
        return self._in_text.replaced(text)

    def data(self, value: Json) -> tuple[Json, int]:
        """Redact a document, at any depth.

        Names of one word stay, and so do handles in member names, because they may be ordinary words there.
        """
        return _in_json(self._in_data, self._in_members, value)

    def redact(self, value: Json) -> tuple[Json, int]:
        """Redact JSON that one party wrote to the other; all of it is text."""
        return _in_json(self._in_text, self._in_text, value)

    def schema(self, value: Json) -> tuple[Json, int]:
        """Redact a JSON Schema: its descriptions are text, everything else is data."""
        return _in_json(self._in_data, self._in_members, value, said=self._in_text)


_SAID = frozenset({"title", "description", "$comment"})


def _in_json(values: "_Finder", members: "_Finder", value: Json, said: "_Finder | None" = None) -> tuple[Json, int]:
    """Redact a document at any depth; `said` is for the descriptions of a schema."""
    if isinstance(value, str):
        return values.replaced(value)
    if isinstance(value, list):
        several = [_in_json(values, members, one, said) for one in value]
        return [one for one, _ in several], sum(count for _, count in several)
    if not isinstance(value, dict):
        return value, 0
    made: dict[str, Json] = {}
    count = 0
    for name, inner in value.items():
        shown, in_name = members.replaced(name)
        finder = said if said and name in _SAID and isinstance(inner, str) else values
        made[_free(made, shown)], in_value = _in_json(finder, members, inner, said)
        count += in_name + in_value
    return made, count


def _free(made: Mapping[str, Json], name: str) -> str:
    """Return a name that no earlier member has.

    Two names may become equal by redaction, and neither may be lost.
    """
    number, free = 2, name
    while free in made:
        number, free = number + 1, f"{name} ({number})"
    return free


# --- patterns of what is redacted -------------------------------------------------------------------------------------

_UNSPACED = (  # scripts written without spaces between words
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_UNSPACED}]"
_EDGE = re.compile(rf"^[{_UNSPACED}]|[{_UNSPACED}]$")
_GAP = r"(?:(?![\u0900-\u109f\u1780-\u17ff])[\W_])"  # punctuation; the vowel signs of Indian scripts are not
_GAPS = re.compile(rf"{_GAP}+")
_DASH = r"[\-\u2010-\u2015\u2212]"
_BAR = r"(?:_|%5f)"
_CLOSED_FROM = 8  # letters; a name this long is also found without its gaps: quillworks, but not ai for a-i
_BARE_ID = r"0(?=[0-9]*[a-z])[0-9a-hjkmnp-tv-z]{25}(?![0-9a-z])"
_MARKET_ID = (
    "(?:" + "|".join(one.value[:3] for one in Prefix) + rf"){_BAR}[0-9a-hjkmnp-tv-z]{{26}}|(?<![0-9a-z]){_BARE_ID}"
)
_HASH = r"(?<![0-9a-z])(?:0x)?[0-9a-f]{64}(?![0-9a-z])"
_HANDLE_HERE = r"(?:(?<=@)|(?<=//)|(?<=agents/))"
_SHORT, _END = 4, r"(?![0-9a-z])"  # characters at both ends of a shortened wallet
_NO_KEY = re.compile(r"%5f|[\W_]+")


class _Finder:
    """A search for the marks of both parties, of the kinds that count in a text."""

    def __init__(self, sides: Mapping[str, KnownNames], kinds: set[str]) -> None:
        self._reads: dict[str, str] = {}
        self._shorts: dict[str, str] = {}
        anywhere, tokens, plain = dict[str, str](), dict[str, str](), dict[str, str]()
        for side, known in sides.items():
            for mark in (*known.marks, *known.wallets, *(one[2:] for one in known.wallets)):
                self._add(anywhere, side, mark, _mark(Folded(mark).text))
            for wallet in known.wallets:
                _read(self._shorts, _ends(wallet[2:].lower()), side)
            for word, pattern, parts in _words(known, kinds):
                where = anywhere if _EDGE.search(word) else plain if _is_ordinary(parts) else tokens
                self._add(where, side, word, pattern)
        self._pattern = re.compile("|".join(_alternatives(anywhere, tokens, plain, self._shorts, "hashes" in kinds)))

    def replaced(self, text: str) -> Redacted:
        folded = Folded(text)
        parts, done, count = list[str](), 0, 0
        for found in self._pattern.finditer(folded.text):
            begin, end = folded.span(*found.span())
            if begin < done:  # overlaps with a character that is replaced already
                continue
            parts += (text[done:begin], self._reading(found))
            done, count = end, count + 1
        return ("".join((*parts, text[done:])), count) if count else (text, 0)

    def _add(self, where: dict[str, str], side: str, word: str, pattern: str) -> None:
        key = _key(Folded(word).text)
        if key:
            where[key] = pattern
            _read(self._reads, key, side)

    def _reading(self, found: re.Match[str]) -> str:
        key = _key(found[0])
        if found.lastgroup == "short":
            return self._shorts[_ends(key.removeprefix("0x"))]
        return self._reads.get(key) or (HASH if len(key) >= 64 else OTHER_ID)


def _read(reads: dict[str, str], key: str, side: str) -> None:
    """Map a key to its side; a key of both sides becomes EITHER."""
    reads[key] = side if reads.get(key, side) == side else EITHER


def _key(folded: str) -> str:
    """Return the letters and digits of a match, by which its side is looked up."""
    return _NO_KEY.sub("", folded)


def _ends(wallet: str) -> str:
    return wallet[:_SHORT] + wallet[-_SHORT:]


def _words(known: KnownNames, kinds: set[str]) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Yield each word that counts: folded, as a pattern, and its tokens.

    A word that cannot be ordinary has no tokens.
    """
    for place in known.places if "places" in kinds else ():
        word = Folded(place).text
        yield word, _place(word), () if "." in word else (word,)
    some = (("names", known.names), ("long names", known.names), ("handles", known.handles))
    for text in [text for kind, texts in some if kind in kinds for text in texts]:
        word = Folded(text).text
        parts = tuple(part for part in _GAPS.split(word) if part)
        if parts and (len(parts) > 1 or "long names" not in kinds or text in known.handles):
            closed = len("".join(parts)) >= _CLOSED_FROM
            yield word, (_GAP + ("*" if closed else "+")).join(map(re.escape, parts)), parts


def _is_ordinary(parts: tuple[str, ...]) -> bool:
    return bool(parts) and (set(parts) <= ORDINARY or "".join(parts) in ORDINARY)


def _mark(folded: str) -> str:
    return "".join({"_": _BAR, "-": _DASH}.get(one) or re.escape(one) for one in folded)


def _place(folded: str) -> str:
    """Return the pattern of a domain or address, also with added signs: `sela[.]example`."""
    parts = re.split(r"([\W_])", folded)
    return "".join(
        rf"[^\w\s]{{0,3}}{_DASH if part == '-' else re.escape(part)}[^\w\s]{{0,3}}" if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )


def _alternatives(
    anywhere: Mapping[str, str],
    tokens: Mapping[str, str],
    plain: Mapping[str, str],
    shorts: Iterable[str],
    hashes: bool,
) -> Iterable[str]:
    """Yield the alternatives of the pattern in the order they are tried.

    The longer of two that begin alike comes first.
    """
    edges = rf"(?<!{_LETTER})(?<!{_LETTER}[_-])(?:", rf")(?!{_LETTER})(?![_-]{_LETTER})"
    if anywhere:
        yield f"(?:{_any_of(anywhere)})(?![\u3099\u309a])"
    if hashes:
        yield _HASH
    yield _MARKET_ID
    abbreviated = [rf"{one[:_SHORT]}[0-9a-f]{{0,32}}[\W_]{{1,8}}[0-9a-f]{{0,32}}{one[_SHORT:]}" for one in shorts]
    if abbreviated:
        yield f"(?P<short>0x(?:{'|'.join(abbreviated)}){_END})"
    if tokens:
        yield _any_of(tokens).join(edges)
    if plain:
        yield _HANDLE_HERE + _any_of(plain).join(edges)


def _any_of(patterns: Mapping[str, str]) -> str:
    return "|".join(patterns[key] for key in sorted(patterns, key=lambda key: (-len(key), key)))


def marks_of_id(agent_id: str) -> set[str]:
    """Return the forms of an id: also without its prefix, in hex and in base64."""
    return {agent_id, agent_id.partition("_")[2], *_encoded(agent_id.encode())}


def marks_of_key(public_key: str) -> set[str]:
    """Return the forms of a public key (hex, base64 as in a JWK) and of its did."""
    did = did_of_hex(public_key)
    return {public_key, did, did.rsplit(":", 1)[-1], *_base64(bytes.fromhex(public_key)), *_encoded(did.encode())}


def _encoded(data: bytes) -> set[str]:
    return {data.hex(), *_base64(data)}


def _base64(data: bytes) -> set[str]:
    """Return the forms of data in both base64 alphabets.

    Besides data alone, these are its parts inside a longer text: for each offset the letters that its neighbours cannot
    change.
    """
    texts = {b64encode(data).decode().rstrip("=")}
    for before, first in ((0, 0), (1, 2), (2, 3)):
        texts.add(b64encode(bytes(before) + data).decode()[first : (before + len(data)) * 8 // 6])
    return {spelled for text in texts for spelled in (text, text.replace("+", "-").replace("/", "_"))}


_ORDINARY = """
a an the this that these those it its i me my we us our you your he him his she her they them their
and or but not no yes nor if then else so as of to in on at by for from with without into than
is are was were be been being am do does did done has have had can could should would must may might
what which who whom why how when where there here all any some none each every both only never always again
true false null undefined ok okay error errors result results empty wrong right correct incorrect good bad poor fine
late missing complete incomplete broken invalid valid failed failure success nothing something
input output data text file files value title message messages request response status
buyer seller evaluator operator market job jobs order ordered work listing dispute verdict vote split reason
deliver delivered delivery delivers promise promised paid pay payment refund price cost money
"""
ORDINARY = frozenset(_ORDINARY.split())
