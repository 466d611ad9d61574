"""Purchases in the journal: begun, taken over from a dead process, set aside against the limit, and ended."""

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from emporion_client.account import Account
from emporion_client.answers import JsonObject
from emporion_client.errors import InProgress, LimitReached, UnexpectedAnswer
from emporion_client.money import shown

DAY = 86_400
Stage = Literal["new", "ordered", "signed", "sent", "done", "ended"]
COLUMNS = "key, job_id, paying, digest, owner, stage, began"


class Purchase:
    """One purchase, with the part of it that must survive a crash."""

    def __init__(self, account: Account, row: tuple[Any, ...], *, is_continued: bool = True) -> None:
        self._account, self.is_continued = account, is_continued
        self.key: str = row[0]
        self.job_id: str | None = row[1]
        account.home.journal.check_purchase(self.key)
        self.paying: JsonObject | None = None if row[2] is None else account.home.journal.loads(row[2])
        self.stage: Stage = row[5]

    @property
    def amount(self) -> int:
        """The minor units that are set aside for its payment, without those of a failed transfer."""
        rows = self._account.home.journal.rows("select amount from purchases where key=?", self.key)
        return int(rows[0][0]) - self.failed

    @property
    def failed(self) -> int:
        """The minor units of its failed transfer; 0 if there is none.

        Only a node says that it failed, so the amount still counts as spent.
        """
        return int(self._account.home.journal.get(f"failed:{self.key}") or 0)

    def give_up_transfer(self, *, failed: int = 0) -> None:
        """Forget a signed transfer that can never count; `failed` is the amount of one that failed."""
        with self._account.home.journal.transaction():
            if failed:
                self._account.home.journal.put(f"failed:{self.key}", failed)
            self.paying = None
            self.note("ordered")

    @property
    def order_key(self) -> str:
        """The reference and the Idempotency-Key of the order."""
        return f"order-{hashlib.sha256(self.key.encode()).hexdigest()[:40]}"

    def note(self, stage: Stage) -> None:
        """Write the state down."""
        self.stage = stage
        self._account.home.journal.write(
            "update purchases set stage=?, job_id=?, paying=? where key=?",
            stage,
            self.job_id,
            json.dumps(self.paying) if self.paying else None,
            self.key,
        )

    def end(self) -> None:
        """Note that the purchase ended without a payment."""
        with self._account.home.journal.transaction():
            if self.paying is None:  # a signed payment counts, because it may still arrive
                self._set_amount(self.failed)
            self.note("ended")

    def reserve(self, amount: int) -> None:
        """Set an amount aside; raise LimitReached if the limit of 24 hours does not allow it.

        What is signed stays set aside, whatever the market asks for later.
        This is done before the order, so that nothing is delivered that must not be paid. A negative price of a hostile
        market would raise the limit, so it raises UnexpectedAnswer.
        """
        if amount < 0:
            raise UnexpectedAnswer("the market named a price below zero")
        account = self._account
        with account.home.journal.transaction():
            amount = max(amount, self.amount if self.paying else 0) + self.failed
            self._set_amount(0)
            spent = account.home.journal.spent(DAY)
            if account.limit is not None and spent + amount > account.limit:
                raise LimitReached(
                    f"{shown(spent)} of {shown(account.limit)} in 24 hours are spent or set aside; this costs {shown(amount)}"
                )
            self._set_amount(amount)

    def _set_amount(self, amount: int) -> None:
        self._account.home.journal.write(
            "update purchases set amount=?, reserved_at=? where key=?", amount, time.time(), self.key
        )


def digest_of(order: JsonObject) -> str:
    """Return the fingerprint by which the same order is recognized."""
    return hashlib.sha256(json.dumps(order, sort_keys=True, default=str).encode()).hexdigest()


@contextmanager
def begun(account: Account, order: JsonObject, key: str | None) -> Iterator[Purchase]:
    """Hold the purchase of this key, an interrupted one of this order, or a new one."""
    home, digest = account.home, digest_of(order)
    with home.journal.transaction():
        purchase = _keyed(account, digest, key) if key else _interrupted(account, digest)
        if purchase is None:
            made = key or secrets.token_hex(16)
            row = (made, None, None, digest, home.owner, "new", time.time())
            home.journal.write(f"insert into purchases ({COLUMNS}) values (?,?,?,?,?,?,?)", *row)  # noqa: S608
            purchase = Purchase(account, row, is_continued=False)
        _claim(account, purchase.key)
    with _released(account, purchase.key):
        yield purchase


@contextmanager
def taken(account: Account, key: str) -> Iterator[Purchase | None]:
    """Hold an unfinished purchase of the journal; None if another process works on it."""
    with account.home.journal.transaction():
        row = account.home.journal.rows(f"select {COLUMNS} from purchases where key=?", key)[0]  # noqa: S608
        free = not _is_held(account, row)
        if free:
            _claim(account, key)
    if not free:
        yield None
        return
    with _released(account, key):
        yield Purchase(account, row)


def unreported(account: Account) -> list[str]:
    """Return the keys of the purchases whose payment was signed and not proven to the market."""
    found = account.home.journal.rows("select key from purchases where stage in ('signed','sent') order by began")
    return [str(row[0]) for row in found]


def _keyed(account: Account, digest: str, key: str) -> Purchase | None:
    for row in account.home.journal.rows(f"select {COLUMNS} from purchases where key=?", key):  # noqa: S608
        if row[3] != digest:
            raise ValueError(f"the key {key!r} belongs to another order")
        if _is_held(account, row):
            raise InProgress(f"another buy() works on the purchase {key!r} now")
        return Purchase(account, row)
    return None


def _interrupted(account: Account, digest: str) -> Purchase | None:
    sql = f"select {COLUMNS} from purchases where digest=? and stage not in ('done','ended') order by began"  # noqa: S608
    free = (row for row in account.home.journal.rows(sql, digest) if not _is_held(account, row))
    row = next(free, None)
    return None if row is None else Purchase(account, row)


def _is_held(account: Account, row: tuple[Any, ...]) -> bool:
    key, owner, home = row[0], row[4], account.home
    if owner == home.owner:
        return key in home.at_work
    return bool(owner) and home.lives(owner)


def _claim(account: Account, key: str) -> None:
    account.home.journal.write("update purchases set owner=? where key=?", account.home.owner, key)
    account.home.at_work.add(key)


@contextmanager
def _released(account: Account, key: str) -> Iterator[None]:
    try:
        yield
    finally:
        account.home.at_work.discard(key)
        account.home.journal.write("update purchases set owner='' where key=?", key)
