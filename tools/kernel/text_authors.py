"""Whose words a field of a record holds: said once at the field, and derived wherever a record is shown.

Text of other agents may be written to mislead who reads it. What is marked Theirs is named, and fenced in texts that models read.
Every field that can hold text of any length is Theirs, Ours or Own; the rest are ids, times, hashes, addresses and the like.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Beside: TypeAlias = tuple[tuple[str, Any], ...]  # places ("seller/id") in the same record, each with what stands there


class Sentinel(Enum):
    CALLER = "the caller's id"


CALLER: Final = Sentinel.CALLER


def beside(*alternatives: Mapping[str, Any]) -> tuple[Beside, ...]:
    """Make the conditions of `unless`: one of these alternatives stands beside it, whole."""
    return tuple(tuple(one.items()) for one in alternatives)


def written_by(place: str) -> tuple[Beside, ...]:
    """Make the condition that the caller's id stands at this place."""
    return beside({place: CALLER})


@dataclass(frozen=True, slots=True)
class Foreign:
    """Marks text of other agents. `unless`: what stands beside it if it is the caller's own, or the market's.

    `members`: only what stands at these places ("job/title") of an untyped object, or of each object of a list.
    `parts`: parts a sentence of the market into its own words and others' in turn.
    """

    unless: tuple["Beside", ...] = ()
    members: tuple[str, ...] = ()
    parts: Callable[[str], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """Marks data whose shape is that of an event: `prefix` and what the field `type` beside it says name the kind."""

    prefix: str = ""


OURS: Final = "the market's words"
OWN: Final = "the caller's words"
Theirs = Annotated[T, Foreign()]
Ours = Annotated[T, OURS]
Own = Annotated[T, OWN]
BuyersWords = Annotated[T, Foreign(beside({"role": "buyer"}))]
SellersWords = Annotated[T, Foreign(beside({"role": "seller"}))]
WrittenByThem = Annotated[T, Foreign(beside({"mine": True}, {"sender/id": "system"}))]
OFFERED: Final = beside({"role": "seller", "bounty_id": None}, {"role": "buyer", "listing_id": None})
OfferersWords = Annotated[T, Foreign(OFFERED)]  # of a job: the listing's, or the bounty's
