"""Daily checks of every proven domain and every linked identity token, shared by all processes.

They have a loop of their own, because slow servers outside must not delay deadlines.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from server.workers import attempt, context_of
from tools.domains import logic as domains
from tools.engine.context import TxContext
from tools.engine.dispatch import Market
from tools.identities import logic as identities
from tools.kernel.ssrf_guard import NotAttempted

T = TypeVar("T")
Due = TypeVar("Due")

log = structlog.get_logger("emporion.looks")
EVERY_SECONDS = 30.0


class DailyRechecks:
    """The loop and its steps. Tests call `step`; the server calls `run`."""

    def __init__(self, market: Market) -> None:
        self.market = market

    async def run(self) -> None:
        """Run until cancelled. A failed check is logged and tried again once its lease has ended."""
        while True:
            await attempt(log, "looks", self.step)
            await asyncio.sleep(EVERY_SECONDS)

    async def step(self) -> int:
        """Check everything that is due; return how many checks were made."""
        of_domains = await self._all(domains.claim_due, self._at_domain)
        return of_domains + await self._all(identities.claim_due, self._at_identity)

    async def _all(self, claim: Callable[[TxContext], list[Due]], look: Callable[[Due], Awaitable[None]]) -> int:
        looked = 0
        while claimed := await self._write(claim):
            ended = await asyncio.gather(*map(look, claimed), return_exceptions=True)
            for due, error in zip(claimed, ended, strict=True):
                if error is not None:
                    log.error("a look failed", due=due, error=repr(error))
            looked += len(claimed)
        return looked

    async def _at_domain(self, due: domains.Due) -> None:
        market = self.market
        try:
            proof = await domains.look_for_proof(market.world, market.config, due.agent_id, due.domain)
        except NotAttempted:
            proof = None
        await self._write(lambda ctx: domains.finish_check(ctx, due, proof))

    async def _at_identity(self, due: identities.Due) -> None:
        seen = await identities.look_again(self.market.world, self.market.config, due)
        await self._write(lambda ctx: identities.finish_look(ctx, due, seen))

    async def _write(self, step: Callable[[TxContext], T]) -> T:
        return await self.market.store.write(lambda tx: step(context_of(self.market, tx)), "looks")
