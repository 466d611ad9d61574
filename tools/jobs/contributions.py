"""Counts a job's result in its parties' reputations, also again for jobs that are queued for it."""

from collections.abc import Iterable
from datetime import datetime

import structlog

from storage.jobs import reviews_of_job
from storage.reputation import marked_again, unmarked
from storage.tables import JobRow, ReviewRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, Actor, Env, SettlementStatus
from tools.jobs.contribution_rules import ContributionInputs, mark_of
from tools.jobs.snapshot import JobSnapshot, load
from tools.listings.stats import recount
from tools.listings.stats_rules import wallet_of_most
from tools.reputation.logic import count_mark
from tools.reputation.rules import JobContribution

BATCH = 50
log = structlog.get_logger("emporion.steps")


def count_job(tx: Tx, seen: JobSnapshot, now: datetime) -> None:
    """Update both parties' reputations with a job's present result; the job is locked."""
    reviews = tx.all(reviews_of_job, job_id=seen.row.id) if seen.row.status in FINISHED else ()
    count_mark(tx, seen.row, made_mark(seen, reviews), now)


def made_mark(seen: JobSnapshot, reviews: Iterable[ReviewRow]) -> JobContribution:
    """Compute the mark of a job, which is its result, from its rows."""
    row = seen.row
    settled = [one for one in seen.payments if one.status is SettlementStatus.SETTLED]
    ratings = {review.role: review.rating for review in reviews}
    beside = ContributionInputs(
        answered=row.accepted_at is not None,
        quoted=row.quoted_price is not None,
        late=_late(seen),
        live=row.env == Env.LIVE,
        payer=wallet_of_most((one.payer_address, one.amount) for one in settled),
        payee=wallet_of_most((one.pay_to, one.amount) for one in settled),
        seller_rating=ratings.get(Actor.BUYER),
        buyer_rating=ratings.get(Actor.SELLER),
    )
    return mark_of(seen.facts, beside)


def _late(seen: JobSnapshot) -> bool:
    """Check whether any delivery came after its deadline, including those of revisions."""
    row = seen.row
    if not row.revision_count:
        return row.delivered_at is not None and row.deliver_by is not None and row.delivered_at > row.deliver_by
    return any(one.deliver_by is not None and one.delivered_at > one.deliver_by for one in seen.deliveries)


def count_waiting(tx: Tx, now: datetime) -> bool:
    """Count a batch of the queued jobs; return False if there were none.

    If a job fails, the error is logged and the job's figures stay as they were.
    """
    waiting = tx.all(unmarked, limit=BATCH)
    for one in waiting:
        with tx.alone() as kept:
            row = tx.get(JobRow, one.job_id, lock=True)
            if row is not None:
                seen = load(tx, row)
                recount(tx, row, seen.settlements)
                count_job(tx, seen, now)
        if kept.error is not None:
            log.error("a row failed", step="count_waiting", id=one.job_id, error=repr(kept.error))
        tx.run(marked_again, job_id=one.job_id)
    return bool(waiting)
