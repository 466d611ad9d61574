"""Clauses of the contract about deliveries: signed, in order, tried again, given up, and only where they may go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from server.sender import Sender
from server.world.web import GuardedWeb
from storage.store import Store
from tests.market import Agent, TestMarket
from tests.receiver import Receiver, verified, verified_by_key


@dataclass
class Scene:
    market: TestMarket
    sender: Sender
    web: GuardedWeb

    async def hook(self, agent: Agent, receiver: Receiver, **given: Any) -> Any:
        return await self.market.call("create_webhook", by=agent, url=receiver.url, **given)

    async def tell(self, agent: Agent, kind: str = "job.created", data: str = '{"n":1}', env: str = "test") -> None:
        at = self.market.clock.now()
        await self.market.store.write(lambda tx: tx.say(agent.id, env, kind, data, at))


@asynccontextmanager
async def opened(store: Store, **web: Any) -> AsyncIterator[Scene]:
    market = TestMarket(store)
    guarded = GuardedWeb(**{"allow_private": True} | web)
    market.market.world = replace(market.market.world, web=guarded)
    market.market.house = replace(market.market.house, allow_private_networks=guarded.allow_private)
    yield Scene(market, Sender(market.market), guarded)
    await guarded.close()


@pytest.fixture
async def scene(store: Store) -> AsyncIterator[Scene]:
    async with opened(store) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as made:
        yield made


async def test_smoke(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    assert await scene.sender.step() == 1
    (posted,) = receiver.got
    print(posted)
    keys = await scene.market.call("get_platform_keys")
    assert verified(posted, hook["secret"]) == verified_by_key(posted, keys)
    print(await scene.market.call("list_webhook_deliveries", by=ada, webhook_id=hook["id"]))
