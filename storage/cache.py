"""A bounded cache in front of rows: dropped by the commit that changes them, before that commit is answered."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from storage.store import Store

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by name, least recently used first to go. Names are what `Tx.forget` was told.

    `most` bounds the sum of the values' sizes; without `size_of` it is their number.
    With `owner_of` (the id of the row a value also shows) and `owners` (the word before it), `owners:<id>` drops all
    values of that owner.
    """

    def __init__(
        self,
        store: Store,
        now_seconds: Callable[[], float],
        most: int = 20_000,
        size_of: Callable[[V], int] = lambda value: 1,
        owners: str = "",
        owner_of: Callable[[V], str] | None = None,
    ) -> None:
        self.values: OrderedDict[str, tuple[V, float]] = OrderedDict()
        self.filling: dict[str, object] = {}
        self.size = 0
        self.owners, self.owner_of = f"{owners}:", owner_of
        self.owned: dict[str, set[str]] = {}  # what is kept of each owner
        self.now_seconds, self.most, self.size_of = now_seconds, most, size_of
        self.believed_seconds = store.cached_seconds
        store.droppers.append(self.drop)

    def get(self, name: str) -> V | None:
        found = self.values.get(name)
        if found is None:
            return None
        value, read_at = found
        if self.believed_seconds is not None and self.now_seconds() - read_at > self.believed_seconds:
            self._remove(name)
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
            self._remove(name)
            self.filling.pop(name, None)
            if self.owner_of and name.startswith(self.owners):
                self.filling.clear()  # whose they are is not known before they are read
                for one in tuple(self.owned.get(name.removeprefix(self.owners), ())):
                    self._remove(one)

    def _keep(self, name: str, value: V, read_at: float) -> None:
        self._remove(name)
        self.values[name] = (value, read_at)
        self.size += self.size_of(value)
        if self.owner_of:
            self.owned.setdefault(self.owner_of(value), set()).add(name)
        while self.size > self.most:
            self._remove(next(iter(self.values)))

    def _remove(self, name: str) -> None:
        found = self.values.pop(name, None)
        if found is None:
            return
        self.size -= self.size_of(found[0])
        if self.owner_of is None:
            return
        owner = self.owner_of(found[0])
        names = self.owned.get(owner, set())
        names.discard(name)
        if not names:
            self.owned.pop(owner, None)
