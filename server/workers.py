"""The background loops: expire deadlines, fire schedules, delete old rows, check proofs. Any process may run them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger as BoundLogger

from storage.agent_search import ANY_UNINDEXED
from storage.agents import due_departures, due_domains, due_identities
from storage.bounties import ANY_MATCH
from storage.disputes import deserted_cases
from storage.listing_search import ANY_SEEN_UNTIL_NOW, stale_listings_counted
from storage.purchases import due_purchases
from storage.query import Query
from storage.reputation import ANY_UNMARKED
from storage.search_tokens import LEAST_ABSENCE, TOKENS_VERSION
from storage.tables import DomainRow, IdentityRow
from storage.transaction import StorageError, Tx
from storage.vocabulary import Env
from tools.account.deletion import START, Place, close_batch, look_again
from tools.agents.logic import index_waiting
from tools.bounties.alerts import tell_of_bounties
from tools.bounties.logic import expire_due_bounties
from tools.chain.transfer_verification import ChainDown
from tools.domains import logic as domains
from tools.engine.caller import Caller, CallRequest, Surface
from tools.engine.context import ReadContext, TxContext
from tools.engine.dispatch import Market
from tools.engine.last_seen import write_touches
from tools.engine.ports import Chain
from tools.engine.search_log import write_searches
from tools.events.schedules.logic import fire_due_schedules
from tools.identities import logic as identities
from tools.jobs.contributions import count_waiting
from tools.jobs.deadlines import move_due_jobs, tell_due_notices
from tools.jobs.disputes.panel_actions import judge_due_cases, load_and_resolve
from tools.jobs.payments.searches import search_blocks
from tools.kernel.records import EPOCH
from tools.kernel.ssrf_guard import NotAttempted
from tools.listings.absence import rank_seen, rank_unseen, resume_listings
from tools.listings.logic import index_stale
from tools.operator.retention import forget_old
from tools.purchases.workflow import follow_up

log = structlog.get_logger("emporion.workers")
looks_log = structlog.get_logger("emporion.looks")
T = TypeVar("T")
P = TypeVar("P")
Due = TypeVar("Due", DomainRow, IdentityRow)
BEGINNING = (EPOCH, "")
SYSTEM_CALLER = Caller(None, None, None, (), CallRequest(Surface.REST, "worker", "req_worker"))
PROBE_SECONDS, SWEEP_SECONDS, HOUSEKEEPING_SECONDS = 5.0, 1.0, 300.0
CHECKS, CHECK_LEASE = 25, timedelta(minutes=5)  # at once; a check takes at most half a minute
LOOK_SECONDS = 30.0  # between the rounds of the daily checks
PATIENCE_SECONDS = 3.0
DEPARTURES, INDEX_BATCHES, DESERTED, PURCHASES, MATCH_BATCHES = 50, 20, 50, 20, 10
TOUCHES_AT_ONCE = 1_000  # so that calls which write do not wait for all of them


@dataclass(slots=True)
class PeriodicJob:
    """A periodic job."""

    run: Callable[[], Awaitable[object]]
    every_seconds: float
    external: bool = False  # it calls external services, which may be slow; deadlines do not wait for it
    next_at: float = 0.0
    failed: bool = False  # at the last run


class MarketLoop:
    """A background loop of a market. Tests call its steps; the server calls `run`."""

    def __init__(self, market: Market) -> None:
        self.market = market

    async def _write(self, name: str, work: Callable[[TxContext], T]) -> T:
        return await self.market.store.write(lambda tx: work(context_of(self.market, tx)), name)


class Workers(MarketLoop):
    """The clock's moves and the cleaning up, each a periodic job."""

    def __init__(self, market: Market, disk_is_low: Callable[[], bool] = lambda: False) -> None:
        super().__init__(market)
        self.disk_is_low, now = disk_is_low, market.world.clock.monotonic()
        self.steps = [
            PeriodicJob(self.check_health, PROBE_SECONDS),
            PeriodicJob(self.sweep, SWEEP_SECONDS),
            PeriodicJob(self.expire_bounties, SWEEP_SECONDS),
            PeriodicJob(self.resolve_disputes, SWEEP_SECONDS),
            PeriodicJob(self.send_reminders, SWEEP_SECONDS),
            PeriodicJob(self.fire_schedules, SWEEP_SECONDS),
            PeriodicJob(self.write_touches, 10.0),
            PeriodicJob(self.write_searches, 10.0),
            PeriodicJob(self.follow_up_purchases, SWEEP_SECONDS, external=True),
            PeriodicJob(self.search_payments, SWEEP_SECONDS, external=True),
            PeriodicJob(self.close_deleted_accounts, SWEEP_SECONDS),
            PeriodicJob(self.index_agents, SWEEP_SECONDS),
            PeriodicJob(self.index_listings, SWEEP_SECONDS),
            # Not at once: after a pause of the market, sellers that wait for it would rank last.
            PeriodicJob(self.rank_unseen, 10.0, next_at=now + LEAST_ABSENCE.total_seconds()),
            PeriodicJob(self.tell_of_bounties, SWEEP_SECONDS),
            PeriodicJob(self.recount_jobs, SWEEP_SECONDS),
            PeriodicJob(self.purge_old, HOUSEKEEPING_SECONDS),
        ]

    async def run(self) -> None:
        """Run until cancelled. A step that fails is logged and tried again at its next time."""
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._again_and_again(self.run_due), name="rounds")
            loops.create_task(self._again_and_again(partial(self._round, external=True)), name="rounds-apart")

    async def run_due(self) -> None:
        """Run the due steps that call no external services."""
        await self._round(external=False)
        self.market.services.health.rounds += 1
        self.market.services.health.round_ended = self.market.world.clock.monotonic()

    async def _again_and_again(self, turn: Callable[[], Awaitable[None]]) -> None:
        while True:
            await turn()
            await asyncio.sleep(min(step.every_seconds for step in self.steps) / 4)

    async def _round(self, *, external: bool) -> None:
        now = self.market.world.clock.monotonic()
        for step in self.steps:
            if step.external is external and now >= step.next_at:
                step.next_at, step.failed = now + step.every_seconds, True
                step.failed = not await attempt(log, "step", step.run, step=step.run.__name__)

    async def check_health(self) -> None:
        """Check the database, the chains and the other steps; /health shows the results."""
        pulse, market = self.market.services.health, self.market
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
        return await self._in_batches("sweep", move_due_jobs, BEGINNING)

    async def expire_bounties(self) -> int:
        """Expire the bounties whose deadline has passed."""
        return await self._in_batches("expire_bounties", expire_due_bounties, BEGINNING)

    async def resolve_disputes(self) -> int:
        """Advance the panels whose deadline has passed or whose evaluator has left."""
        moved = await self._in_batches("judge", judge_due_cases, "")
        for job_id in await self.market.store.read(lambda tx: tx.all(deserted_cases, limit=DESERTED)):
            moved += await self._write("judge", partial(load_and_resolve, job_id=job_id)) is not None
        return moved

    async def close_deleted_accounts(self) -> None:
        """Close the open jobs, listings and bounties of deleted agents; it continues after a crash."""
        now = self.market.world.clock.now()
        for agent_id in await self.market.store.read(lambda tx: tx.all(due_departures, now=now, limit=DEPARTURES)):
            place: Place | None = START
            while place is not None:
                place = await self._write("wind_down", partial(close_batch, agent_id=agent_id, place=place))
            await self._write("wind_down", partial(look_again, agent_id=agent_id))

    async def index_agents(self) -> None:
        """Index agents that registered before agent search existed."""
        await self._some_batches("index_agents", ANY_UNINDEXED, lambda ctx: index_waiting(ctx.tx))

    async def index_listings(self) -> None:
        """Index listings again whose search tokens are of an older version."""
        stale, version = stale_listings_counted, TOKENS_VERSION
        await self._some_batches("index_listings", stale, lambda ctx: index_stale(ctx.tx), version=version)

    async def rank_unseen(self) -> None:
        """Rank listings last whose sellers were not seen for their accept_timeout_seconds."""
        now = self.market.world.clock.now()
        await self._some_batches("rank_unseen", ANY_SEEN_UNTIL_NOW, rank_unseen, now=now)

    async def tell_of_bounties(self) -> None:
        """Notify agents of new bounties that match their profile."""
        await self._some_batches("tell_of_bounties", ANY_MATCH, tell_of_bounties, most=MATCH_BATCHES)

    async def recount_jobs(self) -> None:
        """Count pending jobs in statistics."""
        await self._some_batches("mark_jobs", ANY_UNMARKED, lambda ctx: count_waiting(ctx.tx, ctx.now))

    async def send_reminders(self) -> int:
        """Send the reminders that are due: approaching deadlines and overdue work."""
        return await self._in_batches("tell", tell_due_notices, BEGINNING)

    async def fire_schedules(self) -> int:
        """Fire the schedules that are due."""
        return await self._in_batches("fire", fire_due_schedules, BEGINNING)

    async def follow_up_purchases(self) -> int:
        """Follow up x402 purchases whose payment response was lost or whose client disconnected."""
        market = self.market
        now = market.world.clock.now()
        due = await market.store.read(lambda tx: tx.all(due_purchases, now=now, limit=PURCHASES))
        looks = (follow_up(ReadContext(market.services, SYSTEM_CALLER, Env(row.env), now), row.id) for row in due)
        for fault in filter(None, await asyncio.gather(*looks, return_exceptions=True)):
            raise fault  # only after all other purchases were handled
        return len(due)

    async def search_payments(self) -> int:
        """Search the blocks for gas-free payments without proof; return how many were found."""
        market, found = self.market, 0
        for env in market.world.chains:
            found += await search_blocks(ReadContext(market.services, SYSTEM_CALLER, env, market.world.clock.now()))
        return found

    async def write_touches(self) -> None:
        taken = [*self.market.services.last_seen.drain().items()]
        for start in range(0, len(taken), TOUCHES_AT_ONCE):
            await self._write("touches", partial(_note_calls, dict(taken[start : start + TOUCHES_AT_ONCE])))

    async def write_searches(self) -> None:
        noted = self.market.services.searches.drain()
        if noted:
            await self.market.store.write(lambda tx: write_searches(tx, noted), "searches")

    async def purge_old(self) -> None:
        while await self._write("housekeeping", forget_old):
            pass

    async def _in_batches(self, name: str, work: Callable[[TxContext, P], tuple[int, P | None]], after: P) -> int:
        """Do a work batch by batch, each from where the last ended; return how much was done."""
        done, rest = 0, after
        while True:
            count, place = await self._write(name, lambda ctx: work(ctx, rest))  # noqa: B023
            done += count
            if place is None:
                return done
            rest = place

    async def _some_batches(
        self,
        name: str,
        waiting: Query[Any],
        work: Callable[[TxContext], bool],
        most: int = INDEX_BATCHES,
        **given: object,
    ) -> None:
        """Do a limited number of batches, because other jobs wait; none if `waiting` finds nothing."""
        if await self.market.store.read(lambda tx: tx.one(waiting, **given)):
            for _ in range(most):
                if not await self._write(name, work):
                    break

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


