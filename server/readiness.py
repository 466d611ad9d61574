"""Readiness for GET /ready: check the database, the workers, the chains and the disk."""

import asyncio
import shutil
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import orjson

from server.pages import Found
from storage.requests import forget_mark
from storage.tables import SettingsRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.dispatch import Market
from tools.engine.errors import TooBusy
from tools.kernel.records import stamp

KEPT_SECONDS = 1.0  # checks are repeated at most this often
PATIENCE_SECONDS = 2.0  # for the write to the database
STALE_SECONDS = 30.0  # maximum age of the workers' last round and of a chain's head; both come every few seconds
MEGABYTE = 1_048_576
OK = "ok"
RETRY_SECONDS = 2


class Readiness:
    """The readiness checks. `disk` is the folder that must not fill up, or None."""

    def __init__(self, market: Market, disk: Path | None, min_free_mb: int) -> None:
        self.market, self.disk, self.min_free_mb = market, disk, min_free_mb
        self.checks: dict[str, str] = {}
        self.checked_at: float | None = None
        self.checking = asyncio.Lock()
        self.writing: asyncio.Future[None] | None = None

    async def __call__(self, scope: MutableMapping[str, Any]) -> Found:
        checks = await self.results()
        request_id = scope["state"]["request_id"]
        failing = [name for name, said in checks.items() if said != OK]
        body = {
            "status": "not_ready" if failing else "ready",
            "checks": checks,
            "time": stamp(self.market.world.clock.now()),
            "request_id": request_id,
        }
        if not failing:
            return Found(200, "application/json", orjson.dumps(body))
        error = TooBusy(
            f"not ready: {', '.join(failing)}",
            hint="checks says what is wrong with each; ask again when it is mended.",
            retry_after_seconds=RETRY_SECONDS,
        )
        body = {"error": error.record(request_id, self.market.config.docs_url), **body}
        return Found(error.status, "application/json", orjson.dumps(body), ((b"retry-after", b"%d" % RETRY_SECONDS),))

    async def results(self) -> dict[str, str]:
        """Return the checks, at most one second old; concurrent requests share them."""
        async with self.checking:
            now = self.market.world.clock.monotonic()
            if self.checked_at is None or now - self.checked_at >= KEPT_SECONDS:
                self.checks = {"database": await self._database(), **dict(self._others())}
                self.checked_at = self.market.world.clock.monotonic()
            return self.checks

    def _others(self) -> Iterator[tuple[str, str]]:
        ended = self.market.services.health.round_ended
        yield "workers", self._is_recent(ended, "their last round ended", never="they have made no round yet")
        chains = self.market.world.chains
        for env in (one for one in Env if one in chains):
            head = chains[env].last_head
            read_at = None if head is None else head[1]
            yield f"chain_{env}", self._is_recent(read_at, "its head was read", never="its head was never read")
        if self.disk is not None:
            yield "disk", self._free(self.disk)

    async def _database(self) -> str:
        """Test a write; while an earlier one is unfinished, wait for it instead of sending another."""
        if not self.market.store.alive:
            return "a thread that serves it has ended"
        if self.writing is None or self.writing.done():
            self.writing = asyncio.ensure_future(self._write())
            # Read the error of an abandoned write, so that asyncio does not report it as unretrieved.
            self.writing.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({self.writing}, timeout=PATIENCE_SECONDS)
        if not self.writing.done():
            return "it did not write in time"
        return OK if self.writing.exception() is None else "it does not write"

    async def _write(self) -> None:
        name = f"ready:{self.market.world.dice.random_bytes(8).hex()}"  # random: processes never use the same row
        await self.market.store.write(lambda tx: write_and_forget(tx, name), "ready")

    def _is_recent(self, at: float | None, what: str, *, never: str) -> str:
        if at is None:
            return never
        age = self.market.world.clock.monotonic() - at
        return OK if age <= STALE_SECONDS else f"{what} {age:.0f} s ago"

    def _free(self, folder: Path) -> str:
        try:
            low = is_low(folder, self.min_free_mb)
        except OSError as error:
            return f"the data folder cannot be looked at: {type(error).__name__}"
        return f"less than {self.min_free_mb} MB are free" if low else OK


def is_low(folder: Path, min_free_mb: int) -> bool:
    """Return True if the folder's disk has less free space than required."""
    return shutil.disk_usage(folder).free < min_free_mb * MEGABYTE


def write_and_forget(tx: Tx, name: str) -> None:
    """Write a row and delete it in one transaction: pages are written, and no row is left."""
    tx.add(SettingsRow(name=name, value=""))
    tx.run(forget_mark, name=name)
