"""A listing's figures, kept true: each job that closes and each rating moves the sums, whatever their number."""

from collections import defaultdict
from dataclasses import asdict
from functools import partial

import orjson

from storage.figures import (
    closed_of_listing,
    listing_ids,
    ratings_of_listing,
    transfers_of_listing,
    turnaround_at,
)
from storage.store import Store
from storage.tables import JobRow, ListingRow, PayerRow, ResultRow, SettlementRow
from storage.unit import Tx
from tools.records.listings import ListingStats
from tools.rules.stats import (
    ClosedJob,
    Result,
    Tally,
    Transfer,
    buyers_by,
    middle,
    moved,
    rated,
    result_of,
    tallied,
    wallet_moves,
)
from tools.steps.listings import index


def recount(tx: Tx, job: JobRow, settlements: tuple[SettlementRow, ...]) -> None:
    """Count what a job now comes to in its listing's figures. Done twice, it changes nothing."""
    if job.listing_id is None:
        return
    listing = _locked(tx, job.listing_id)
    kept = tx.get(ResultRow, job.id)
    old = Result() if kept is None else result_in(kept)
    new = result_of(
        ClosedJob(job.status, job.closed_as, job.outcome, job.accepted_at, job.delivered_at),
        [Transfer(one.kind, one.status, one.amount, one.payer_address) for one in settlements],
    )
    if new == old:
        return
    if kept is None:
        tx.add(ResultRow(job_id=job.id, listing_id=listing.id, **asdict(new)))
    else:
        tx.change(kept, **asdict(new))
    buyers = sum(_move_wallet(tx, listing.id, wallet, change) for wallet, change in wallet_moves(old, new))
    _write(tx, listing, moved(_tally_in(listing), old, new, buyers))


def count_rating(tx: Tx, listing_id: str | None, rating: int) -> None:
    """Count a buyer's rating in the figures of the listing it ordered from."""
    if listing_id is not None:
        listing = _locked(tx, listing_id)
        _write(tx, listing, rated(_tally_in(listing), rating))


async def drifted_listings(store: Store) -> list[str]:
    """The ids of listings whose stored figures differ from what their rows come to. Reads everything, a listing at a time."""
    ids = await store.scan(lambda tx: tx.all(listing_ids))
    return [one for one in ids if await store.scan(partial(has_drifted, listing_id=one))]


def has_drifted(tx: Tx, listing_id: str) -> bool:
    row = tx.get(ListingRow, listing_id)
    assert row is not None
    return [row.stats, row.graduated, row.rating_sum, row.timed_jobs] != _from_rows(tx, listing_id)


def results_from_jobs(tx: Tx, listing_id: str) -> dict[str, Result]:
    """What each closed job of a listing came to, from the jobs and settlements themselves."""
    transfers = defaultdict[str, list[Transfer]](list)
    for job_id, *transfer in tx.all(transfers_of_listing, listing_id=listing_id):
        transfers[job_id].append(Transfer(*transfer))
    jobs = tx.all(closed_of_listing, listing_id=listing_id)
    return {job_id: result_of(ClosedJob(*job), transfers[job_id]) for job_id, *job in jobs}


def result_in(row: ResultRow) -> Result:
    """What a job came to as it was counted."""
    return Result(row.completed, row.failed, row.paid_minor, row.payer, row.seconds)


def _locked(tx: Tx, listing_id: str) -> ListingRow:
    row = tx.get(ListingRow, listing_id, lock=True)
    assert row is not None
    return row


def _tally_in(row: ListingRow) -> Tally:
    stats = ListingStats(**orjson.loads(row.stats))
    return Tally(
        stats.jobs_completed,
        stats.jobs_failed,
        stats.jobs_paid,
        stats.distinct_buyers,
        stats.volume_usdc,
        row.timed_jobs,
        stats.rating_count,
        row.rating_sum,
    )


def _move_wallet(tx: Tx, listing_id: str, wallet: str, change_minor: int) -> int:
    """Add to what a wallet paid; by how many the wallets that count change."""
    row = tx.get(PayerRow, listing_id, wallet)
    if row is None:
        tx.add(PayerRow(listing_id=listing_id, wallet=wallet, paid_minor=change_minor))
        return buyers_by(0, change_minor)
    after = row.paid_minor + change_minor
    tx.change(row, paid_minor=after)
    return buyers_by(row.paid_minor, after)


def _write(tx: Tx, listing: ListingRow, tally: Tally) -> None:
    median = tx.one(turnaround_at, listing_id=listing.id, place=middle(tally.timed)) if tally.timed else None
    index(
        tx,
        tx.change(
            listing,
            stats=_stats(tally, median),
            graduated=tally.graduated,
            rating_sum=tally.rating_sum,
            timed_jobs=tally.timed,
        ),
    )


def _stats(tally: Tally, median_seconds: int | None) -> str:
    return ListingStats(
        jobs_completed=tally.completed,
        jobs_failed=tally.failed,
        distinct_buyers=tally.buyers,
        rating_avg=tally.rating,
        rating_count=tally.ratings,
        median_turnaround_seconds=median_seconds,
        volume_usdc=tally.volume_minor,
        jobs_paid=tally.paid,
    ).kept()


def _from_rows(tx: Tx, listing_id: str) -> list[object]:
    """The stored columns as they are to be, from the jobs, settlements and reviews themselves."""
    results = results_from_jobs(tx, listing_id).values()
    tally = tallied(results, tx.all(ratings_of_listing, listing_id=listing_id))
    turnarounds = sorted(result.seconds for result in results if result.seconds is not None)
    median = turnarounds[middle(tally.timed)] if turnarounds else None
    return [_stats(tally, median), tally.graduated, tally.rating_sum, tally.timed]
