"""The background loop: expire deadlines, fire schedules, send reminders and delete old rows. Any process may run it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from storage.account_deletion import due_departures
from storage.agent_search import ANY_UNINDEXED
from storage.alerts import ANY_MATCH
from storage.disputes import deserted_cases
from storage.listing_search import stale_listings_counted
from storage.listing_search_tokens import TOKENS_VERSION
from storage.purchases import due_purchases
from storage.reputation import ANY_UNMARKED
from storage.transaction import StorageError, Tx
from storage.vocabulary import Env
from tools.account.deletion import START, Place, close_batch, look_again
from tools.agents.logic import index_waiting
from tools.bounties.alerts import tell_of_bounties
from tools.bounties.logic import expire_due_bounties
from tools.chain.transfer_verification import ChainDown
from tools.engine.arguments import NoArguments
from tools.engine.batch import Place as Due
from tools.engine.context import Caller, CallRequest, Surface, TxContext
from tools.engine.dispatch import Market
from tools.engine.last_seen import write_touches
from tools.engine.ports import Chain
from tools.engine.search_log import write_searches
from tools.events.schedules.logic import fire_due_schedules
from tools.jobs.contributions import count_waiting
from tools.jobs.deadlines import expire_due_jobs, tell_due_notices
from tools.jobs.disputes.panel_actions import judge_due_cases, load_and_resolve
from tools.jobs.lifecycle import CLOCK_MOVES, JobMove
from tools.kernel.records import EPOCH
from tools.listings.logic import index_stale
from tools.operator.retention import forget_old
from tools.purchases.workflow import follow_up

log = structlog.get_logger("emporion.workers")
Batches = Callable[[TxContext, Due], tuple[int, Due | None]]
SYSTEM_CALLER = Caller(None, None, None, (), CallRequest(Surface.REST, "worker", "req_worker"))
PROBE_SECONDS, SWEEP_SECONDS, HOUSEKEEPING_SECONDS = 5.0, 1.0, 300.0
PATIENCE_SECONDS = 3.0
DEPARTURES, INDEX_BATCHES, DESERTED, PURCHASES, MATCH_BATCHES = 50, 20, 50, 20, 10


@dataclass(slots=True)
class PeriodicJob:
    """A periodic job."""

    run: Callable[[], Awaitable[object]]
    every_seconds: float
    apart: bool = False  # it calls external services, which may be slow; deadlines do not wait for it
    next_at: float = 0.0
    failed: bool = False  # at the last run


class Workers:
    """The loop and its steps. Tests call the steps; the server calls `run`."""

    def __init__(self, market: Market, disk_is_low: Callable[[], bool] = lambda: False) -> None:
        self.market, self.disk_is_low = market, disk_is_low
        self.steps = [
            PeriodicJob(self.check_health, PROBE_SECONDS),
            PeriodicJob(self.sweep, SWEEP_SECONDS),
            PeriodicJob(self.expire_bounties, SWEEP_SECONDS),
            PeriodicJob(self.resolve_disputes, SWEEP_SECONDS),
            PeriodicJob(self.send_reminders, SWEEP_SECONDS),
            PeriodicJob(self.fire_schedules, SWEEP_SECONDS),
            PeriodicJob(self.write_touches, 10.0),
            PeriodicJob(self.write_searches, 10.0),
            PeriodicJob(self.follow_up_purchases, SWEEP_SECONDS, apart=True),
            PeriodicJob(self.close_deleted_accounts, SWEEP_SECONDS),
            PeriodicJob(self.index_agents, SWEEP_SECONDS),
            PeriodicJob(self.index_listings, SWEEP_SECONDS),
            PeriodicJob(self.tell_of_bounties, SWEEP_SECONDS),
            PeriodicJob(self.recount_jobs, SWEEP_SECONDS),
            PeriodicJob(self.purge_old, HOUSEKEEPING_SECONDS),
        ]

    async def run(self) -> None:
        """Run until cancelled. A step that fails is logged and tried again at its next time."""
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._again_and_again(self.run_due), name="rounds")
            loops.create_task(self._again_and_again(self.run_due_external), name="rounds-apart")

    async def run_due(self) -> None:
        """Run the due steps that call no external services."""
        await self._round(apart=False)
        self.market.health.rounds += 1
        self.market.health.round_ended = self.market.world.clock.monotonic()

    async def run_due_external(self) -> None:
        """Run the due steps that call external services."""
        await self._round(apart=True)

    async def _again_and_again(self, turn: Callable[[], Awaitable[None]]) -> None:
        while True:
            await turn()
            await asyncio.sleep(min(step.every_seconds for step in self.steps) / 4)

    async def _round(self, *, apart: bool) -> None:
        now = self.market.world.clock.monotonic()
        for step in self.steps:
            if step.apart is apart and now >= step.next_at:
                step.next_at = now + step.every_seconds
                await self._attempt(step)

    async def _attempt(self, step: PeriodicJob) -> None:
        step.failed = True
        try:
            await step.run()
            step.failed = False
        except StorageError as error:
            log.warning("step", step=step.run.__name__, error=str(error))
        except Exception:
            log.exception("step", step=step.run.__name__)

    async def check_health(self) -> None:
        """Check the database, the chains and the other steps; /health shows the results."""
        pulse, market = self.market.health, self.market
        pulse.database = await self._database_answers()
        pulse.workers = market.store.alive and not any(
            step.failed for step in self.steps if step.run != self.check_health
        )
        states = await asyncio.gather(*(self._chain_state(market.world.chains.get(env)) for env in Env))
        pulse.chains = dict(zip(Env, states, strict=True))
        pulse.disk_low = self.disk_is_low()
        pulse.taken_at = market.world.clock.now()

    async def sweep(self) -> int:
        """Apply every transition of a job that is due by the clock."""
        moved = 0
        for move in CLOCK_MOVES:
            after: str | None = ""
            while after is not None:
                count, after = await self._sweep_batch(move, after)
                moved += count
        return moved

    async def expire_bounties(self) -> int:
        """Expire the bounties whose deadline has passed."""
        return await self._in_batches(expire_due_bounties, "expire_bounties")

    async def resolve_disputes(self) -> int:
        """Advance the panels whose deadline has passed or whose evaluator has left."""
        moved, after = 0, ""
        while True:
            count, rest = await self.market.store.write(
                lambda tx: judge_due_cases(context_of(self.market, tx), after),  # noqa: B023
                "judge",
            )
            moved += count
            if rest is None:
                break
            after = rest
        for job_id in await self.market.store.read(lambda tx: tx.all(deserted_cases, limit=DESERTED)):
            moved += await self._judge_one(job_id)
        return moved

    async def close_deleted_accounts(self) -> None:
        """Close the open jobs, listings and bounties of deleted agents; it continues after a crash."""
        market = self.market
        now = market.world.clock.now()
        for agent_id in await market.store.read(lambda tx: tx.all(due_departures, now=now, limit=DEPARTURES)):
            place: Place | None = START
            while place is not None:
                place = await self._close_batch(agent_id, place)
            await self._look_again(agent_id)

    async def index_agents(self) -> None:
        """Index agents that registered before agent search existed, in bounded batches.

        The batches are bounded, here and below, because other steps wait.
        """
        waiting = await self.market.store.read(lambda tx: tx.one(ANY_UNINDEXED) is not None)
        for _ in range(INDEX_BATCHES if waiting else 0):
            if not await self.market.store.write(index_waiting, "index_agents"):
                break

    async def index_listings(self) -> None:
        """Index listings again whose search tokens are of an older version, in bounded batches."""
        waiting = await self.market.store.read(lambda tx: tx.one(stale_listings_counted, version=TOKENS_VERSION))
        for _ in range(INDEX_BATCHES if waiting else 0):
            if not await self.market.store.write(index_stale, "index_listings"):
                break

    async def tell_of_bounties(self) -> None:
        """Notify agents of new bounties that match their profile, in bounded batches."""
        waiting = await self.market.store.read(lambda tx: tx.one(ANY_MATCH) is not None)
        for _ in range(MATCH_BATCHES if waiting else 0):
            work = lambda tx: tell_of_bounties(context_of(self.market, tx))  # noqa: E731 - reads as what it is
            if not await self.market.store.write(work, "tell_of_bounties"):
                break

    async def recount_jobs(self) -> None:
        """Count pending jobs in statistics, in bounded batches."""
        waiting = await self.market.store.read(lambda tx: tx.one(ANY_UNMARKED) is not None)
        for _ in range(INDEX_BATCHES if waiting else 0):
            now = self.market.world.clock.now()
            if not await self.market.store.write(lambda tx: count_waiting(tx, now), "mark_jobs"):  # noqa: B023
                break

    async def send_reminders(self) -> int:
        """Send the reminders that are due: approaching deadlines and overdue work."""
        return await self._in_batches(tell_due_notices, "tell")

    async def fire_schedules(self) -> int:
        """Fire the schedules that are due."""
        return await self._in_batches(fire_due_schedules, "fire")

    async def follow_up_purchases(self) -> int:
        """Follow up x402 purchases whose payment response was lost or whose client disconnected."""
        market = self.market
        now = market.world.clock.now()
        due = await market.store.read(lambda tx: tx.all(due_purchases, now=now, limit=PURCHASES))
        place = market.read_ctx(NoArguments(), SYSTEM_CALLER)
        looks = (follow_up(replace(place, env=Env(row.env)), row.id) for row in due)
        for fault in filter(None, await asyncio.gather(*looks, return_exceptions=True)):
            raise fault  # only after all other purchases were handled
        return len(due)

    async def write_touches(self) -> None:
        taken = self.market.touches.drain()
        if taken:
            await self.market.store.write(lambda tx: write_touches(tx, taken), "touches")

    async def write_searches(self) -> None:
        noted = self.market.searches.drain()
        if noted:
            await self.market.store.write(lambda tx: write_searches(tx, noted), "searches")

    async def purge_old(self) -> None:
        while await self.market.store.write(lambda tx: forget_old(context_of(self.market, tx)), "housekeeping"):
            pass

    async def _judge_one(self, job_id: str) -> int:
        work = lambda tx: load_and_resolve(context_of(self.market, tx), job_id)  # noqa: E731 - reads as what it is
        return int(await self.market.store.write(work, "judge") is not None)

    async def _sweep_batch(self, move: JobMove, after: str) -> tuple[int, str | None]:
        return await self.market.store.write(
            lambda tx: expire_due_jobs(context_of(self.market, tx), move, after), f"sweep_{move.action}"
        )

    async def _close_batch(self, agent_id: str, place: Place) -> Place | None:
        return await self.market.store.write(
            lambda tx: close_batch(context_of(self.market, tx), agent_id, place), "wind_down"
        )

    async def _look_again(self, agent_id: str) -> None:
        await self.market.store.write(lambda tx: look_again(context_of(self.market, tx), agent_id), "wind_down")

    async def _in_batches(self, step: Batches, name: str) -> int:
        done, after = 0, (EPOCH, "")
        while True:
            count, rest = await self.market.store.write(lambda tx: step(context_of(self.market, tx), after), name)  # noqa: B023
            done += count
            if rest is None:
                return done
            after = rest

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
                await chain.block(await chain.head())
                return "ok"
        return "down"


def context_of(market: Market, tx: Tx) -> TxContext:
    """Return a context for work that no caller asked for."""
    now: datetime = market.world.clock.now()
    return TxContext(tx, market.world, market.config, SYSTEM_CALLER, Env.LIVE, now, market.operations)
