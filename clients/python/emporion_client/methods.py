"""Every operation of the market as a method by its own name. The stub beside this file has the signatures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from emporion_client.table import OPERATIONS


class Operations(ABC):
    """The methods; a subclass makes the calls."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPERATIONS:
            raise AttributeError(f"{name!r} is no operation of the market")

        def call(**arguments: Any) -> Any:
            return self._operate(name, arguments)

        call.__name__ = name
        return call

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *OPERATIONS]

    @abstractmethod
    def _operate(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call an operation."""


class AsyncOperations(Operations):
    """The same methods; each returns an awaitable."""
