"""Orders for the storage tests: transactions of the same form as the market's."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import patch
from uuid import uuid4

from sqlalchemy import bindparam, func, select

from storage.database import Database
from storage.query import Query
from storage.store import Store
from storage.tables import EventRow, JobRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import Counted

NOW = datetime(2026, 11, 21, 4, 0, 0, 123456, tzinfo=UTC)
DAY = 20_778  # of NOW, since 1970

count_jobs: Query[int] = Query(select(func.count()).select_from(JobRow.__table__))
count_threads: Query[int] = Query(select(func.count()).select_from(ThreadRow.__table__))
all_jobs = Query(select(JobRow))
events_since = Query(select(EventRow).where(EventRow.id > bindparam("since")).order_by(EventRow.id))


class NotOpen(Exception):
    """The error of an operation on a job that is not open."""


def job(job_id: str, title: str = "Translate", document: str = "{}") -> JobRow:
    return JobRow(
        id=job_id, env="test", listing_id="lst_1", bounty_id=None, buyer_id="agt_buyer", seller_id="agt_seller",
        thread_id=f"thr_{job_id}", status="open", title=title, category="text", pricing_model="fixed", payment="before",
        units=1, price=20_000, turnaround_seconds=3_600, accept_timeout_seconds=86_400, max_revisions=1, first_party=False,
        input=document, input_schema=None, output_schema=None, panel_seed=b"\x00\xff", head_at_order=None,
        accept_by=NOW + timedelta(days=1), created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def place(tx: Tx, job_id: str | None = None, document: str = "{}") -> JobRow:
    """Place one order: a thread, a job, a count of its day and an event for each party."""
    placed = job(job_id or f"job_{uuid4().hex}", document=document)
    tx.add(
        ThreadRow(
            id=placed.thread_id, env="test", kind="job", job_id=placed.id,
            a=placed.buyer_id, b=placed.seller_id, created_at=NOW,
        )
    )  # fmt: skip
    tx.add(placed)
    tx.count_day("test", Counted.CREATED, DAY)
    for party in (placed.buyer_id, placed.seller_id):
        tx.emit(party, "test", "job.created", f'{{"job_id":"{placed.id}"}}', NOW)
    return placed


def accept(tx: Tx, job_id: str) -> JobRow:
    """Accept a job: read, decide, write. Raises NotOpen."""
    found = tx.get(JobRow, job_id, lock=True)
    assert found
    if found.status != "open":
        raise NotOpen(found.status)
    tx.emit(found.buyer_id, "test", "job.accepted", "{}", NOW)
    return tx.change(found, status="in_progress", accept_by=None)


def add_one(tx: Tx, job_id: str, lock: bool = True) -> None:
    """Read, add one, write back. Without a lock this would lose updates."""
    found = tx.get(JobRow, job_id, lock=lock)
    assert found
    tx.change(found, units=found.units + 1)


def get_job(tx: Tx, job_id: str) -> JobRow | None:
    return tx.get(JobRow, job_id)


async def the_job(store: Store, job_id: str) -> JobRow:
    found = await store.read(partial(get_job, job_id=job_id))
    assert found
    return found


async def job_ids(store: Store) -> set[str]:
    return {found.id for found in await store.read(lambda tx: tx.all(all_jobs))}


async def events(store: Store, since: int = 0) -> list[EventRow]:
    return await store.read(lambda tx: tx.all(events_since, since=since))


def kinds(answers: Sequence[object]) -> Counter[type]:
    """Count the answers of each type. An error counts as its class."""
    return Counter(type(answer) for answer in answers)


@contextmanager
def losing_answers(store: Store) -> Iterator[None]:
    """Let each COMMIT of a store take effect and lose its answer."""
    kind = type(store.database)
    finish = kind.finish

    def lose(database: Database, tx: Tx) -> None:
        finish(database, tx)
        raise ConnectionError("the answer to COMMIT was lost")

    with patch.object(kind, "finish", lose):
        yield
