"""What of a record is left out where it is shown in brief: said once at the field, derived in protocol.brief."""

from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bulk:
    """Marks a value of any size: left out when it is large. `uri`: where it can be read then, made of its record's members."""

    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Foremost:
    """Marks what in a list only the first few records are shown with: the others say enough to ask for them."""

    count: int


ONE_ALONE: Final = "left out of lists"
Bulky = Annotated[T, Bulk()]
Alone = Annotated[T, ONE_ALONE]  # shown of one record, left out of each in a list
