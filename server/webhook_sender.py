"""Webhook delivery: turn events into deliveries and make the attempts that are due, in any number of processes."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import structlog

from protocol.a2a.push_notifications import PushBodies
from server.workers import MarketLoop, attempt, context_of
from storage.events import fanned_out, newest_of_all, soonest_webhook
from tools.catalogue import CATALOGUE
from tools.engine.dispatch import Market
from tools.events.webhooks.deliveries import BATCH, Claimed, Posting, claim, finish, post, wait_to_push
from tools.events.webhooks.logic import BATCH as FANNED
from tools.events.webhooks.logic import fan_out
from tools.events.webhooks.rules import Attempted
from tools.jobs.views import task_to_push

OnAttempt = Callable[[Attempted | None], None]  # called after each attempt; None: it was not begun

log = structlog.get_logger("emporion.sender")
MAX_IN_FLIGHT = 64
LOOK_SECONDS = 1.0  # at most; new events and finished attempts wake the loop earlier
GATHER_SECONDS = 0.02  # events of this time are turned into deliveries together
GRACE_SECONDS = 2.0  # for attempts in flight when the process stops; the others are repeated after their lease


class Sender(MarketLoop):
    """The loop and its steps. Tests call `step`; the server calls `run`."""

    def __init__(self, market: Market, on_attempt: OnAttempt = lambda _: None) -> None:
        super().__init__(market)
        self.on_attempt = on_attempt
        self.pushes = PushBodies(market.config.brand, CATALOGUE.values())
        self.in_flight: set[asyncio.Task[bool]] = set()
        self.woken = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled. Failures are logged and retried a little later."""
        self.market.store.listeners.append(self._wake)
        try:
            while True:
                self.woken.clear()
                await attempt(log, "sender", self._turn)
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
        if await self.market.store.read(lambda tx: (tx.one(newest_of_all) or 0) > (tx.one(fanned_out) or 0)):
            while await self._write("fan_out", fan_out) == FANNED:
                pass

    async def claim(self) -> Claimed:
        """Lease the webhook deliveries that have been due longest, for this process alone."""
        now, most = self.market.world.clock.now(), min(BATCH, MAX_IN_FLIGHT - len(self.in_flight))
        due_at = await self.market.store.read(lambda tx: tx.one(soonest_webhook))
        if due_at is None or due_at > now or not most:
            return Claimed([], False)
        return await self._write("claim_deliveries", lambda ctx: claim(ctx, most))

    async def deliver(self, posting: Posting) -> None:
        """Make a leased attempt and store its result."""
        written, wait = await self._written(posting), None
        if written.shows is not None:
            wait = await self._write("count_push", lambda ctx: wait_to_push(ctx, written))
        attempted = None if wait else await post(self.market.world, self.market.config, written)
        self.on_attempt(attempted)
        await self._write("finish_delivery", lambda ctx: finish(ctx, written, attempted, wait))

    async def _written(self, posting: Posting) -> Posting:
        """Fill in the body: a task is rendered from its job's state at the time of sending."""
        hook = posting.webhook
        if hook.form is None:
            return posting
        record, shows = await self.market.store.read(lambda tx: task_to_push(context_of(self.market, tx), hook))
        parts = {"with_order": hook.sent is None, "with_output": hook.sent != shows}
        return replace(posting, body=self.pushes(record, hook.agent_id, hook.form, **parts), shows=shows)

    async def _turn(self) -> None:
        await self.fan_out()
        more = True
        while more:
            claimed = await self.claim()
            for one in claimed.postings:
                # If the result cannot be stored, the attempt is repeated.
                delivery = attempt(log, "delivery", partial(self.deliver, one), delivery_id=one.delivery.id)
                flight = asyncio.create_task(delivery, name=one.delivery.id)
                self.in_flight.add(flight)
                flight.add_done_callback(self._ended)
            more = claimed.more

    def _ended(self, flight: asyncio.Task[bool]) -> None:
        self.in_flight.discard(flight)
        self.woken.set()

    def _wake(self, _: frozenset[str]) -> None:
        self.woken.set()

    async def _drain(self) -> None:
        if self.in_flight:
            _, late = await asyncio.wait(self.in_flight, timeout=GRACE_SECONDS)
            for flight in late:
                flight.cancel()
