"""A chain whose questions somebody watches: the same port, each answer awaited by whoever counts or traces it."""

from collections.abc import Awaitable
from typing import Protocol, TypeVar

from tools.ports import Chain

T = TypeVar("T")


class Watch(Protocol):
    async def __call__(self, method: str, asked: Awaitable[T]) -> T:
        """Await what was asked and answer it; `method` is the port's."""


class WatchedChain:
    """`inner` under `watch`."""

    def __init__(self, inner: Chain, watch: Watch) -> None:
        self.inner, self.watch = inner, watch

    @property
    def chain_id(self) -> int:
        return self.inner.chain_id

    @property
    def last_head(self) -> tuple[int, float] | None:
        return self.inner.last_head

    async def receipt(self, transaction: str) -> object:
        return await self.watch("receipt", self.inner.receipt(transaction))

    async def head(self) -> int:
        return await self.watch("head", self.inner.head())

    async def block(self, number: int) -> object:
        return await self.watch("block", self.inner.block(number))

    async def whole_block(self, number: int) -> object:
        return await self.watch("whole_block", self.inner.whole_block(number))

    async def call(self, to: str, data: str) -> str | None:
        return await self.watch("call", self.inner.call(to, data))
