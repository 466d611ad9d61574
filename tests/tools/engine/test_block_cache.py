"""The cache of blocks: one read for all who look at a block, and bounds in time and bytes."""

import asyncio
from dataclasses import dataclass

import pytest

from storage.vocabulary import Env
from tests.support.market import TestClock
from tools.engine.caches import BLOCK_SECONDS, MAX_BLOCK_BYTES, BlockCache


@dataclass(frozen=True)
class Sized:
    number: int
    size: int = 1000


class Node:
    """Counts the reads of each block; reads of the numbers in `broken` fail."""

    def __init__(self, cache: BlockCache, size: int = 1000) -> None:
        self.cache, self.size, self.read, self.broken = cache, size, [], set[int]()
        self.go_on = asyncio.Event()
        self.go_on.set()

    read: list[int]

    async def of(self, number: int, env: Env = Env.TEST) -> Sized:
        return await self.cache.of(env, number, lambda: self._answer(number))

    async def _answer(self, number: int) -> Sized:
        self.read.append(number)
        await self.go_on.wait()
        if number in self.broken:
            raise ConnectionError(number)
        return Sized(number, self.size)


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


async def test_those_who_come_together_or_later_share_one_read(clock: TestClock) -> None:
    node = Node(BlockCache(clock))
    assert await asyncio.gather(*(node.of(7) for _ in range(5))) == [Sized(7)] * 5
    assert await node.of(7) == Sized(7)
    assert node.read == [7]
    await node.of(7, Env.LIVE)
    assert node.read == [7, 7], "another chain"


async def test_a_read_that_failed_is_made_again(clock: TestClock) -> None:
    node = Node(BlockCache(clock))
    node.broken = {7}
    failed = await asyncio.gather(node.of(7), node.of(7), return_exceptions=True)
    assert [type(one) for one in failed] == [ConnectionError] * 2
    node.broken = set()
    assert await node.of(7) == Sized(7)
    assert node.read == [7, 7]


async def test_a_caller_that_leaves_ends_nothing_for_the_others(clock: TestClock) -> None:
    node = Node(BlockCache(clock))
    node.go_on.clear()
    first, second = (asyncio.create_task(node.of(7)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    node.go_on.set()
    assert await second == Sized(7)
    assert (first.cancelled(), node.read) == (True, [7])


async def test_a_block_is_kept_for_a_time(clock: TestClock) -> None:
    node = Node(BlockCache(clock))
    await node.of(7)
    clock.pass_seconds(BLOCK_SECONDS - 1)
    await node.of(7)
    clock.pass_seconds(1)
    await node.of(7)
    assert node.read == [7, 7]


async def test_the_oldest_go_when_the_others_need_the_room(clock: TestClock) -> None:
    node = Node(BlockCache(clock), MAX_BLOCK_BYTES // 2)
    for number in (1, 2, 3, 4):
        await node.of(number)
    assert sorted(place[1] for place in node.cache.kept) == [2, 3, 4], "two fit beside the one that is read now"
    await node.of(1)
    assert node.read == [1, 2, 3, 4, 1]
