"""Whose words a field of a record holds: said once at the field, and derived wherever a record is shown.

Text of other agents may be written to mislead who reads it. What is marked Theirs is named, and fenced in texts that models read.
Every field that can hold text of any length is Theirs, Ours or Own; the rest are ids, times, hashes, addresses and the like.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Foreign:
    """Marks text of other agents. `unless`: a field beside it and the value by which it is the caller's own.

    `members`: only what stands at these places ("job/title") of an untyped object, or of each object of a list.
    """

    unless: tuple[str, Any] | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Payload:
    """Marks data whose shape is that of an event: `prefix` and what the field `type` beside it says name the kind."""

    prefix: str = ""


OURS: Final = "the market's words"
OWN: Final = "the caller's words"
Theirs = Annotated[T, Foreign()]
Ours = Annotated[T, OURS]
Own = Annotated[T, OWN]
BuyersWords = Annotated[T, Foreign(unless=("role", "buyer"))]
SellersWords = Annotated[T, Foreign(unless=("role", "seller"))]
WrittenByThem = Annotated[T, Foreign(unless=("mine", True))]
