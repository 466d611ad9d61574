"""A listing's figures: each closed job and each rating adds its change, so that no sum is computed again."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

import orjson

from storage.jobs import reviews_of_job
from storage.listings import closed_of_listing, listing_ids, ratings_of_listing, transfers_of_listing, turnaround_at
from storage.store import Store
from storage.tables import JobResultRow, JobRow, ListingPayerRow, ListingRow, ReviewRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, Actor, Env
from tools.kernel.records import record_from
from tools.listings.logic import index
from tools.listings.records import ListingStats
from tools.listings.stats_rules import (
    ClosedJob,
    ListingTotals,
    Result,
    Transfer,
    apply_change,
    buyers_by,
    median_index,
    result_of,
    tallied,
    wallet_moves,
)

CLOSED = ("completed", "resolved", "cancelled")


def recount(tx: Tx, job: JobRow, settlements: tuple[SettlementRow, ...]) -> None:
    """Update the listing's figures with a job's present result; repeating it changes nothing."""
    if job.listing_id is None:
        return
    listing = tx.need(ListingRow, job.listing_id, lock=True)
    kept = tx.get(JobResultRow, job.id)
    old = Result() if kept is None else result_in(kept)
    new = made_result(job, settlements, tx.all(reviews_of_job, job_id=job.id) if job.status in FINISHED else ())
    if new == old:
        return
    tx.add_or_change(JobResultRow, kept, {"job_id": job.id, "listing_id": listing.id}, **asdict(new))
    buyers = sum(_move_wallet(tx, listing.id, wallet, change) for wallet, change in wallet_moves(old, new))
    tally = apply_change(_tally_in(listing), old, new, buyers)
    index(tx, tx.change(listing, **_columns(tally, _median(tx, listing.id, tally))))


def made_result(job: JobRow, settlements: Iterable[SettlementRow], reviews: Iterable[ReviewRow]) -> Result:
    """Compute the result of a job from its rows; the reviews are those of a finished job."""
    rating = next((one.rating for one in reviews if one.role == Actor.BUYER), None)
    live = job.env == Env.LIVE
    closed = ClosedJob(job.status, job.closed_as, job.outcome, job.accepted_at, job.delivered_at, live, rating)
    return result_of(closed, [Transfer(one.kind, one.status, one.amount, one.payer_address) for one in settlements])


async def drifted_listings(store: Store) -> list[str]:
    """Return the ids of listings whose stored figures are wrong.

    Computes the figures of every listing from its rows, one listing at a time.
    """
    ids = await store.scan(lambda tx: tx.all(listing_ids))
    return [one for one in ids if await store.scan(partial(has_drifted, listing_id=one))]


def has_drifted(tx: Tx, listing_id: str) -> bool:
    row = tx.need(ListingRow, listing_id)
    return any(getattr(row, name) != value for name, value in _from_rows(tx, listing_id).items())


def differs_from(tx: Tx, row: ListingRow, tally: ListingTotals) -> bool:
    """Check whether a listing's figures differ from the sums of its stored results."""
    return any(getattr(row, name) != value for name, value in _columns(tally, _median(tx, row.id, tally)).items())


def results_from_jobs(tx: Tx, listing_id: str) -> dict[str, Result]:
    """Compute the result of each closed job of a listing from its jobs, settlements and reviews."""
    transfers = defaultdict[str, list[Transfer]](list)
    for job_id, *transfer in tx.all(transfers_of_listing, listing_id=listing_id):
        transfers[job_id].append(Transfer(*transfer))
    ratings: dict[str, int] = dict(tx.all(ratings_of_listing, listing_id=listing_id))
    return {
        job_id: result_of(replace(ClosedJob(*job), live=env == Env.LIVE, rating=ratings.get(job_id)), transfers[job_id])
        for job_id, env, *job in tx.all(closed_of_listing, listing_id=listing_id)
    }


def result_in(row: JobResultRow) -> Result:
    """Return the result of a job as it was last counted."""
    return Result(**{one.name: getattr(row, one.name) for one in fields(Result)})


def _tally_in(row: ListingRow) -> ListingTotals:
    stats = ListingStats(**orjson.loads(row.stats))
    return record_from(ListingTotals, stats, timed_jobs=row.timed_jobs, rating_sum=row.rating_sum)


def _move_wallet(tx: Tx, listing_id: str, wallet: str, change_minor: int) -> int:
    """Add to the amount that a wallet paid; return the change in the number of counted buyers."""
    row = tx.get(ListingPayerRow, listing_id, wallet)
    before = 0 if row is None else row.paid_minor
    key = {"listing_id": listing_id, "wallet": wallet}
    tx.add_or_change(ListingPayerRow, row, key, paid_minor=before + change_minor)
    return buyers_by(before, before + change_minor)


def _median(tx: Tx, listing_id: str, tally: ListingTotals) -> int | None:
    """Return the median turnaround in seconds of the stored results."""
    place = median_index(tally.timed_jobs)
    return tx.one(turnaround_at, listing_id=listing_id, place=place) if tally.timed_jobs else None


def _columns(tally: ListingTotals, median_seconds: int | None) -> dict[str, Any]:
    """Return the columns of a listing that are made from its figures."""
    stats = record_from(
        ListingStats,
        tally,
        rating_avg=tally.rating,
        median_turnaround_seconds=median_seconds,
    )
    made = {"stats": stats.kept(), "graduated": tally.graduated}
    return made | {"rating_sum": tally.rating_sum, "timed_jobs": tally.timed_jobs}


def _from_rows(tx: Tx, listing_id: str) -> dict[str, Any]:
    """Compute the stored columns from the jobs, settlements and reviews."""
    results = results_from_jobs(tx, listing_id).values()
    tally = tallied(results)
    turnarounds = sorted(result.seconds for result in results if result.seconds is not None)
    median = turnarounds[median_index(tally.timed_jobs)] if turnarounds else None
    return _columns(tally, median)
