"""Fair pages: keeps the listings of one seller apart if other sellers have listings on the page."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar


class Offered(Protocol):
    """Anything that has a seller."""

    @property
    def seller_id(self) -> str: ...


T = TypeVar("T", bound=Offered)


def interleave(page: Sequence[T]) -> list[T]:
    """Reorder a page so that neighbours have different sellers, as far as possible.

    Otherwise the order stays. The next page's cursor is still the last item of the page in its given order.
    """
    if all(one.seller_id != other.seller_id for one, other in pairwise(page)):
        return list(page)
    waiting, fair = list(page), list[T]()
    while waiting:
        last = fair[-1].seller_id if fair else None
        place = next((n for n, hit in enumerate(waiting) if hit.seller_id != last), 0)
        fair.append(waiting.pop(place))
    return fair
