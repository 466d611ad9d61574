"""PostgreSQL: any number of processes; a unit of work locks the rows it changes."""

import asyncio
import re
import time
from math import inf

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from storage.database import Database
from storage.store import EVERYBODY, SCAN_SECONDS, Store
from storage.transaction import Conflict, Cursor, LockTimeout, StorageError, TooSlow, Tx, Unavailable

PATIENT = "set_config('lock_timeout', '5s', true)"  # because a COMMIT that notifies waits for the others
EVENT_ORDER = (
    # The lock's number is arbitrary but fixed.
    f"SELECT {PATIENT}, pg_advisory_xact_lock(7303014), pg_notify('market', %s)"
)
STALE = f"SELECT {PATIENT}, pg_notify('market', 'stale ' || nextval('stale_numbers') || ' ' || %s)"
LAST_STALE = "SELECT last_value - (NOT is_called)::int FROM stale_numbers"
MAX_NOTIFIED = 100  # names per notification: PostgreSQL accepts less than 8,000 bytes
WRITER = "-c lock_timeout=2ms -c statement_timeout=10s -c idle_in_transaction_session_timeout=30s"
VERDICTS: tuple[tuple[tuple[type[Exception], ...], type[StorageError]], ...] = (  # the first that fits
    ((errors.UniqueViolation, errors.SerializationFailure), Conflict),
    ((errors.LockNotAvailable, errors.DeadlockDetected), LockTimeout),
    ((errors.QueryCanceled,), TooSlow),
    # Read-only: set by an operator or a failover.
    ((psycopg.OperationalError, errors.ReadOnlySqlTransaction), Unavailable),
)
BELIEVED_SECONDS = 1.0  # no cached row shows an older state of the database
PING_SECONDS = 0.4
PROOF_SECONDS = 5.0  # without an answer, or with a notification missing for so long, the connection is replaced
RECONNECT_SECONDS = 1.0
NO_SESSION = (
    "the address of the database keeps no session, as a pooler in transaction mode does not, or receives no notification that is sent through "
    "EMPORION_DATABASE_URL: set EMPORION_DATABASE_DIRECT_URL to the address of the same database without the pooler"
)
POSTGRESQL = re.compile(r"PostgreSQL \d+(?!.*(-YB-|Redshift))")
OTHER_ENGINE = (
    "the database says that it is {said!r}. The market needs PostgreSQL itself, because another engine may accept LISTEN, advisory locks, "
    "SKIP LOCKED and sequences that rise in the order of commits, and keep none of their promises"
)
CONNECT_SECONDS = 5


class Postgres(Database):
    """A server, accessed with psycopg; the engine serves dialect, URL and migrations."""

    begin = "BEGIN"
    writers, readers, batch = 4, 4, 32

    def __init__(self, url: str, direct: str | None = None) -> None:
        self.address, self.direct = _address(url), _address(direct or url)
        self.engine = create_engine(
            make_url(self.direct).set(drivername="postgresql+psycopg"), paramstyle="format", poolclass=NullPool
        )
        super().__init__(self.engine.dialect)

    def check_sessions(self) -> None:
        """Check that the server is PostgreSQL, and that a session keeps its options and is notified.

        The session is one of `direct`, and the notification is sent through `address`. Raises Unavailable if not:
        notifications would be lost, and a session of the pooler would keep the migrations' lock.
        """
        try:
            with (
                psycopg.connect(self.direct, autocommit=True, options=WRITER) as listener,
                psycopg.connect(self.address, autocommit=True) as sender,
            ):
                _refuse_other_engine(listener)
                kept = listener.execute("SHOW lock_timeout").fetchone() == ("2ms",)
                listener.execute("LISTEN session_check")
                with sender.transaction():  # a pooler in statement mode refuses it
                    sender.execute("NOTIFY session_check")
                heard = kept and any(listener.notifies(timeout=CONNECT_SECONDS, stop_after=1))
        except psycopg.Error as error:
            reason = NO_SESSION if "startup parameter" in str(error) else "the database cannot be opened"
            raise Unavailable(f"{reason}: {' '.join(str(error).split())}") from error
        if not heard:
            raise Unavailable(NO_SESSION)

    def keeps_commits(self) -> bool:
        """Check whether acknowledged commits are on the disk of the server. Raises Unavailable."""
        try:
            with psycopg.connect(self.address, autocommit=True) as connection:
                return connection.execute("SHOW synchronous_commit").fetchone() != ("off",)
        except psycopg.Error as error:
            raise Unavailable(" ".join(str(error).split())) from error

    def write_cursor(self) -> Cursor:
        return psycopg.connect(self.address, autocommit=True, options=WRITER).cursor()

    def read_cursor(self, seconds: float) -> Cursor:
        limit = f"-c statement_timeout={int(seconds * 1000)} -c idle_in_transaction_session_timeout=0"
        cursor = psycopg.connect(self.address, autocommit=True, options=limit).cursor()
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return cursor

    def start_read(self, tx: Tx, seconds: float) -> None:
        """Set the deadline.

        The transaction has begun when the previous one ended. The server limits the time of each statement.
        """
        tx.deadline = time.monotonic() + seconds

    def end_read(self, tx: Tx) -> None:
        """End the transaction and begin the next.

        The snapshot of the next one is taken at its first statement.
        """
        self.control(tx, "ROLLBACK AND CHAIN")

    def control(self, tx: Tx, *commands: str) -> None:
        """Run transaction commands without psycopg.

        psycopg would drop its prepared statements at every ROLLBACK, even one to a savepoint.
        """
        result = tx.cursor.connection.pgconn.exec_("; ".join(commands).encode())
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.OperationalError(result.get_error_message())

    def finish(self, tx: Tx) -> None:
        with tx.cursor.connection.pipeline():  # one round trip, so that the lock is held only briefly
            for start in range(0, len(tx.invalidated), MAX_NOTIFIED):
                tx.cursor.execute(STALE, [" ".join(tx.invalidated[start : start + MAX_NOTIFIED])])
            if tx.events or tx.daily:
                tx.cursor.execute(
                    EVENT_ORDER, ["events " + " ".join(tx.notified if len(tx.notified) <= MAX_NOTIFIED else EVERYBODY)]
                )
                tx.write_counts()
                tx.write_events()
            commit = tx.cursor.connection.execute("COMMIT")
        if commit.statusmessage != "COMMIT":  # a failed transaction's COMMIT is answered with ROLLBACK, without error
            raise Unavailable(f"the server answered COMMIT with {commit.statusmessage}")

    def classify_error(self, error: Exception) -> Exception:
        return next((verdict(str(error)) for kinds, verdict in VERDICTS if isinstance(error, kinds)), error)


