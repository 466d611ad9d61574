"""Folding of texts for comparison: removes case, compatibility forms, accents, look-alikes and invisible characters.

Each folded character can be mapped back to its place in the original. What a character folds to is computed once and
cached, so neither direction needs a Python loop over the text.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate

_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтгԍɑɡıłøđαοιρτυκνεβχγօսհոᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijshdqwbkmhtrgagilodaoiptukvebxyouhnabcdefghijklmnoprstuvwyz",
)
_PICTURES = (0x1F150, 0x1F170, 0x1F1E6)  # first of A to Z in dark circles, in dark squares, as flag letters
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_VOICED = frozenset("\u3099\u309a")  # voicing marks: they make another letter of a kana
_MAX_KEPT = 65_536


class TranslationCache(dict[int, str]):
    """A table for str.translate: what each character becomes, computed once, by code point."""

    def __init__(self, translate: Callable[[str], str]) -> None:
        super().__init__()
        self._translate = translate

    def __missing__(self, code: int) -> str:
        if len(self) >= _MAX_KEPT:
            self.clear()
        made = self[code] = self._translate(chr(code))
        return made


class Folded:
    """A folded text, and the places of its characters in the original."""

    __slots__ = ("_ends", "_original", "text")

    def __init__(self, original: str) -> None:
        self._original, self._ends = original, list[int]()
        self.text = original.lower() if original.isascii() else original.translate(_FOLDS)

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Return the range of the original from which a range of the folded text comes.

        A character of the original is never split.
        """
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
    """Check whether this is an accent, an enclosing mark or a variation selector."""
    return unicodedata.category(one) in ("Mn", "Me")


_FOLDS = TranslationCache(_fold)
