"""The journal: a SQLite file with everything that was begun, on disk before the call is sent."""

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emporion_client.errors import EmporionError, HomeDamaged

VERSION = 1
TABLES = """
create table if not exists notes (name text primary key, value text not null);
create table if not exists purchases (
  key text primary key, digest text not null, owner text not null, stage text not null, job_id text,
  amount integer not null default 0, reserved_at real not null default 0, paying text, began real not null);
create index if not exists purchases_by_digest on purchases (digest);
create table if not exists works (
  job_id text, revision integer, attempts integer not null, output text, done integer not null default 0,
  primary key (job_id, revision));
"""
# Stages of a purchase: new, ordered, signed, sent, done (paid and open), ended (nothing is paid).


class Journal:
    """The journal of one home, shared by its processes and threads."""

    def __init__(self, path: Path) -> None:
        self.path, self._turn = path, threading.RLock()
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its other files the same mode
        except OSError as error:
            raise HomeDamaged(f"{path} cannot be opened ({error.strerror}); it was left as it is") from None
        with self._named():
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")  # a commit is on disk when it returns
            version = self._db.execute("pragma user_version").fetchone()[0]
            if version > VERSION:
                raise HomeDamaged(f"{path} was written by a newer emporion-client; it was left as it is")
            self._db.executescript(f"begin immediate; {TABLES} pragma user_version={VERSION}; commit;")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise an error of SQLite as one of this package."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise EmporionError(f"{self.path} cannot be used now ({error})") from None
        except sqlite3.DatabaseError as error:
            raise HomeDamaged(f"{self.path} cannot be read ({error}); it was left as it is") from None

    def loads(self, text: str) -> Any:
        """Return the JSON value that the journal holds; raise HomeDamaged if it is none."""
        try:
            return json.loads(text)
        except (TypeError, ValueError):
            raise HomeDamaged(f"{self.path} holds a value that cannot be read; it was left as it is") from None

    def close(self) -> None:
        with self._turn:
            self._db.close()

    def get(self, name: str) -> Any:
        """Return a note; None if there is none."""
        found = self.rows("select value from notes where name=?", name)
        return self.loads(found[0][0]) if found else None

    def put(self, name: str, value: Any) -> None:
        """Write a note."""
        self.write("insert or replace into notes values (?,?)", name, json.dumps(value))

    def clear(self) -> None:
        """Remove everything, because the market does not have it any more."""
        with self.transaction():
            for table in ("notes", "purchases", "works"):
                self.write(f"delete from {table}")  # noqa: S608 - names of this file

    def once(self, name: str) -> str:
        """Return a random text that stays the same from its first use on: an idempotency key."""
        with self.transaction():
            found = self.get(name)
            if found is None:
                found = secrets.token_hex(16)
                self.put(name, found)
            return str(found)

    def write(self, sql: str, *values: Any) -> int:
        """Run one statement; return the number of changed rows."""
        with self._turn, self._named():
            return self._db.execute(sql, values).rowcount

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._turn, self._named():
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all writes or none, without other processes between them."""
        with self._turn:
            if self._db.in_transaction:
                yield
                return
            with self._named():
                self._db.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._db.execute("rollback")
                raise
            with self._named():
                self._db.execute("commit")

    def spent(self, seconds: float) -> int:
        """Return the minor units that purchases of the last seconds have cost or set aside."""
        since = time.time() - seconds
        found = self.rows("select coalesce(sum(amount),0) from purchases where reserved_at>?", since)
        return int(found[0][0])
