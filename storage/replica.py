"""Reads from a replica of PostgreSQL: none is older than a bound, or than what its caller wrote or was notified of.

The primary's log has positions, and a replica shows everything up to the position that it has replayed. Once in each
ping, the store reads the primary's position. That position includes every commit before the ping was sent. A read
needs the first position that was taken after the latest of these moments: `lag_seconds` ago, the last write of its
caller, and the last event for its caller. The session that answers it must have replayed that position. So an idle
primary makes no replica old, and a replica that stopped to replay is noticed by each of its sessions.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

import psycopg
import structlog

from storage.postgres import BELIEVED_SECONDS, Postgres, PostgresStore
from storage.store import EVERYBODY, SCAN_SECONDS, Reader, Reads, WorkItem
from storage.transaction import WROTE, StorageError, TooSlow, Tx, Unavailable

T = TypeVar("T")
Read = Callable[[Tx], T]
WATCH_SECONDS = 1.0
SPARE_SECONDS = 0.5  # beside the time limit of a scan; then the replica counts as unreachable
LEAVE_SECONDS = 1.0  # a reader of a replica that does not answer cannot be ended
# The flushed position, because the inserted one may be behind the header of a page that an idle database never writes.
PRIMARY = """
SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint,
       concat_ws('/', system_identifier, oid, ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int)
