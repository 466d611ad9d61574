"""Marks of fields that a record in brief leaves out; protocol.brief reads them."""

from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bulk:
    """A mark for a value of any size, which is left out when it is large.

    `uri`: the address to read it from, filled with its record's members.
    """

    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Foremost:
    """A mark for a member that only the first `count` records of a list have.

    The other records have enough members to ask for them.
    """

    count: int


ONE_ALONE: Final = "left out of lists"
Bulky = Annotated[T, Bulk()]
Alone = Annotated[T, ONE_ALONE]  # shown in a single record, left out of each record in a list
