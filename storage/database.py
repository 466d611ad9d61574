"""The interface between a store and SQLite or PostgreSQL."""

from abc import ABC, abstractmethod
from contextlib import suppress

from sqlalchemy.engine import Dialect, Engine

from storage.transaction import Cursor, Tx


class Database(ABC):
    """The interface between a store and SQLite or PostgreSQL.

    Each thread owns one connection, through one cursor.
    """

    begin: str
    writers: int
    readers: int
    batch: int  # maximum units of work in one COMMIT
    patience_seconds = 5.0  # from its request on, a unit of work waits this long for a locked row
    engine: Engine

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.cursors: list[Cursor] = []

    @abstractmethod
    def check_sessions(self) -> None:
        """Raise Unavailable if the address does not keep the session of a connection."""

    @abstractmethod
    def write_cursor(self) -> Cursor: ...

    @abstractmethod
    def read_cursor(self, seconds: float) -> Cursor:
        """Return a cursor that cannot write, for reads of at most `seconds`."""

    @abstractmethod
    def start_read(self, tx: Tx, seconds: float) -> None:
        """Begin a snapshot for reads of at most `seconds`."""

    @abstractmethod
    def end_read(self, tx: Tx) -> None:
        """End the snapshot."""

    @abstractmethod
    def control(self, tx: Tx, *commands: str) -> None:
        """Run transaction commands, which return no rows, in one round trip."""

    @abstractmethod
    def finish(self, tx: Tx) -> None:
        """Write the notified events and COMMIT, so that event numbers rise in the order of commits."""

    @abstractmethod
    def classify_error(self, error: Exception) -> Exception:
        """Return the storage error that a driver's error means; any other error unchanged."""

    def writing(self) -> Tx:
        return Tx(self._keep(self.write_cursor()), self.dialect, self.classify_error)

    def reading(self, seconds: float) -> Tx:
        return Tx(self._keep(self.read_cursor(seconds)), self.dialect, self.classify_error)

    def discard(self, tx: Tx) -> None:
        self.cursors.remove(tx.cursor)
        with suppress(Exception):
            tx.cursor.connection.close()

    def close(self) -> None:
        for cursor in self.cursors:
            cursor.connection.close()

    def _keep(self, cursor: Cursor) -> Cursor:
        self.cursors.append(cursor)
        return cursor
