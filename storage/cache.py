"""A bounded cache of rows. A commit drops the entries it changes before it is acknowledged."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from storage.store import Store

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by name; the least recently used are evicted first.

    Names are those passed to `Tx.invalidate`, or any hashable value if only an owner is ever dropped. `most` limits the sum of the values' sizes or, without `size_of`, their
    number. With `owner_of` (the id of another row that a value shows) and `owners` (a prefix), dropping the name
    `owners:<id>` drops all values of that owner.
    """

    def __init__(
        self,
        store: Store,
        most: int = 20_000,
        size_of: Callable[[V], int] = lambda value: 1,
        owners: str = "",
        owner_of: Callable[[V], str] | None = None,
    ) -> None:
        self.values: OrderedDict[Hashable, tuple[V, float]] = OrderedDict()
        self.filling: dict[Hashable, object] = {}
        self.size = 0
        self.owners, self.owner_of = f"{owners}:", owner_of
        self.owned: dict[str, set[Hashable]] = {}  # names of the cached values of each owner
        self.store, self.most, self.size_of = store, most, size_of
        store.droppers.append(self.invalidate)

    def get(self, name: Hashable) -> V | None:
        found = self.values.get(name)
        if found is None:
            return None
        value, read_at = found
        if not self.store.believes(read_at):
            self._remove(name)
            return None
        self.values.move_to_end(name)
        return value

    async def fetch(self, name: Hashable, read: Callable[[], Awaitable[V | None]]) -> V | None:
        """Return the cached value, or what `read` finds.

        The value is cached unless its name was dropped during the read.
        """
        found = self.get(name)
        if found is not None:
            return found
        turn, began = self.filling.setdefault(name, object()), self.store.now_seconds()
        try:
            value = await read()
        finally:
            # A drop removes this token, so the result of an older read is not cached.
            undropped = self.filling.get(name) is turn
            if undropped:
                del self.filling[name]
        if value is not None and undropped:
            self._keep(name, value, began)
        return value

    def invalidate(self, names: Sequence[str]) -> None:
        for name in names:
            self._remove(name)
            self.filling.pop(name, None)
            if self.owner_of and name.startswith(self.owners):
                self.filling.clear()  # the owner of a value that is still being read is unknown
                owned = self.owned.get(name.removeprefix(self.owners), ())
                if len(owned) == len(self.values):
                    self.clear()
                else:
                    for one in tuple(owned):
                        self._remove(one)

    def clear(self) -> None:
        """Drop everything."""
        self.values.clear()
        self.filling.clear()
        self.owned.clear()
        self.size = 0

    def _keep(self, name: Hashable, value: V, read_at: float) -> None:
        self._remove(name)
        self.values[name] = (value, read_at)
        self.size += self.size_of(value)
        if self.owner_of:
            self.owned.setdefault(self.owner_of(value), set()).add(name)
        while self.size > self.most:
            self._remove(next(iter(self.values)))

    def _remove(self, name: Hashable) -> None:
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
