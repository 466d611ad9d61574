"""PostgreSQL: any number of processes; rows are locked by the units that change them."""

import asyncio
import time

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from storage.store import EVERYBODY, SCAN_SECONDS, Database, Store
from storage.unit import Conflict, Cursor, Held, TooSlow, Tx, Unavailable

PATIENT = "set_config('lock_timeout', '5s', true)"  # a COMMIT waits its turn among those that notify
EVENT_ORDER = (
    f"SELECT {PATIENT}, pg_advisory_xact_lock(7303014), pg_notify('market', %s)"  # any number, always the same
)
STALE = f"SELECT {PATIENT}, pg_notify('market', %s)"
MOST_NOTIFIED = 100  # names in one notification: PostgreSQL takes less than 8,000 bytes
WRITER = "-c lock_timeout=2ms -c statement_timeout=10s -c idle_in_transaction_session_timeout=30s"
MOVED = (errors.UniqueViolation, errors.SerializationFailure)
HELD = (errors.LockNotAvailable, errors.DeadlockDetected)
FAILED = (psycopg.OperationalError, errors.ReadOnlySqlTransaction)  # read only: an operator's word, or a failover's
RECONNECT_SECONDS = 1.0
PING_SECONDS = 5.0
CONNECT_SECONDS = 5


class Postgres(Database):
    """A server, spoken to by psycopg; the engine is for its dialect, its URL and migrations."""

    begin = "BEGIN"
    writers, readers, batch = 4, 4, 32

    def __init__(self, url: str) -> None:
        address = make_url(url)
        if "connect_timeout" not in address.query:
            address = address.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
        self.address = address.set(drivername="postgresql").render_as_string(hide_password=False)
        self.engine = create_engine(
            address.set(drivername="postgresql+psycopg"), paramstyle="format", poolclass=NullPool
        )
        super().__init__(self.engine.dialect)

    def write_cursor(self) -> Cursor:
        return psycopg.connect(self.address, autocommit=True, options=WRITER).cursor()

    def read_cursor(self, seconds: float) -> Cursor:
        limit = f"-c statement_timeout={int(seconds * 1000)} -c idle_in_transaction_session_timeout=0"
        cursor = psycopg.connect(self.address, autocommit=True, options=limit).cursor()
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return cursor

    def start_read(self, tx: Tx, seconds: float) -> None:
        """The transaction has begun when the one before ended; the server counts each statement's seconds."""
        tx.until = time.monotonic() + seconds

    def end_read(self, tx: Tx) -> None:
        """And begin the next: its moment is that of its first statement, not this one."""
        self.control(tx, "ROLLBACK AND CHAIN")

    def control(self, tx: Tx, words: str) -> None:
        """Past psycopg: it would forget the statements it prepared at every ROLLBACK, also one to a savepoint."""
        result = tx.cursor.connection.pgconn.exec_(words.encode())
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.OperationalError(result.get_error_message())

    def finish(self, tx: Tx) -> None:
        with tx.cursor.connection.pipeline():  # one round trip: nothing is waited for while the lock is held
            for start in range(0, len(tx.stale), MOST_NOTIFIED):
                tx.cursor.execute(STALE, ["stale " + " ".join(tx.stale[start : start + MOST_NOTIFIED])])
            if tx.events:
                tx.cursor.execute(
                    EVENT_ORDER, ["events " + " ".join(tx.told if len(tx.told) <= MOST_NOTIFIED else EVERYBODY)]
                )
                tx.write_events()
            commit = tx.cursor.connection.execute("COMMIT")
        if commit.statusmessage != "COMMIT":  # PostgreSQL answers a broken transaction's COMMIT with a quiet ROLLBACK
            raise Unavailable(f"the server answered COMMIT with {commit.statusmessage}")

    def verdict(self, error: Exception) -> Exception:
        if isinstance(error, MOVED):
            return Conflict(str(error))
        if isinstance(error, HELD):
            return Held(str(error))
        if isinstance(error, errors.QueryCanceled):
            return TooSlow(str(error))
        if isinstance(error, FAILED):
            return Unavailable(str(error))
        return error


class PostgresStore(Store):
    """A store that also hears of the events other processes commit, and of what they make stale."""

    cached_seconds = 1.0  # a notification may be lost with its connection: then a cached row is believed no longer

    def __init__(self, database: Postgres, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        super().__init__(database, most_waiting, scan_seconds)
        self.hearing = self.loop.create_task(self._hear(database.address))

    @property
    def alive(self) -> bool:
        return super().alive and not self.hearing.done()

    def close(self) -> None:
        self.hearing.cancel()
        super().close()

    async def _hear(self, address: str) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
                    await connection.execute("LISTEN market")
                    self.wake()  # for what was missed while nobody listened
                    while True:
                        async for heard in connection.notifies(timeout=PING_SECONDS):
                            self._heard(heard.payload)
                        async with asyncio.timeout(CONNECT_SECONDS):  # a silent connection may be a dead one
                            await connection.execute("SELECT 1")
            except (psycopg.OperationalError, TimeoutError):
                await asyncio.sleep(RECONNECT_SECONDS)

    def _heard(self, payload: str) -> None:
        what, *names = payload.split(" ")
        if what == "events":
            self.wake(frozenset(names))
        else:
            self.drop(names)