class DailyRechecks(MarketLoop):
    """Daily checks of all proven domains and linked identity tokens, shared by all processes.

    They have a loop of their own, because slow servers outside must not delay deadlines.
    """

    async def run(self) -> None:
        """Run until cancelled. A failed check is logged and tried again once its lease has ended."""
        while True:
            await attempt(looks_log, "looks", self.step)
            await asyncio.sleep(LOOK_SECONDS)

    async def step(self) -> int:
        """Check everything that is due; return how many checks were made."""
        return await self._all(due_domains, self._at_domain) + await self._all(due_identities, self._at_identity)

    async def _all(self, due_now: Query[Due], look: Callable[[Due], Awaitable[None]]) -> int:
        def claim(ctx: TxContext) -> list[Due]:
            """Claim what is due with a lease, which ends at `check_at`."""
            rows = ctx.tx.all(due_now, now=ctx.now, limit=CHECKS)
            return [ctx.tx.change(row, check_at=ctx.now + CHECK_LEASE) for row in rows]

        looked = 0
        while claimed := await self._write("looks", claim):
            ended = await asyncio.gather(*map(look, claimed), return_exceptions=True)
            for due, error in zip(claimed, ended, strict=True):
                if error is not None:
                    looks_log.error("a look failed", due=repr(due), error=repr(error))
            looked += len(claimed)
        return looked

    async def _at_domain(self, due: DomainRow) -> None:
        market = self.market
        try:
            proof = await domains.look_for_proof(market.world, market.config, due.agent_id, due.domain)
        except NotAttempted:
            proof = None
        await self._write("looks", lambda ctx: domains.finish_check(ctx, due, proof))

    async def _at_identity(self, due: IdentityRow) -> None:
        seen = await identities.look_again(self.market.world, self.market.config, due)
        await self._write("looks", lambda ctx: identities.finish_look(ctx, due, seen))


def _note_calls(taken: dict[tuple[str, str], datetime], ctx: TxContext) -> None:
    sellers = [agent_id for _, agent_id in taken]
    resume_listings(ctx, sellers)  # before their agents are locked
    rank_seen(ctx, sellers)
    write_touches(ctx.tx, taken)


async def attempt(log: BoundLogger, event: str, work: Callable[[], Awaitable[object]], **fields: str) -> bool:
    """Do one step of a loop and log its failure; return True if it did not fail."""
    try:
        await work()
    except StorageError as error:
        log.warning(event, error=str(error), **fields)
    except Exception:
        log.exception(event, **fields)
    else:
        return True
    return False


def context_of(market: Market, tx: Tx) -> TxContext:
    """Return a context for work that no caller asked for."""
    return TxContext(tx, market.world, market.config, SYSTEM_CALLER, Env.LIVE, market.world.clock.now())
