"""A text as a reader sees it: without case, compatibility forms, accents, letters that look alike, or what is not seen.

Which character of the text each one comes from is found again. Both go through the text without a loop of Python's: what
a character folds to is looked up, and made once.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтгԍɑɡıłøđαοιρτυκνεβχγօսհոᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijshdqwbkmhtrgagilodaoiptukvebxyouhnabcdefghijklmnoprstuvwyz",
)
_PICTURES = (0x1F150, 0x1F170, 0x1F1E6)  # A to Z in dark circles, in dark squares, of flags
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_VOICED = frozenset("\u3099\u309a")  # they make another letter of a kana
_MOST_KEPT = 65_536


class _Folds(dict[int, str]):
    """What each character folds to, by its number."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_KEPT:
            self.clear()
        folded = self[code] = _fold(chr(code))
        return folded


_FOLDS = _Folds()


class Folded:
    """The text to compare, and where in the original its characters stand."""

    __slots__ = ("_ends", "_original", "text")

    def __init__(self, original: str) -> None:
        self._original, self._ends = original, list[int]()
        self.text = original.lower() if original.isascii() else original.translate(_FOLDS)

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Where in the original stands what stands here in the text; a character counts whole."""
        if self._original.isascii():
            return begin, end
        if not self._ends:
            self._ends = list(accumulate(map(len, map(_FOLDS.__getitem__, map(ord, self._original)))))
        return bisect_right(self._ends, begin), bisect_left(self._ends, end) + 1


def _fold(one: str) -> str:
    if "\uac00" <= one <= "\ud7a3":  # Hangul: a syllable is one letter
        return one
    if one in _UNSEEN or unicodedata.category(one) == "Cf" or 0x180B <= ord(one) <= 0x180F:
        return ""
    picture = next((ord(one) - first for first in _PICTURES if 0 <= ord(one) - first < 26), None)
    if picture is not None:
        return chr(ord("a") + picture)
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", one).casefold())
    parts = unicodedata.normalize("NFD", plain)
    return "".join(part for part in parts if part in _VOICED or not _is_mark(part)).translate(_ALIKE)


def _is_mark(one: str) -> bool:
    """An accent, a ring around a letter, a selector of how it looks."""
    return unicodedata.category(one) in ("Mn", "Me")
