"""A listing's texts when a job was ordered, stored if the seller changes them while the job is under way."""

from dataclasses import dataclass, fields
from datetime import datetime

import orjson

from storage.listings import forget_promises, promise_at, unfinished_job_of
from storage.tables import JobRow, ListingRow, ListingTermsRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, JobStatus

UNFINISHED = [status.value for status in JobStatus if status not in FINAL]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The texts of a listing. Schemas, price, deadlines and rules are copied into each job."""

    title: str
    description: str
    category: str
    tags: str  # JSON list
    unit_name: str | None
    example_input: str | None  # JSON
    example_output: str | None  # JSON
    changed_since: bool  # whether the listing changed after the order


WORDS = [one.name for one in fields(Promised) if one.name in ListingRow.__names__]


def keep_promise(tx: Tx, before: ListingRow, after: ListingRow, now: datetime) -> int:
    """Store the listing's old texts if they change while jobs are under way.

    Without jobs under way, the texts stored before are deleted instead. Returns the change of the stored bytes.
    """
    text = _text(before)
    if text == _text(after):
        return 0
    if tx.one(unfinished_job_of, listing_id=before.id, statuses=UNFINISHED) is None:
        return -sum(len(one.encode()) for one in tx.all(forget_promises, listing_id=before.id))
    tx.add(ListingTermsRow(listing_id=before.id, listing_version=before.version, promised=text, until=now))
    return len(text.encode())


def promised_to(tx: Tx, job: JobRow) -> Promised | None:
    """Return the listing's texts at the time of the job's order; None without a listing."""
    listing = tx.get(ListingRow, job.listing_id) if job.listing_id else None
    if listing is None:
        return None
    kept = tx.one(promise_at, listing_id=listing.id, at=job.created_at)
    text = kept.promised if kept else _text(listing)
    return Promised(**orjson.loads(text), changed_since=listing.updated_at > job.created_at)


def _text(row: ListingRow) -> str:
    return orjson.dumps({name: getattr(row, name) for name in WORDS}).decode()