class PostgresStore(Store):
    """A store that also receives the events and the stale cache names of other processes.

    The database numbers the notifications of stale names before their COMMIT. A ping reads the last number. Once all
    numbers up to it were heard, every change that was committed before the ping was sent has reached the caches. So
    they are believed for BELIEVED_SECONDS from the sending of that ping. That ends if a notification or the connection
    is lost, and if the server or this process is stopped. Rows that were read before the connection began to listen
    are believed for BELIEVED_SECONDS from their read only.
    """

    def __init__(self, database: Postgres, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        super().__init__(database, most_waiting, scan_seconds)
        self.listening_since = self.proven_at = -inf  # in seconds of now_seconds
        self.heard_up_to = 0  # every notification up to this number was heard
        self.heard_beyond: set[int] = set()
        self.hearing = self.loop.create_task(self._hear(database.direct))

    @property
    def alive(self) -> bool:
        return super().alive and not self.hearing.done()

    def believes(self, read_at: float) -> bool:
        current_at = max(read_at, self.proven_at) if read_at > self.listening_since else read_at
        return self.now_seconds() - current_at <= BELIEVED_SECONDS

    def close(self) -> None:
        self.hearing.cancel()
        super().close()

    async def _hear(self, address: str) -> None:
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(address, autocommit=True)
                try:
                    await self._listen(connection)
                finally:
                    await connection.close()  # `async with` rolls back first, and a second cancellation ends that
            except (psycopg.OperationalError, TimeoutError):
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self, connection: psycopg.AsyncConnection) -> None:
        async with asyncio.timeout(PROOF_SECONDS):
            await connection.execute("LISTEN market")
            self.heard_up_to, self.heard_beyond = await _last_stale(connection), set()
        self.listening_since = self.now_seconds()
        self.notify()  # for events that were missed while not connected
        while True:
            async with asyncio.timeout(PROOF_SECONDS):  # a silent connection may be a dead one
                await self._prove(connection)
            async for heard in connection.notifies(timeout=PING_SECONDS):
                self._heard(heard.payload)

    async def _prove(self, connection: psycopg.AsyncConnection) -> None:
        """Ping, and wait for each notification that was numbered before."""
        sent_at = self.now_seconds()
        last = await _last_stale(connection)
        while self.heard_up_to < last:
            async for heard in connection.notifies(stop_after=1):
                self._heard(heard.payload)
        self.proven_at = sent_at

    def _heard(self, payload: str) -> None:
        what, *names = payload.split(" ")
        if what == "events":
            self.notify(frozenset(names))
            return
        self.invalidate(names[1:])
        self.heard_beyond.add(int(names[0]))
        while self.heard_up_to + 1 in self.heard_beyond:
            self.heard_up_to += 1
            self.heard_beyond.remove(self.heard_up_to)


def _refuse_other_engine(connection: psycopg.Connection) -> None:
    """Raise Unavailable for a server that only speaks PostgreSQL's protocol."""
    found = connection.execute("SELECT version()").fetchone()
    assert found is not None
    if not POSTGRESQL.match(found[0]):
        raise Unavailable(OTHER_ENGINE.format(said=found[0][:60]))


def _address(url: str) -> str:
    """Return the address as psycopg takes it, with a limit for connecting."""
    address = make_url(url)
    if "connect_timeout" not in address.query:
        address = address.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
    return address.set(drivername="postgresql").render_as_string(hide_password=False)


async def _last_stale(connection: psycopg.AsyncConnection) -> int:
    """Return the number of the last notification of stale names.

    Its transaction may still be running.
    """
    found = await (await connection.execute(LAST_STALE)).fetchone()
    assert found is not None
    return int(found[0])