FROM pg_control_system(), pg_database WHERE datname = current_database()
"""
REPLAYED = """
SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint, pg_is_in_recovery(), concat_ws('/', system_identifier, oid, timeline_id)
FROM pg_control_system(), pg_control_checkpoint(), pg_database WHERE datname = current_database()
"""
NO_REPLICA = "it is not a replica of the database: EMPORION_READ_DATABASE_URL names another server, or the primary"

log = structlog.get_logger("emporion.replica")


class Behind(StorageError):
    """The replica has not replayed what a read needs."""


class Position(NamedTuple):
    """A position in the log of a database, in bytes.

    `database` names the server's data, the database and the timeline.
    """

    at: int
    database: str


class Positions:
    """The positions and the changed agents of the last `lag_seconds`.

    A position is the primary's. An agent has changed if it wrote or was notified. All times are seconds of the
    store's `now_seconds`.
    """

    def __init__(self, lag_seconds: float) -> None:
        self.lag_seconds = lag_seconds
        self.taken: deque[tuple[float, Position]] = deque()
        self.changed: OrderedDict[str, float] = OrderedDict()  # agent -> the time at which its change became known
        self.all_changed_at = -inf

    def keep(self, sent_at: float, position: Position) -> None:
        """Keep the position that a question sent at this time was answered with."""
        self.taken.append((sent_at, position))
        while self.taken[0][0] < sent_at - self.lag_seconds:
            self.taken.popleft()

    def change(self, agents: Iterable[str], now: float) -> None:
        for agent in agents:
            self.changed[agent] = now
            self.changed.move_to_end(agent)
        while self.changed and next(iter(self.changed.values())) < now - self.lag_seconds:
            self.changed.popitem(last=False)

    def needed(self, agent: str | None, now: float) -> Position | None:
        """Return the position that a read for this agent needs; None if only the primary has it.

        What another process wrote is known as reliably as in the caches: for BELIEVED_SECONDS after a proof.
        """
        since = max(now - self.lag_seconds, self.all_changed_at)
        if agent is not None:
            if not self.taken or now - self.taken[-1][0] > BELIEVED_SECONDS:
                return None
            since = max(since, self.changed.get(agent, -inf))
        return next((position for sent_at, position in self.taken if sent_at > since), None)


class ReplicaTx(Tx):
    replayed: Position | None = None  # by the server of this session, when it was last asked


class Replica(Postgres):
    """The replica. Nothing is written, migrated or listened for here."""

    def reading(self, seconds: float) -> Tx:
        return ReplicaTx(self._keep(self.read_cursor(seconds)), self.dialect, self.classify_error)

    def replayed(self, tx: Tx) -> Position:
        """Ask the server of this session what it has replayed; then begin a snapshot that shows it.

        Raises Unavailable for a server that is no replica.
        """
        assert isinstance(tx, ReplicaTx)
        tx.cursor.execute(REPLAYED)
        at, is_replica, database = tx.cursor.fetchone()
        if not is_replica or at is None:
            raise Unavailable(NO_REPLICA)
        self.control(tx, "ROLLBACK AND CHAIN")
        tx.replayed = Position(at, database)
        return tx.replayed

    def read(self, tx: Tx, work: Read[T], needed: Position) -> T:
        """Run a read in a snapshot that includes `needed`.

        Raises Behind if this session's server has not replayed it. Each session is asked, because the address may
        lead to several replicas.
        """
        assert isinstance(tx, ReplicaTx)
        if not (includes(tx.replayed, needed) or includes(self.replayed(tx), needed)):
            raise Behind("the replica has not replayed what this read needs")
        return work(tx)


class LaggingReads(NamedTuple):
    """The reads of a caller that may be answered by the replica."""

    store: "ReplicatedStore"
    agent: str | None

    async def read(self, read: Read[T]) -> T:
        return await self.store.read_lagging(read, self.agent, self.store.read)

    async def scan(self, read: Read[T]) -> T:
        return await self.store.read_lagging(read, self.agent, self.store.scan)


class Follower(Reader):
    """A reader of the replica.

    It closes its own connection, because the store may be closed before it is answered.
    """

    def run(self) -> None:
        super().run()
        self.discard()


class ReplicatedStore(PostgresStore):
    """A store that reads from a replica what may lag, and everything else from the primary.

    No cache is filled from the replica: a row that was read after its name was dropped must be the new one.
    """

    has_replica = True

    def __init__(
        self,
        database: Postgres,
        replica: Replica,
        lag_seconds: float,
        most_waiting: int = 1024,
        scan_seconds: float = SCAN_SECONDS,
    ) -> None:
        super().__init__(database, most_waiting, scan_seconds)
        self.replica, self.positions = replica, Positions(lag_seconds)
        self.replica_state = "not asked yet"
        self.droppers.append(self._heard_names)
        self.listeners.append(self._heard_events)
        self.lagging_reads: SimpleQueue[WorkItem | None] = SimpleQueue()
        self.followers = [
            Follower(self, self.lagging_reads, f"replica-{number}", replica) for number in range(replica.readers)
        ]
        for worker in self.followers:
            worker.start()
        self.watching = self.loop.create_task(self._watch())

    @property
    def alive(self) -> bool:
        return super().alive and all(worker.is_alive() for worker in self.followers) and not self.watching.done()

    def lagging(self, agent: str | None) -> Reads:
        return LaggingReads(self, agent)

    async def read_lagging(self, read: Read[T], agent: str | None, primary: Callable[[Read[T]], Awaitable[T]]) -> T:
        """Return the replica's answer if it is new enough, otherwise the primary's.

        A refusal counts only from the primary, because the replica may lack the row. A read that was too slow is
        not repeated.
        """
        needed = self.positions.needed(agent, self.now_seconds()) if self.replica_state == "ok" else None
        if needed is not None:
            try:
                return await self._ask_replica(read, needed)
            except TooSlow:
                raise
            except (Unavailable, TimeoutError) as error:
                self._found("unreachable", error)
            except Exception as error:  # noqa: BLE001 - the primary's answer counts, also if it is an error
                log.debug("asked_primary", why=type(error).__name__)
        self.counters.replica_misses += 1
        return await primary(read)

    def close(self) -> None:
        self.watching.cancel()
        self.lagging_reads.put(None)
        super().close()
        for worker in self.followers:
            worker.join(LEAVE_SECONDS)

    async def _ask_replica(self, read: Read[T], needed: Position) -> T:
        async with asyncio.timeout(self.scan_seconds + SPARE_SECONDS):
            answer = await self._ask(
                self.lagging_reads, partial(self.replica.read, work=read, needed=needed), "replica"
            )
        self.counters.replica_reads += 1
        return answer

    async def _prove(self, connection: psycopg.AsyncConnection) -> None:
        """Read the primary's position, and prove the caches.

        The position is kept after the proof, so that each write before it is known.
        """
        sent_at = self.now_seconds()
        position = await self._position(connection)
        await super()._prove(connection)
        if position is not None:
            self.positions.keep(sent_at, position)

    async def _position(self, connection: psycopg.AsyncConnection) -> Position | None:
        """Return the primary's position; None if it does not tell it, because caches do not need it."""
        try:
            found = await (await connection.execute(PRIMARY)).fetchone()
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            self._found("not comparable", error)
            return None
        assert found is not None
        return Position(*found)

    def _heard_names(self, names: Sequence[str]) -> None:
        agents = [name.removeprefix(WROTE) for name in names if name.startswith(WROTE)]
        self.positions.change(agents, self.now_seconds())

    def _heard_events(self, notified: frozenset[str]) -> None:
        now = self.now_seconds()
        if notified == EVERYBODY:
            self.positions.all_changed_at = now
        else:
            self.positions.change(notified, now)

    async def _watch(self) -> None:
        """Ask the replica what it has replayed, again and again.

        A question that was not answered is not sent again, because its thread still waits.
        """
        while True:
            try:
                asked = self._ask(self.lagging_reads, self.replica.replayed, "replica")
                asked.add_done_callback(_mark_read)  # the store may close before the answer comes
                while not (await asyncio.wait([asked], timeout=self.scan_seconds + SPARE_SECONDS))[0]:
                    self._found("unreachable", TimeoutError("it does not answer"))
                self._judge(asked.result())
            except (StorageError, psycopg.Error) as error:
                self._found("unreachable", error)
            await asyncio.sleep(WATCH_SECONDS)

    def _judge(self, replayed: Position) -> None:
        needed = self.positions.needed(None, self.now_seconds())
        if needed is None:
            self._found("not comparable", Unavailable("the primary's position is not known"))
        elif needed.database != replayed.database:
            self._found("unreachable", Unavailable(NO_REPLICA))
        elif includes(replayed, needed):
            self._found("ok")
        else:
            self._found("behind", Behind(f"{needed.at - replayed.at} bytes of the log"))

    def _found(self, state: str, error: Exception | None = None) -> None:
        """Keep the state of the replica; log it if it changed."""
        if state == self.replica_state:
            return
        self.replica_state = state
        if error is None:
            log.info("replica", state=state)
        else:
            log.warning("replica", state=state, why=" ".join(str(error).split()), reads="from the primary")


def _mark_read(asked: asyncio.Future[Position]) -> None:
    """Read the error of a question, so that asyncio does not log it as lost."""
    if not asked.cancelled():
        asked.exception()


def check_replica(primary: str, url: str) -> None:
    """Check that the server at `url` replays the log of the primary. Raises Unavailable if not."""
    replica = Replica(url)
    try:
        with psycopg.connect(primary) as connection:
            found = connection.execute(PRIMARY).fetchone()
        assert found is not None
        replayed = replica.replayed(replica.reading(SCAN_SECONDS))
    except psycopg.Error as error:
        raise Unavailable(" ".join(str(error).split())) from error
    finally:
        replica.close()
    if replayed.database != Position(*found).database:
        raise Unavailable(NO_REPLICA)


def includes(replayed: Position | None, needed: Position) -> bool:
    """Check whether a server that replayed one position shows everything before the other."""
    return replayed is not None and replayed.database == needed.database and replayed.at >= needed.at
