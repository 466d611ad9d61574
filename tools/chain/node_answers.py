"""Readers of the raw answers of chain nodes, which are untrusted until checked."""

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from eth_utils.crypto import keccak

T = TypeVar("T")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")
_BLOOM = re.compile(r"0x[0-9a-fA-F]{512}")
_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})")


class InvalidNodeAnswer(ValueError):
    """An answer of the chain node that no honest node can give."""


def quantity(value: object, name: str, most: int) -> int:
    """Parse a JSON-RPC quantity: 0x, no leading zero, at most `most`; raises InvalidNodeAnswer."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise InvalidNodeAnswer(f"{name} is not a quantity")
    number = int(value, 16)
    if number > most:
        raise InvalidNodeAnswer(f"{name} is beyond {most}")
    return number


def typed(answer: object, kind: type[T], name: str, wanted: str) -> T:
    if not isinstance(answer, kind):
        raise InvalidNodeAnswer(f"{name} is not {wanted}")
    return answer


def fields_in(answer: object, name: str) -> dict[str, object]:
    return typed(answer, dict, name, "an object")


def field_in(fields: dict[str, object], name: str) -> object:
    if name not in fields:
        raise InvalidNodeAnswer(f"{name} is missing")
    return fields[name]


def items_in(answer: object, name: str) -> list[object]:
    return typed(answer, list, name, "a list")


def word_in(answer: object, name: str) -> str:
    return text_in(_WORD, answer, name)


def text_in(form: re.Pattern[str], answer: object, name: str) -> str:
    if not isinstance(answer, str) or not form.fullmatch(answer):
        raise InvalidNodeAnswer(f"{name} is malformed")
    return answer.lower()


def check_bloom(answer: object, logs: Iterable[dict[str, object]]) -> None:
    """Check that a receipt has all logs that its bloom filter contains.

    Not every node writes the filter.
    """
    if answer is None:
        return
    missing = int(text_in(_BLOOM, answer, "receipt.logsBloom"), 16)
    for text in {text for log in logs for text in _entries(log)}:
        missing &= ~_bits(bytes.fromhex(text[2:]))
    if missing:
        raise InvalidNodeAnswer("a log is missing in the receipt")


def _entries(log: dict[str, object]) -> Iterator[str]:
    """Yield what the filter contains of a log: its contract and its topics."""
    yield text_in(ADDRESS, field_in(log, "address"), "log.address")
    for topic in items_in(field_in(log, "topics"), "log.topics"):
        yield word_in(topic, "log.topics")


def _bits(entry: bytes) -> int:
    """Return the three bits of an entry of the filter."""
    digest = keccak(entry)
    bits = 0
    for place in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[place : place + 2]) & 2047)
    return bits
