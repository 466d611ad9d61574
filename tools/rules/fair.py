"""A fair page: one seller with many listings does not stand in a row while others wait."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar


class Offered(Protocol):
    """Whatever somebody sells."""

    @property
    def seller_id(self) -> str: ...


T = TypeVar("T", bound=Offered)


def interleave(page: Sequence[T]) -> list[T]:
    """The page with no two neighbours of one seller while another seller's are left; else in the order given.

    Where a page ends does not change: the next page's cursor is the last of the page as it was given.
    """
    if all(one.seller_id != other.seller_id for one, other in pairwise(page)):
        return list(page)
    waiting, fair = list(page), list[T]()
    while waiting:
        last = fair[-1].seller_id if fair else None
        place = next((n for n, hit in enumerate(waiting) if hit.seller_id != last), 0)
        fair.append(waiting.pop(place))
    return fair
