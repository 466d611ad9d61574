"""Webhook delivery: turn events into deliveries and make the attempts that are due, in any number of processes."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import structlog

from protocol.a2a.push_bodies import PushBodies
from server.workers import context_of
from storage.transaction import StorageError, Tx
from storage.webhooks import fanned_out, newest_of_all, soonest_webhook
from tools.catalogue import CATALOGUE
from tools.engine.dispatch import Market
from tools.events.webhooks.deliveries import BATCH, Claimed, Posting, claim, finish, post, wait_to_push
from tools.events.webhooks.logic import BATCH as FANNED
from tools.events.webhooks.logic import fan_out
from tools.events.webhooks.rules import Attempted
from tools.jobs.views import task_to_push

Heard = Callable[[Attempted | None], None]  # called after each attempt; None: it was not begun

log = structlog.get_logger("emporion.sender")
MAX_IN_FLIGHT = 64
LOOK_SECONDS = 1.0  # at most; new events and finished attempts wake the loop earlier
GATHER_SECONDS = 0.02  # events of this time are turned into deliveries together
GRACE_SECONDS = 2.0  # for attempts in flight when the process stops; the others are repeated after their lease


class Sender:
    """The loop and its steps. Tests call `step`; the server calls `run`."""

    def __init__(self, market: Market, heard: Heard = lambda _: None) -> None:
        self.market, self.heard = market, heard
        self.pushes = PushBodies(market.config.brand, CATALOGUE.values())
        self.flying: set[asyncio.Task[None]] = set()
        self.woken = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled. Failures are logged and retried a little later."""
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
            await self._drain()

    async def step(self) -> int:
        """Turn new events into deliveries and make every attempt that is due; return their number."""
        made, more = 0, True
        while more:
            await self.fan_out()
            claimed = await self.claim()
            await asyncio.gather(*(self.deliver(one) for one in claimed.postings))
            made, more = made + len(claimed.postings), claimed.more or bool(claimed.postings)
        return made

    async def fan_out(self) -> None:
        """Write the deliveries of all new events."""
        if await self.market.store.read(_is_behind):
            while await self.market.store.write(lambda tx: fan_out(context_of(self.market, tx)), "fan_out") == FANNED:
                pass

    async def claim(self) -> Claimed:
        """Lease the attempts that have been due longest."""
        now, most = self.market.world.clock.now(), min(BATCH, MAX_IN_FLIGHT - len(self.flying))
        due_at = await self.market.store.read(lambda tx: tx.one(soonest_webhook))
        if due_at is None or due_at > now or not most:
            return Claimed([], False)
        return await self.market.store.write(lambda tx: claim(context_of(self.market, tx), most), "claim_deliveries")

    async def deliver(self, posting: Posting) -> None:
        """Make a leased attempt and store its result."""
        written, wait = await self._written(posting), None
        if written.task is not None:
            wait = await self.market.store.write(
                lambda tx: wait_to_push(context_of(self.market, tx), written), "count_push"
            )
        attempted = None if wait else await post(self.market.world, self.market.config, written)
        self.heard(attempted)
        await self.market.store.write(
            lambda tx: finish(context_of(self.market, tx), written, attempted, wait), "finish_delivery"
        )

    async def _written(self, posting: Posting) -> Posting:
        """Fill in the body: a task is rendered from its job's state at the time of sending."""
        if posting.task is None:
            return posting
        record, shows = await self.market.store.read(lambda tx: task_to_push(context_of(self.market, tx), posting))
        task = replace(posting.task, shows=shows)
        holds_order, holds_output = task.sent is not None, task.sent == shows
        body = self.pushes(
            record, posting.agent_id, task.form, with_order=not holds_order, with_output=not holds_output
        )
        return replace(posting, body=body, task=task)

    async def _turn(self) -> None:
        try:
            await self.fan_out()
            more = True
            while more:
                claimed = await self.claim()
                for one in claimed.postings:
                    flight = asyncio.create_task(self._attempt(one), name=one.delivery_id)
                    self.flying.add(flight)
                    flight.add_done_callback(self._landed)
                more = claimed.more
        except StorageError as error:
            log.warning("sender", error=str(error))
        except Exception:
            log.exception("sender")

    async def _attempt(self, posting: Posting) -> None:
        """Deliver and log a failure; if its result cannot be stored, the attempt is repeated."""
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

    async def _drain(self) -> None:
        if self.flying:
            _, late = await asyncio.wait(self.flying, timeout=GRACE_SECONDS)
            for flight in late:
                flight.cancel()


def _is_behind(tx: Tx) -> bool:
    """Return True if there are events that were not turned into deliveries yet."""
    return (tx.one(newest_of_all) or 0) > (tx.one(fanned_out) or 0)
