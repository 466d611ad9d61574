"""Authors of the text in a record's fields: each field has a mark, and every view of the record reads it.

Text of other agents may be written to mislead its reader. Fields marked Theirs are named as untrusted, and fenced in
texts that models read. Every field that can hold text of any length is Theirs, Ours or Own; the rest are ids, times,
hashes, addresses and the like.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Conditions: TypeAlias = tuple[tuple[str, Any], ...]  # places ("seller/id") in the same record, each with its value


class Sentinel(Enum):
    CALLER = "the caller's id"


CALLER: Final = Sentinel.CALLER


def any_of(*alternatives: Mapping[str, Any]) -> tuple[Conditions, ...]:
    """Make the conditions of `unless`: the record has all values of one of these alternatives."""
    return tuple(tuple(one.items()) for one in alternatives)


def written_by(place: str) -> tuple[Conditions, ...]:
    """Make the condition that this place has the caller's id."""
    return any_of({place: CALLER})


@dataclass(frozen=True, slots=True)
class Foreign:
    """A mark for text of other agents.

    `unless`: values of the same record with which it is the caller's own text, or the market's.
    `members`: only the text at these places ("job/title") of an untyped object, or of each object of a list.
    `parts`: splits a sentence of the market into its own words and those of others, in turn.
    """

    unless: tuple["Conditions", ...] = ()
    members: tuple[str, ...] = ()
    parts: Callable[[str], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """A mark for the data of an event, whose kind is `prefix` and the record's field `type`."""

    prefix: str = ""


OURS: Final = "the market's words"
OWN: Final = "the caller's words"
Theirs = Annotated[T, Foreign()]
Ours = Annotated[T, OURS]
Own = Annotated[T, OWN]
BuyersWords = Annotated[T, Foreign(any_of({"role": "buyer"}))]
SellersWords = Annotated[T, Foreign(any_of({"role": "seller"}))]
WrittenByThem = Annotated[T, Foreign(any_of({"mine": True}, {"sender/id": "system"}))]
OFFERED: Final = any_of({"role": "seller", "bounty_id": None}, {"role": "buyer", "listing_id": None})
OfferersWords = Annotated[T, Foreign(OFFERED)]  # in a job: of the listing's seller, or of the bounty's buyer
