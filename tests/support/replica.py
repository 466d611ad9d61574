"""A streaming replica of a PostgreSQL server of the tests, made by pg_basebackup, and stores that read from it."""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import psycopg

from storage.open import ReadReplica, open_database, serve
from storage.replica import ReplicatedStore
from storage.transaction import Tx
from tests.support.databases import Binaries, PostgresServer
from tests.support.storage_orders import count_jobs

LAG = 5
IN_RECOVERY = "SELECT pg_is_in_recovery()"


class Replica(PostgresServer):
    """A hot standby with a socket in its own folder."""

    def __init__(self, primary: PostgresServer) -> None:
        self.primary = primary
        super().__init__(Binaries(primary.binaries))

    def pause(self) -> None:
        """Stop replaying the primary's log; return when no more is replayed."""
        self._control("SELECT pg_wal_replay_pause()")
        while self._control("SELECT pg_get_wal_replay_pause_state()") != "paused":
            pass

    def resume(self) -> None:
        self._control("SELECT pg_wal_replay_resume()")

    def promote(self) -> None:
        self._control("SELECT pg_promote()")

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def _control(self, words: str) -> object:
        with psycopg.connect(self.url(), autocommit=True) as admin:
            found = admin.execute(words.encode()).fetchone()
        assert found
        return found[0]

    def _make_cluster(self) -> None:
        uid, gid = self.account or (None, None)
        made = subprocess.run(
            [
                self.binaries / "pg_basebackup", "--pgdata", self.folder / "data", "--host", self.primary.folder,
                "--username", "postgres", "--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync",
            ],
            cwd=self.folder, capture_output=True, text=True, check=False,
            user=uid, group=gid, extra_groups=[] if self.account else None,
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"pg_basebackup fails: {made.stderr[-2000:]}")


class Shifted:
    """The clock of a store, which a test moves forward."""

    def __init__(self) -> None:
        self.by = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.by


class Following:
    """A store with a replica, and its clock."""

    def __init__(self, url: str, replica: str, scan_seconds: float = 2.0) -> None:
        store = serve(open_database(url), scan_seconds, ReadReplica(replica, LAG))
        assert isinstance(store, ReplicatedStore)
        self.store, self.clock = store, Shifted()
        store.now_seconds = self.clock

    async def seen(self, agent: str | None = None) -> tuple[bool, int]:
        """Return whether the replica answered, and the number of jobs that its answer shows."""
        return await self.store.lagging(agent).read(look)

    async def follows(self, agent: str | None = None) -> None:
        """Wait until the replica answers this agent."""
        await until(lambda: self.answers_from_replica(agent))

    async def answers_from_replica(self, agent: str | None = None) -> bool:
        return (await self.seen(agent))[0]

    async def proves(self) -> bool:
        return self.store.proven_at > 0

    async def is_in_state(self, state: str) -> bool:
        return self.store.replica_state == state


def look(tx: Tx) -> tuple[bool, int]:
    tx.cursor.execute(IN_RECOVERY)
    return tx.cursor.fetchone()[0], tx.one(count_jobs) or 0


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await is_so():  # noqa: ASYNC110 - nothing tells when a replica has replayed something
            await asyncio.sleep(0.01)
