"""A chain port that passes each call through an observer, for metrics and traces."""

from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeVar

from storage.vocabulary import Env
from tools.engine.ports import Chain

T = TypeVar("T")


class Watch(Protocol):
    async def __call__(self, env: Env, method: str, asked: Awaitable[T]) -> T:
        """Await the result and return it; `method` is the name of the port's method."""


class WatchedChain:
    """A chain port that passes each call of `inner` through `watch`."""

    def __init__(self, inner: Chain, env: Env, watch: Watch) -> None:
        self.inner, self.env, self.watch = inner, env, watch

    @property
    def chain_id(self) -> int:
        return self.inner.chain_id

    @property
    def last_head(self) -> tuple[int, float] | None:
        return self.inner.last_head

    @property
    def last_block_time(self) -> tuple[int, float] | None:
        return self.inner.last_block_time

    async def receipt(self, transaction: str) -> object:
        return await self.watch(self.env, "receipt", self.inner.receipt(transaction))

    async def head(self) -> int:
        return await self.watch(self.env, "head", self.inner.head())

    async def block(self, number: int) -> object:
        return await self.watch(self.env, "block", self.inner.block(number))

    async def whole_block(self, number: int) -> object:
        return await self.watch(self.env, "whole_block", self.inner.whole_block(number))

    async def call(self, to: str, data: str) -> str | None:
        return await self.watch(self.env, "call", self.inner.call(to, data))


def watched_chains(chains: Mapping[Env, Chain], watch: Watch) -> dict[Env, Chain]:
    return {env: WatchedChain(chain, env, watch) for env, chain in chains.items()}
