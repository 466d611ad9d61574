"""Words that pass for the market or its operator: refused in names and handles, look-alikes included."""

import re
from collections.abc import Iterator

from tools.kernel.unicode_folding import Folded

WORDS = ("operator", "official", "staff", "moderator", "emporion")
COMMON_BRAND = "service"  # the default, and an ordinary word

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEGMENT = re.compile(r"[^\W_]+")
_DIGITS = "0123456789"
_SYMBOLS = str.maketrans("@$|!€£+", "asllelt")
_ALIKE = str.maketrans("0134578i", "oleastbl")  # after folding: digits and letters that look like another letter


def reserved_word(text: str, brand: str) -> str | None:
    """Return the reserved word in a name or handle, also as a look-alike or in pieces; or None."""
    words = (*WORDS, *(() if brand == COMMON_BRAND else (brand,)))
    wanted = {_skeleton(word.replace("-", "")): word for word in words}
    longest = max(map(len, wanted))
    found = (run for parts in _spellings(text) for run in _runs(parts, longest) if run in wanted)
    run = next(found, None)
    return None if run is None else wanted[run]


def _spellings(text: str) -> Iterator[list[str]]:
    """Split the text into segments, once for each way to read its symbols and digits.

    Symbols are separators or letters. Digits around a word are letters or nothing.
    """
    folded = Folded(_CAMEL.sub(" ", text)).text
    for spelled in (folded, folded.translate(_SYMBOLS)):
        segments = _SEGMENT.findall(spelled)
        yield [_skeleton(one) for one in segments]
        yield [_skeleton(bare) for one in segments if (bare := one.strip(_DIGITS))]


def _runs(parts: list[str], longest: int) -> Iterator[str]:
    """Join neighbouring segments, so that a word in pieces is found too."""
    for at in range(len(parts)):
        joined = ""
        for part in parts[at:]:
            joined += part
            if len(joined) > longest:
                break
            yield joined


def _skeleton(word: str) -> str:
    return word.translate(_ALIKE).replace("rn", "m").replace("vv", "w")
