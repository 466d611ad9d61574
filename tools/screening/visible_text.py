"""Plain words of a text as a model reads them: without invisible characters, look-alikes and other disguises."""

import re
import unicodedata
from collections.abc import Mapping

ZERO = (
    "\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff\u061c\u034f\u115f\u1160\u3164\uffa0"
    "\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
)
_INVISIBLE = re.compile(f"[{ZERO}\u00ad\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
_PHRASE_SIGNS = re.compile("[\ufdfa\ufdfb]")  # one character that expands to a phrase of up to 18 letters
_PARTS = re.compile(r"[\s\S]{1,8192}(?=[\x00-\x7f]|\Z)|[\s\S]{8192}")  # ASCII never composes with what is before it
_FOREIGN = "аеорсухіјѕһԁԛԝвнкмтпгαοιρτυκνβεημωχγζɡɑ"
_LATIN = "aeopcyxijshdqwbhkmtnraoiptukvbenmwxyzga"
_LOOKALIKES = str.maketrans(_FOREIGN, _LATIN)
_MIXED = re.compile(f"[a-z][{_FOREIGN}]|[{_FOREIGN}][a-z]")
_WORD = re.compile(r"[^\W\d]{2,40}")


def visible(text: str) -> str:
    """Fold compatibility forms and remove invisible characters.

    The result has at most twice as many characters as the text has bytes.
    """
    if text.isascii():
        return text
    seen = _PHRASE_SIGNS.sub(" ", _INVISIBLE.sub("", text))
    return "".join(unicodedata.normalize("NFKC", part) for part in _PARTS.findall(seen))


def folded(seen: str) -> str:
    """Put a visible text in lower case, with each word in one script."""
    small = seen.casefold().replace("_", " ").replace("\u2019", "'")
    return small if small.isascii() or not _MIXED.search(small) else _WORD.sub(_in_one_script, small)


def _in_one_script(word: re.Match[str]) -> str:
    """Write a word of Latin letters and look-alikes in Latin only; leave any other word."""
    latin = word[0].translate(_LOOKALIKES)
    return latin if latin.isascii() and any(map(str.isascii, word[0])) else word[0]


# --- plain words ------------------------------------------------------------------------------------------------------

FIRST_WIDE = "\u3040"
_WIDE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # written without spaces: each character is a word
_LETTERS = (
    "0-9a-z\u00b5\u00c0-\u02ff\u0370-\u037d\u037f-\u05bd\u05c6-\u05f2\u05f5-\u060b\u060d-\u061a\u061c-\u061e\u0620-\u06d3"
    "\u06d5-\u0963\u0966-\u1fff\u2c00-\u2dff\ua640-\uabff\ufb00-\ufdff\U00010000-\U0001efff"
)
_STOPS = "[.!?](?![^\\s\"'»”)\\]*])|[;\u037e。！？؟؛۔।|]|\n\\s{0,9}\n"
_COMMAS = "[,:،，、：\u2014]"
_ASCII_PIECE = re.compile(f"[0-9a-z]+|{_STOPS}|{_COMMAS}")
_PIECE = re.compile(f"[{_LETTERS}]+|[{_WIDE}]|{_STOPS}|{_COMMAS}")
_STOP, _COMMA = frozenset(".!?;\u037e。！？؟؛۔।|\n"), frozenset(",:،，、：\u2014")
_ACCENTS: dict[int, str | None] = {
    code: unicodedata.normalize("NFD", chr(code))[0]
    for code in (*range(0xC0, 0x250), *range(0x386, 0x3D0), *range(0x1E00, 0x2000))
    if code != ord("é")
}
_ACCENTS |= dict.fromkeys((*range(0x300, 0x370), *range(0x5B0, 0x5BE), *range(0x64B, 0x660), 0x640, 0x670, 0x93C))
_ACCENTS |= {ord(one): other for one, other in zip("đłøıðςёأإآٱىیةکګ", "dloidσеاااايیهكك", strict=True)}
_ACCENTS[ord("ی")] = "ي"
_E_WITHIN = re.compile(r"é(?=\w)")  # a final é stays, because "olvidé" and "oublié" are not imperatives

_SPACED = r"(?<![^\W_])[^\W\d_](?:[\s.*·|/\\+~-]{1,3}[^\W\d_](?![^\W_])){4,}"
_RUN_ON = 24  # letters
_FIVE_SINGLE = bytes([1] * 5)
_LETTER_DIGIT = re.compile("[013457@$](?=[a-z])")
_SPACED_OR_RUN_ON = re.compile(f"{_SPACED}|[a-z]{{{_RUN_ON},80}}")
_BETWEEN_WORDS = re.compile(r"\s{2,}|\s?[|/]\s?")
_DIGIT_WORD = re.compile(r"(?<![\w@$])[a-z013457@$]{3,24}(?![\w@$])")
_AS_L, _AS_I = str.maketrans("013457@$", "oleastas"), str.maketrans("013457@$", "oieastas")


def read(text: str, known: Mapping[str, set[str]]) -> list[str]:
    """Split a folded text into words, stops and commas, after undoing disguises.

    `known` has known words by their first three letters.
    """
    text = plain(text)
    found = pieces(text)
    if _LETTER_DIGIT.search(text) or _is_spaced(found):
        text = _SPACED_OR_RUN_ON.sub(lambda run: _joined(run[0], known), text)
        found = pieces(_DIGIT_WORD.sub(_without_digits, text))
    return found


def plain(text: str) -> str:
    """Remove the accents from a folded text."""
    return text if text.isascii() else _E_WITHIN.sub("e", text.translate(_ACCENTS))


def _is_spaced(found: list[str]) -> bool:
    """Check whether five single letters follow one another, or a word is too long to be one."""
    lengths = [len(piece) for piece in found if piece < FIRST_WIDE]
    if max(lengths, default=0) >= _RUN_ON:
        return True
    return lengths.count(1) > 4 and _FIVE_SINGLE in bytes(lengths)


def _joined(run: str, known: Mapping[str, set[str]]) -> str:
    parts = _BETWEEN_WORDS.split(run)
    return " ".join(_cut("".join(filter(str.isalpha, part)), known) for part in parts)


def _cut(letters: str, known: Mapping[str, set[str]]) -> str:
    """Split letters without spaces at the known words in them, the longest first."""
    found, place = [""], 0
    while place < len(letters):
        here = [word for word in known.get(letters[place : place + 3], ()) if letters.startswith(word, place)]
        word = max(here, key=len, default="")
        found.append(f" {word} " if word else letters[place])
        place += len(word) or 1
    return "".join(found)


def _without_digits(word: re.Match[str]) -> str:
    """Read the digits of a word as letters; as 1 is l or i, there may be two readings."""
    if 2 * sum(map(str.isalpha, word[0])) < len(word[0]) or word[0].isalpha():
        return word[0]
    ways = dict.fromkeys((word[0].translate(_AS_L), word[0].translate(_AS_I)))
    return " ".join(ways)


def pieces(text: str) -> list[str]:
    """Split a plain text into words, stops and commas."""
    return (_ASCII_PIECE if text.isascii() else _PIECE).findall(text)


def words(text: list[str]) -> tuple[list[str], list[int], list[int]]:
    """Return the words, the places that begin a sentence, and those after a comma or colon."""
    spoken: list[str] = []
    ends: list[int] = []
    breaks: list[int] = []
    for piece in text:
        if piece in _COMMA:
            breaks.append(len(spoken))
        elif piece[0] in _STOP:
            ends.append(len(spoken))
        else:
            spoken.append(piece)
    return spoken, ends, breaks


def known_word(phrase: str) -> tuple[str, ...]:
    """Return a phrase of the vocabulary as plain words; a star marks an open ending."""
    text = plain(folded(unicodedata.normalize("NFKC", phrase.replace("*", "\x00"))))
    return tuple(piece.replace("\x00", "*") for piece in re.findall(f"(?:[{_LETTERS}]+|[{_WIDE}])\x00?", text))
