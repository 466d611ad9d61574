"""A bounded cache in front of rows: dropped by the commit that changes them, before that commit is answered."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from storage.store import Store

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by name, least recently used first to go. Names are what `Tx.forget` was told.

    `most` bounds the sum of the values' sizes; without `size_of` it is their number.
    """

    def __init__(
        self,
        store: Store,
        now_seconds: Callable[[], float],
        most: int = 20_000,
        size_of: Callable[[V], int] = lambda value: 1,
    ) -> None:
        self.values: OrderedDict[str, tuple[V, float]] = OrderedDict()
        self.filling: dict[str, object] = {}
        self.size = 0
        self.now_seconds, self.most, self.size_of = now_seconds, most, size_of
        self.believed_seconds = store.cached_seconds
        store.droppers.append(self.drop)

    def get(self, name: str) -> V | None:
        found = self.values.get(name)
        if found is None:
            return None
        value, read_at = found
        if self.believed_seconds is not None and self.now_seconds() - read_at > self.believed_seconds:
            self._forget(name)
            return None
        self.values.move_to_end(name)
        return value

    async def fetch(self, name: str, read: Callable[[], Awaitable[V | None]]) -> V | None:
        """The cached value, or what `read` finds; kept unless it was dropped while it was being read."""
        found = self.get(name)
        if found is not None:
            return found
        turn, began = self.filling.setdefault(name, object()), self.now_seconds()
        try:
            value = await read()
        finally:
            undropped = self.filling.get(name) is turn  # a drop takes the turn away; who reads after it has another
            if undropped:
                del self.filling[name]
        if value is not None and undropped:
            self._keep(name, value, began)
        return value

    def drop(self, names: Sequence[str]) -> None:
        for name in names:
            self._forget(name)
            self.filling.pop(name, None)

    def _keep(self, name: str, value: V, read_at: float) -> None:
        self._forget(name)
        self.values[name] = (value, read_at)
        self.size += self.size_of(value)
        while self.size > self.most:
            self._forget(next(iter(self.values)))

    def _forget(self, name: str) -> None:
        found = self.values.pop(name, None)
        if found is not None:
            self.size -= self.size_of(found[0])
