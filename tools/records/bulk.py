"""What of a record is left out where it is shown in brief: said once at the field, derived in tools.records.brief."""

from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bulk:
    """Marks a value of any size: left out when it is large. `uri`: where it can be read then, made of its record's members."""

    uri: str | None = None


ONE_ALONE: Final = "left out of lists"
Bulky = Annotated[T, Bulk()]
Alone = Annotated[T, ONE_ALONE]  # shown of one record, left out of each in a list
