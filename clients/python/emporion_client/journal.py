"""The journal: a SQLite file with everything that was begun, on disk before the call is sent."""

import json
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emporion_client.answers import JsonObject, parsed
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
NUMBERS, TEXTS = ("failed", "next_nonce"), ("listing",)  # notes, by the begin of their names
MAX_NUMBER = 2**63 - 1  # SQLite holds no higher one
HASH = re.compile(r"0x[0-9a-fA-F]{64}")
BYTES = re.compile(r"(?:0x)?(?:[0-9a-fA-F]{2})+")
ONCE = re.compile(r"[0-9a-f]{32}")


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
        except (sqlite3.OperationalError, OverflowError) as error:
            raise EmporionError(f"{self.path} cannot be used now ({error})") from None
        except sqlite3.DatabaseError as error:
            raise HomeDamaged(f"{self.path} cannot be read ({error}); it was left as it is") from None

    def loads(self, text: str) -> Any:
        """Return the JSON value that the journal holds; raise HomeDamaged if it is none."""
        value = parsed(text.encode()) if isinstance(text, str) else None
        if value is None:
            raise self.damaged("a value that cannot be read")
        return value

    def damaged(self, what: str) -> HomeDamaged:
        """Return the error for something in the journal that this package did not write."""
        return HomeDamaged(f"{self.path} holds {what}; it was left as it is")

    def close(self) -> None:
        with self._turn:
            self._db.close()

    def get(self, name: str) -> Any:
        """Return a note; None if there is none."""
        found = self.rows("select value from notes where name=?", name)
        if not found:
            return None
        value, kind = self.loads(found[0][0]), name.partition(":")[0]
        if (
            (kind in NUMBERS and not is_number(value))
            or (kind in TEXTS and not (isinstance(value, str) and value))
            or (kind == "paid" and not _is_paid(value))
        ):
            raise self.damaged(f"a wrong note {name!r}")
        return value

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
            if not isinstance(found, str) or not ONCE.fullmatch(found):
                raise self.damaged(f"a wrong note {name!r}")
            return found

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
            is_inner = self._db.in_transaction
            if is_inner:
                yield
                return
            with self._named():
                self._db.execute("begin immediate")
            try:
                yield
                with self._named():
                    self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:  # SQLite has ended it itself if the disk is full
                    with self._named():
                        self._db.execute("rollback")
                raise

    def spent(self, seconds: float) -> int:
        """Return the minor units that purchases of the last seconds have cost or set aside."""
        since = time.time() - seconds
        sql = "select coalesce(sum(amount),0), total(typeof(amount)<>'integer' or amount<0) from purchases"
        spent, wrong = self.rows(f"{sql} where reserved_at>?", since)[0]
        if wrong:
            raise self.damaged("a purchase with a wrong amount")
        return int(spent)

    def check_purchase(self, key: str) -> None:
        """Raise HomeDamaged if a purchase has a form that this package did not write."""
        sql = "select amount, stage, job_id, paying from purchases where key=?"
        for amount, stage, job, paying in self.rows(sql, key):
            placed = isinstance(job, str) and job != ""
            known = stage in ("new", "ended") or (stage in ("ordered", "signed", "sent", "done") and placed)
            missing = stage in ("signed", "sent") and paying is None
            if not is_number(amount) or not known or missing or not (placed or job is None):
                raise self.damaged(f"a wrong purchase {key!r}")
            if paying is not None and not is_payment(self.loads(paying)):
                raise self.damaged(f"a wrong payment of the purchase {key!r}")


def is_number(value: Any) -> bool:
    """Tell whether a value is a whole number that is not negative and fits the journal."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER


def is_payment(value: Any) -> bool:
    """Tell whether a value is a signed payment as paying.py writes it."""
    if not isinstance(value, dict) or not _is_text(value, HASH, "transaction", optional=True):
        return False
    if value.get("way") == "transfer":
        numbers = is_number(value.get("nonce")) and is_number(value.get("amount", 0))
        return numbers and _is_text(value, HASH, "hash") and _is_text(value, BYTES, "raw")
    known = value.get("way") == "authorization" and is_number(value.get("end")) and isinstance(value.get("body"), dict)
    return known and _is_text(value, HASH, "nonce") and isinstance(value.get("url"), str)


def _is_paid(value: Any) -> bool:
    """Tell whether a value names the job and the transaction that used an account nonce."""
    return isinstance(value, dict) and isinstance(value.get("job"), str) and _is_text(value, HASH, "hash")


def _is_text(value: JsonObject, form: re.Pattern[str], name: str, *, optional: bool = False) -> bool:
    if name not in value:
        return optional
    return isinstance(value[name], str) and form.fullmatch(value[name]) is not None
