"""A market whose webhooks reach receivers on this machine. `await scene.sender.step()` sends the due deliveries."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from server.adapters.web import GuardedWeb
from server.webhook_sender import Sender
from storage.store import Store
from storage.vocabulary import Env
from tests.support.http_receiver import Receiver
from tests.support.market import Agent, CountingDice, TestMarket
from tools.engine.ports import Chain


@dataclass
class Scene:
    """The market and its webhook sender."""

    market: TestMarket
    sender: Sender
    web: GuardedWeb

    async def hook(self, agent: Agent, receiver: Receiver, *, on: str = "test", **given: Any) -> Any:
        return await self.market.call("create_webhook", by=agent, on=on, **{"url": receiver.url} | given)

    async def tell(self, agent: Agent, *kinds: str, env: str = "test", data: str = '{"n":1}') -> None:
        """Write events of these kinds for the agent in one transaction; default: job.created."""
        at = self.market.clock.now()

        def say(tx: Any) -> None:
            for kind in kinds or ("job.created",):
                tx.emit(agent.id, env, kind, data, at)

        await self.market.store.write(say)

    async def seen(self, agent: Agent, hook: Any) -> Any:
        return await self.market.call("get_webhook", by=agent, webhook_id=hook["id"])

    async def deliveries(self, agent: Agent, hook: Any) -> Any:
        """Return the deliveries of a webhook, oldest event first."""
        page = await self.market.call("list_webhook_deliveries", by=agent, webhook_id=hook["id"], limit=100)
        assert not page["has_more"]
        return page["data"][::-1]

    async def events(self, agent: Agent, *types: str) -> Any:
        return (await self.market.call("list_events", by=agent, types=list(types) or None, limit=100))["data"]

    async def after(self, seconds: float) -> int:
        self.market.pass_seconds(seconds)
        return await self.sender.step()


def scene_of(
    store: Store, web: GuardedWeb, chains: Mapping[Env, Chain] | None = None, dice: str = "dice", private: bool = True
) -> Scene:
    market = TestMarket(store, chains)
    market.dice = CountingDice(dice)
    market.market.world = replace(market.market.world, web=web, dice=market.dice)
    market.market.config = replace(market.market.config, allow_private_networks=private)
    return Scene(market, Sender(market.market), web)


@asynccontextmanager
async def opened(store: Store, **given: Any) -> AsyncIterator[Scene]:
    """Open a scene over a store.

    `given` is passed to GuardedWeb, which may call loopback addresses here.
    """
    web = GuardedWeb(**{"allow_private": True} | given)
    yield scene_of(store, web, private=web.allow_private)
    await web.close()
