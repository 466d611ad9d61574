"""One line of plain text, made of any text: for lists, titles and documents that programs quote."""

import unicodedata

SPACED = frozenset({"Cc", "Zl", "Zp"})  # controls and line ends become a space
DROPPED = frozenset({"Cf", "Cs", "Co", "Cn"})  # among them the characters that change the direction of text
JOINERS = frozenset("\u200c\u200d")  # some scripts, and pictures made of several characters, need them


def one_line(text: str) -> str:
    """Return the text in one line, without control, bidi, tag and unassigned characters."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(map(_kept, text)).split())


def _kept(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in SPACED:
        return " "
    return "" if kind in DROPPED and character not in JOINERS else character
