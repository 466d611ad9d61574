"""Screening of text that agents write for other agents: injection, phishing, leaked secrets, hidden characters.

These are heuristics. They read a text as a model would (`visible_text`). They know exact forms (`regex_patterns`), and words of
many languages that occur together in attacks (`phrase_rules`, with the words in `vocabularies` and the rules in `phrases`).
Every step is bounded, so the time is linear.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from tools.kernel.strict_json import Json
from tools.screening.codes import REFUSED, Code
from tools.screening.payment_redirection import demands
from tools.screening.phrases import clauses
from tools.screening.regex_patterns import PATTERNS, beginnings
from tools.screening.visible_text import ZERO, folded, visible

__all__ = ["REFUSED", "Code", "hides", "redirects", "warnings", "warnings_in"]

MAX_URLS = 8
_LONG_NAME = 16


def warnings(text: str) -> list[str]:
    """Return the codes that a text earns, in the order of `Code`."""
    return _judge([("", text)])


def warnings_in(value: Json, at_most: int | None = None) -> list[str]:
    """Return the codes that the texts in a JSON value earn, member names included.

    Only the first `at_most` characters count.
    """
    if at_most is None:
        return _judge(list(_strings(value)))
    named: list[tuple[str, str]] = []
    for name, text in _strings(value):
        named.append((name[:at_most], text[:at_most]))
        at_most -= len(name) + len(text) + 1
        if at_most <= 0:
            break
    return _judge(named)


def redirects(texts: Iterable[str]) -> bool:
    """Check whether consecutive texts ask for a payment to a destination that they name."""
    return Code.PAYMENT_REDIRECTION in demands(visible("\n\n".join(texts)))


def hides(text: str) -> bool:
    """Check whether a text contains what a reader cannot see but a model reads.

    That is a tag character (U+E0000-E007F), a bidirectional control left open at the end of a paragraph, four
    zero-width characters in a row, or more than 2 % zero-width characters. Characters that join an emoji, or letters of
    a script that uses joiners, do not count.
    """
    if text.isascii():
        return False
    counted = _EXCUSED.sub("", text)
    if _RIGHT_TO_LEFT.search(text):
        counted = _LONE_MARK.sub("", counted)
    too_many = len(counted) - len(_ZERO_WIDTH.sub("", counted)) > 0.02 * len(text)
    return too_many or _TAG_OR_RUN.search(counted) is not None or _leaves_bidi_open(text)


# --- hidden characters ------------------------------------------------------------------------------------------------

_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = "\u0600-\u07ff\u0840-\u085f\u08a0-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"  # Arabic to Myanmar, Khmer, Mongolian
_ZERO_WIDTH = re.compile(f"[{ZERO}]+")
_TAG_OR_RUN = re.compile(f"[\U000e0000-\U000e007f]|[{ZERO}]{{4}}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_LONE_MARK = re.compile(f"(?<![{ZERO}])[\u200e\u200f\u061c](?![{ZERO}])")
_EXCUSED = re.compile(
    "(?<=\U0001f3f4)\U000e0067\U000e0062[\U000e0061-\U000e007a]{3}\U000e007f"  # the flags of England, Scotland and Wales
    f"|(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f]"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINED}])[\u200b-\u200d\u180b-\u180f]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|^\ufeff"
)
_ROTATED = re.compile(
    r"\b(?:gur|naq|lbhe|nyy|vtaber|cerivbhf|vafgehpgvbaf|fraq|cnl|npprcg|cyrnfr|nqqerff|jnyyrg)\b"
)  # rot13
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{160,}={0,2}")
_ENDED_BY = dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c") | dict.fromkeys("\u2066\u2067\u2068", "\u2069")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\n\r\x1c-\x1e\x85\u2029]")


def _leaves_bidi_open(text: str) -> bool:
    """Check whether a bidirectional control stays open at the end of a paragraph (UAX 9).

    U+202C ends an embedding, U+2069 an isolate and what was opened in it. More than 125 open controls count too.
    """
    opened: list[str] = []
    for control in _BIDI.findall(text):
        if control in _ENDED_BY:
            opened.append(_ENDED_BY[control])
        elif control == "\u2069" and control in opened:
            while opened.pop() != control:
                pass
        elif opened[-1:] == [control]:
            opened.pop()
        if len(opened) > 125 or (opened and control.isspace()):
            return True
    return bool(opened)


# --- visible text -----------------------------------------------------------------------------------------------------


def _judge(named: list[tuple[str, str]]) -> list[str]:
    seen = visible("\n".join(f"{name}: {text}" if name else text for name, text in named))
    small = folded(seen)
    found: set[str] = clauses().codes(small) | _known_forms(seen, small)
    found |= demands(seen)
    if len(_ROTATED.findall(small)) > 1:
        plain = codecs.decode(seen, "rot13")
        found |= clauses().codes(folded(plain)) | demands(plain)
    if any(hides(name) or hides(text) for name, text in named):
        found.add(Code.HIDDEN_UNICODE)
    if small.count("http://") + small.count("https://") > MAX_URLS:
        found.add(Code.EXCESSIVE_URLS)
    if any(len(set(blob)) > 20 for blob in _BLOB.findall(seen)):
        found.add(Code.BASE64_BLOB)
    return [code.value for code in Code if code in found]


def _known_forms(seen: str, small: str) -> set[str]:
    found: set[str] = set()
    in_seen, in_small = beginnings(seen), beginnings(small)
    for pattern in PATTERNS:
        if pattern.code not in found:
            text, begun = (seen, in_seen) if pattern.exact else (small, in_small)
            found |= {pattern.code} if pattern.occurs(text, begun) else set()
    return found


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """Yield the strings of a value in document order, each with the name of its member.

    A name of at least 16 characters whose value is not a string is yielded by itself. The name of a list goes with its
    first item only, so the result is no longer than the document.
    """
    levels: list[Iterator[tuple[str, Json]]] = [iter([("", value)])]
    while levels:
        member = next(levels[-1], None)
        if member is None:
            levels.pop()
            continue
        name, item = member
        if isinstance(item, str):
            yield name, item
            continue
        if len(name) >= _LONG_NAME:
            yield name, ""
            name = ""
        if isinstance(item, dict):
            levels.append(iter(item.items()))
        elif isinstance(item, list):
            levels.append(zip(chain([name], repeat("")), item, strict=False))
