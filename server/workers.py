"""The workers: one loop that probes, sweeps deadlines, fires schedules and keeps house. Any number of processes may run it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import structlog

from server.world.sanctions import SanctionsFiles
from storage.unit import StorageError, Tx
from tools.context import Approach, Caller, Context, Surface
from tools.dispatch import Market
from tools.ports import Chain, Env
from tools.records.base import EPOCH
from tools.rules.lifecycle import CLOCK_MOVES, JobMove
from tools.rules.transfers import ChainDown
from tools.steps.batches import Place
from tools.steps.deadlines import expire_due_jobs
from tools.steps.housekeeping import forget_old
from tools.steps.notices import tell_due_notices
from tools.steps.wakeups import fire_due_schedules
from tools.touches import write_touches

log = structlog.get_logger("emporion.workers")
Batches = Callable[[Context, Place], tuple[int, Place | None]]
NOBODY = Caller(None, None, None, (), Approach(Surface.REST, "worker", "req_worker"))
PROBE_SECONDS, SWEEP_SECONDS, HOUSEKEEPING_SECONDS = 5.0, 1.0, 300.0
PATIENCE_SECONDS = 3.0


@dataclass(slots=True)
class Step:
    """Something done again and again."""

    run: Callable[[], Awaitable[object]]
    every_seconds: float
    next_at: float = 0.0


class Workers:
    """The loop and its steps. Tests call the steps; the server runs the loop."""

    def __init__(self, market: Market) -> None:
        self.market = market
        self.steps = [
            Step(self.probe, PROBE_SECONDS),
            Step(self.sweep, SWEEP_SECONDS),
            Step(self.tell, SWEEP_SECONDS),
            Step(self.fire, SWEEP_SECONDS),
            Step(self.write_touches, 10.0),
            Step(self.keep_house, HOUSEKEEPING_SECONDS),
        ]

    async def run(self) -> None:
        """Until cancelled. A step that fails is logged and tried again when it is due."""
        while True:
            now = self.market.world.clock.monotonic()
            for step in self.steps:
                if now >= step.next_at:
                    step.next_at = now + step.every_seconds
                    await self._attempt(step)
            await asyncio.sleep(min(step.every_seconds for step in self.steps) / 4)

    async def _attempt(self, step: Step) -> None:
        try:
            await step.run()
        except StorageError as error:
            log.warning("step", step=step.run.__name__, error=str(error))
        except Exception:
            log.exception("step", step=step.run.__name__)

    async def probe(self) -> None:
        """Ask the database and the chains how they are; /health repeats what they said."""
        pulse, market = self.market.pulse, self.market
        pulse.database = await self._database_answers()
        pulse.workers = market.store.alive
        states = await asyncio.gather(*(self._chain_state(market.world.chains.get(env)) for env in Env))
        pulse.chains = dict(zip(Env, states, strict=True))
        pulse.taken_at = market.world.clock.now()
        if isinstance(market.world.sanctions, SanctionsFiles):
            market.world.sanctions.reload()

    async def sweep(self) -> int:
        """Write every clock move that is due."""
        moved = 0
        for move in CLOCK_MOVES:
            after: str | None = ""
            while after is not None:
                count, after = await self._sweep_batch(move, after)
                moved += count
        return moved

    async def tell(self) -> int:
        """Say what the clock has to say of jobs: deadlines that come near, work that is overdue."""
        return await self._in_batches(tell_due_notices, "tell")

    async def fire(self) -> int:
        """Fire every schedule that is due."""
        return await self._in_batches(fire_due_schedules, "fire")

    async def write_touches(self) -> None:
        taken = self.market.touches.take()
        if taken:
            await self.market.store.write(lambda tx: write_touches(tx, taken), "touches")

    async def keep_house(self) -> None:
        await self.market.store.write(lambda tx: forget_old(self._context(tx)), "housekeeping")

    async def _sweep_batch(self, move: JobMove, after: str) -> tuple[int, str | None]:
        return await self.market.store.write(
            lambda tx: expire_due_jobs(self._context(tx), move, after), f"sweep_{move.action}"
        )

    async def _in_batches(self, step: Batches, name: str) -> int:
        done, after = 0, (EPOCH, "")
        while True:
            count, rest = await self.market.store.write(lambda tx: step(self._context(tx), after), name)  # noqa: B023
            done += count
            if rest is None:
                return done
            after = rest

    def _context(self, tx: Tx) -> Context:
        market = self.market
        now: datetime = market.world.clock.now()
        return Context(tx, market.world, market.house, NOBODY, Env.LIVE, now, market.operations)

    async def _database_answers(self) -> bool:
        with suppress(StorageError, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.market.store.scan(lambda tx: tx.cursor.execute("SELECT 1"))
                return self.market.store.alive
        return False

    async def _chain_state(self, chain: Chain | None) -> str:
        if chain is None:
            return "not_configured"
        with suppress(ChainDown, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await chain.head()
                return "ok"
        return "down"
