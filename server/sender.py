"""The sender: fans events out into deliveries and makes the attempts that are due. Any number of processes may run it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import structlog

from protocol.a2a_pushed import PushBodies
from server.workers import context_of
from storage.unit import StorageError, Tx
from storage.webhooks import fanned_out, newest_of_all, soonest_webhook
from tools.catalogue import CATALOGUE
from tools.dispatch import Market
from tools.rules.webhooks import Attempted
from tools.steps.deliveries import BATCH, Claimed, Posting, claim, finish, post, task_to_push
from tools.steps.webhooks import BATCH as FANNED
from tools.steps.webhooks import fan_out

Heard = Callable[[Attempted | None], None]  # told how each attempt ended; None: it was not begun

log = structlog.get_logger("emporion.sender")
MOST_IN_FLIGHT = 64
LOOK_SECONDS = 1.0  # at the latest; a commit that tells somebody something, and an attempt that ends, wake it
GATHER_SECONDS = 0.02  # what is told meanwhile is fanned out together
GRACE_SECONDS = 2.0  # for attempts in flight when the process stops; the others are made again after their lease


class Sender:
    """The loop and its steps. Tests call `step`; the server runs the loop."""

    def __init__(self, market: Market, heard: Heard = lambda _: None) -> None:
        self.market, self.heard = market, heard
        self.pushes = PushBodies(market.house.brand, CATALOGUE.values())
        self.flying: set[asyncio.Task[None]] = set()
        self.woken = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled. What fails is logged and tried again a little later."""
        self.market.store.listeners.append(self._wake)
        try:
            while True:
                self.woken.clear()
                await self._turn()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self.woken.wait()
                await asyncio.sleep(GATHER_SECONDS)
        finally:
            self.market.store.listeners.remove(self._wake)
            await self._land()

    async def step(self) -> int:
        """Fan out what was told and make every attempt that is due by the clock; how many were made."""
        made, more = 0, True
        while more:
            await self.fan_out()
            claimed = await self.claim()
            await asyncio.gather(*(self.deliver(one) for one in claimed.postings))
            made, more = made + len(claimed.postings), claimed.more or bool(claimed.postings)
        return made

    async def fan_out(self) -> None:
        """Write the deliveries of everything that was told."""
        if await self.market.store.look(_is_behind):
            while await self.market.store.write(lambda tx: fan_out(context_of(self.market, tx)), "fan_out") == FANNED:
                pass

    async def claim(self) -> Claimed:
        """Lease some of the attempts that are due longest."""
        now, most = self.market.world.clock.now(), min(BATCH, MOST_IN_FLIGHT - len(self.flying))
        due_at = await self.market.store.look(lambda tx: tx.one(soonest_webhook))
        if due_at is None or due_at > now or not most:
            return Claimed([], False)
        return await self.market.store.write(lambda tx: claim(context_of(self.market, tx), most), "claim_deliveries")

    async def deliver(self, posting: Posting) -> None:
        """Make a claimed attempt and write down how it ended."""
        attempted = await post(self.market.world, self.market.house, await self._written(posting))
        self.heard(attempted)
        await self.market.store.write(
            lambda tx: finish(context_of(self.market, tx), posting, attempted), "finish_delivery"
        )

    async def _written(self, posting: Posting) -> Posting:
        """With its body: a task is written when it is sent, from its job as it then is."""
        if posting.task is None:
            return posting
        record = await self.market.store.look(lambda tx: task_to_push(context_of(self.market, tx), posting))
        return replace(posting, body=self.pushes(record, posting.agent_id, posting.task.form))

    async def _turn(self) -> None:
        try:
            await self.fan_out()
            more = True
            while more:
                claimed = await self.claim()
                for one in claimed.postings:
                    flight = asyncio.create_task(self._fly(one), name=one.delivery_id)
                    self.flying.add(flight)
                    flight.add_done_callback(self._landed)
                more = claimed.more
        except StorageError as error:
            log.warning("sender", error=str(error))
        except Exception:
            log.exception("sender")

    async def _fly(self, posting: Posting) -> None:
        """An attempt whose end cannot be written down is made again after its lease."""
        try:
            await self.deliver(posting)
        except StorageError as error:
            log.warning("delivery", delivery_id=posting.delivery_id, error=str(error))
        except Exception:
            log.exception("delivery", delivery_id=posting.delivery_id)

    def _landed(self, flight: asyncio.Task[None]) -> None:
        self.flying.discard(flight)
        self.woken.set()

    def _wake(self, _: frozenset[str]) -> None:
        self.woken.set()

    async def _land(self) -> None:
        if self.flying:
            _, late = await asyncio.wait(self.flying, timeout=GRACE_SECONDS)
            for flight in late:
                flight.cancel()


def _is_behind(tx: Tx) -> bool:
    """Whether there are events that were not fanned out yet."""
    return (tx.one(newest_of_all) or 0) > (tx.one(fanned_out) or 0)
