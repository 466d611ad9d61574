"""Faults of a database file, and crashes around its COMMIT, at seeded moments."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from storage.sqlite import SQLite
from storage.transaction import Cursor, Tx

LOST_ANSWER = "lost_answer"  # COMMIT takes effect, and its answer is lost
KINDS = {
    "busy": sqlite3.SQLITE_BUSY,
    "full": sqlite3.SQLITE_FULL,
    "read_only": sqlite3.SQLITE_READONLY,
    "gone": sqlite3.SQLITE_CANTOPEN,
    LOST_ANSWER: sqlite3.SQLITE_IOERR,
}


class CrashNow(BaseException):
    """The process ends at this point."""


class FaultySQLite(SQLite):
    """A database file with at most one fault at a time, `fault`, which is one of KINDS."""

    fault: str | None = None

    def __init__(self, path: Path, note: Callable[[str], None]) -> None:
        self.note = note
        super().__init__(path)

    def control(self, tx: Tx, *commands: str) -> None:
        if self.begin in commands:
            self._fail("busy", "gone")
        super().control(tx, *commands)

    def finish(self, tx: Tx) -> None:
        self._fail("full", "read_only")
        super().finish(tx)
        self._fail(LOST_ANSWER)

    def read_cursor(self, seconds: float) -> Cursor:
        self._fail("gone")
        return super().read_cursor(seconds)

    def _fail(self, *kinds: str) -> None:
        if self.fault in kinds:
            self.note(self.fault)
            error = sqlite3.OperationalError(f"simulated: {self.fault}")
            error.sqlite_errorcode = KINDS[self.fault]
            raise error


class CommitCrashes:
    """Ends the process before or after one in `every` commits."""

    def __init__(self, random: Random, every: int) -> None:
        self.random, self.every = random, every

    def __call__(self, moment: str, names: Sequence[str]) -> None:
        if self.every and self.random.random() * self.every < 1:
            raise CrashNow(moment)
