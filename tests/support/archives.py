"""A market with jobs that ended long ago, and the archive of them, for tests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from server.archive import Moved, move_back, move_out
from server.archive_files import MANIFEST
from storage.query import Query
from storage.rows import metadata
from storage.store import Store
from storage.tables import ArchivedJobRow, JobRow, ThreadRow
from tests.support.market import Agent, TestMarket
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade
from tools.engine.archives import ARCHIVED_AFTER

LONG = ARCHIVED_AFTER.total_seconds() + 86_400
MOVED = ("job_texts", "job_events", "messages")
MARKS = ("archives", "archived_jobs")
TABLES = {table.name: Query(select(table)) for table in metadata.sorted_tables}


class Old:
    """Two traders with old jobs: revised and reviewed, judged, declined, and owing a refund."""

    def __init__(self, trade: Trade, seller: Agent, buyer: Agent, job: Any, owing: Any, court: Court) -> None:
        self.trade, self.market, self.seller, self.buyer = trade, trade.market, seller, buyer
        self.job, self.owing, self.court = job, owing, court

    @staticmethod
    async def made(trade: Trade) -> "Old":
        seller, buyer = await trade.parties()
        call = trade.market.call
        job = await trade.job_at("revealed", seller, buyer)
        await call("request_revision", by=buyer, job_id=job["id"], message="Good day, please. \u00fc")
        await trade.deliver(seller, job, {"english": "Good day."})
        await call("accept_job", by=buyer, job_id=job["id"])
        await call("review_job", by=buyer, job_id=job["id"], rating=4)
        await call("post_message", by=seller, thread_id=job["thread_id"], body="Thank you.", data={"n": [1, None]})
        owing = await trade.failed(seller, buyer)
        open_ = await trade.order(buyer, await trade.listing(seller, price=0))
        await call("decline_job", by=seller, job_id=open_["id"], reason="I am away.")
        judges = {one.id: one for one in [await evaluator(trade) for _ in range(3)]}
        court = await Court.of(trade, seller, buyer, judges)
        await court.votes("seller", "seller")
        return Old(trade, seller, buyer, await trade.seen(buyer, job), owing, court)

    def grow_old(self, seconds: float = LONG) -> None:
        self.market.pass_seconds(seconds)


async def aged(trade: Trade) -> Old:
    """Return traders whose jobs ended so long ago that they may be archived."""
    made = await Old.made(trade)
    made.grow_old()
    await made.market.workers.purge_old()
    return made


def names(folder: Path, ending: str = "") -> set[str]:
    """Return the names of the files in a folder that end so."""
    return {path.name for path in folder.iterdir() if path.name.endswith(ending)}


def manifest_in(folder: Path) -> Path:
    """Return the only manifest in a folder."""
    (found,) = names(folder, MANIFEST)
    return folder / found


async def archive(market: TestMarket, folder: Path, before: datetime | None = None) -> Moved:
    now = market.clock.now()
    return await move_out(market.market, folder, before or now - ARCHIVED_AFTER, say=lambda _: None)


async def restore(market: TestMarket, folder: Path, job_id: str | None = None) -> Moved:
    return await move_back(market.market, folder, job_id, say=lambda _: None)


async def dump(store: Store) -> Mapping[str, list[str]]:
    """Return every row of every table."""
    return await store.read(lambda tx: {name: sorted(map(repr, tx.all(query))) for name, query in TABLES.items()})


async def mark_archived(market: TestMarket, job_id: str) -> None:
    """Mark a job as archived long after its end, without a file."""
    market.pass_seconds(LONG)
    mark = ArchivedJobRow(job_id=job_id, archive="arc_1", archived_at=market.clock.now())
    await market.store.write(lambda tx: tx.add(mark))


async def back_dated(market: TestMarket) -> None:
    """Move all jobs and threads to 2019, so that a real clock finds them old."""
    at = datetime(2019, 1, 1, tzinfo=UTC)
    for kind, columns in ((JobRow, ("created_at", "updated_at")), (ThreadRow, ("created_at",))):
        moved = Query[None](update(kind.__table__).values(dict.fromkeys(columns, at)))
        await market.store.write(lambda tx, m=moved: tx.run(m))  # type: ignore[misc]
