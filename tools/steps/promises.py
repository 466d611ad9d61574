"""What a listing promised when a job was ordered: kept when the seller changes it while a job may still be judged by it."""

from dataclasses import dataclass, fields
from datetime import datetime

import orjson

from storage.listings import forget_promises, promise_at, unfinished_job_of
from storage.tables import JobRow, ListingRow, PromiseRow
from storage.unit import Tx
from tools.rules.jobfacts import FINAL, JobStatus

UNFINISHED = orjson.dumps([status.value for status in JobStatus if status not in FINAL]).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The words of a listing. Schemas, price, deadlines and acceptance rules stand frozen in the job itself."""

    title: str
    description: str
    category: str
    tags: str  # JSON list
    unit_name: str | None
    example_input: str | None  # JSON
    example_output: str | None  # JSON
    changed_since: bool  # since the order


WORDS = [one.name for one in fields(Promised) if one.name in ListingRow.__names__]


def keep_promise(tx: Tx, before: ListingRow, after: ListingRow, now: datetime) -> None:
    """Keep what the listing promised until now, if that changes and there are jobs under way; else no promise is needed."""
    if _text(before) == _text(after):
        return
    if tx.one(unfinished_job_of, listing_id=before.id, statuses=UNFINISHED) is None:
        tx.run(forget_promises, listing_id=before.id)
    else:
        tx.add(PromiseRow(listing_id=before.id, listing_version=before.version, promised=_text(before), until=now))


def promised_to(tx: Tx, job: JobRow) -> Promised | None:
    """What the job's listing promised when it was ordered; None: it has none."""
    listing = tx.get(ListingRow, job.listing_id) if job.listing_id else None
    if listing is None:
        return None
    kept = tx.one(promise_at, listing_id=listing.id, at=job.created_at)
    text = kept.promised if kept else _text(listing)
    return Promised(**orjson.loads(text), changed_since=listing.updated_at > job.created_at)


def _text(row: ListingRow) -> str:
    return orjson.dumps({name: getattr(row, name) for name in WORDS}).decode()
