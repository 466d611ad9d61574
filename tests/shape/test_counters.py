"""Every number in a table is rebuilt by `emporion doctor --recompute`, or is listed here as no aggregate."""

from collections.abc import Iterator

from sqlalchemy import BigInteger, Boolean

from storage.rows import metadata
from storage.tables import EventRow
from tools.operator.aggregate_checks import AGGREGATES

NUMBERED = "numbers its rows"
AGREED = "agreed or asked for by an agent, or copied from there when it was"
SEEN = "as a chain or a receiver showed it"
PLACE = "a place in an order, not how many there are"
NOTED = "counts what happened; nothing else keeps it"
WEIGHED = "its own size when it was written; the counter of its agent is made again from it"
LIMIT = "bounds what comes next; what it counts is not kept"
NO_AGGREGATES = {
    "bounty_alerts.enabled": "a switch",
    "bounty_alerts.strangers": LIMIT,
    "listing_search.made_by": "which version of the tokens a listing is indexed by",
    "agents.auth_epoch": LIMIT,
    "agents.evaluator": AGREED,
    "agents.first_party": AGREED,
    "agents.key_proven": AGREED,
    "agent_domains.failures": LIMIT,
    "agent_search.newest": PLACE,
    "agent_search.seq": NUMBERED,
    "answers.sealed": "says how the body is kept",
    "answers.status": "of the answer that is kept",
    "bounties.budget_max": AGREED,
    "bounties.first_party": AGREED,
    "bounties.stored_bytes": WEIGHED,
    "bounty_search.newest": PLACE,
    "archives.jobs": "of a file, which is never written again",
    "bounty_search.seq": NUMBERED,
    "daily_counts.at": "part of the key",
    "daily_counts.day": "part of the key",
    "dispute_draws.round": PLACE,
    "dispute_draws.draw_version": "names the way it was drawn",
    "dispute_draws.wanted": "as the case stood when it was drawn",
    "dispute_seats.round": PLACE,
    "disputes.evidence_ends": PLACE,
    "disputes.opened_with": PLACE,
    "disputes.round": PLACE,
    "disputes.seats": "as the first draw came to; a draw is made again as a whole by `emporion draw`",
    "searches.searches": NOTED,
    "searches.zero_results": NOTED,
    "events.id": NUMBERED,
    "job_events.id": NUMBERED,
    "jobs.first_party": AGREED,
    "jobs.head_at_order": SEEN,
    "jobs.max_price": AGREED,
    "jobs.max_revisions": AGREED,
    "jobs.price": AGREED,
    "jobs.quoted_price": AGREED,
    "jobs.turnaround_seconds": AGREED,
    "jobs.accept_timeout_seconds": AGREED,
    "jobs.units": AGREED,
    "listing_promises.listing_version": "names the version of the listing that promised it",
    "listing_search.cheapest": PLACE,
    "listing_search.newest": PLACE,
    "listing_search.seq": NUMBERED,
    "listings.accept_timeout_seconds": AGREED,
    "listings.first_party": AGREED,
    "listings.max_open_jobs": AGREED,
    "listings.price": AGREED,
    "listings.stored_bytes": WEIGHED,
    "listings.turnaround_seconds": AGREED,
    "payment_searches.scanned_to": PLACE,
    "payment_searches.valid_before": AGREED,
    "proposals.price": AGREED,
    "purchases.amount": AGREED,
    "purchases.scanned_to": PLACE,
    "purchases.valid_before": AGREED,
    "rate_windows.count": LIMIT,
    "reviews.job_value": AGREED,
    "reviews.machine_generated": AGREED,
    "reviews.rating": AGREED,
    "schedules.interval_seconds": AGREED,
    "schedules.max_runs": AGREED,
    "schedules.run_count": LIMIT,  # its events are deleted after 90 days
    "settlements.amount": SEEN,
    "settlements.voluntary": "said when the transfer was recorded; what is owed later changes it no more",
    "settlements.block_number": SEEN,
    "settlements.expected_amount": "what was owed when the transfer was recorded; what came later changes it no more",
    "threads.read_a": PLACE,
    "threads.read_b": PLACE,
    "threads.run": LIMIT,  # also ended by steps of a job and by notes, so it cannot be computed from messages
    "webhook_deliveries.attempt": LIMIT,
    "webhook_deliveries.event_number": PLACE,
    "webhook_deliveries.last_status_code": SEEN,
    "webhook_fanout.event_number": PLACE,
    "webhooks.failures": LIMIT,  # reset by its agent, and deliveries are deleted after 30 days
    "webhooks.since": PLACE,
}


def test_a_number_that_is_kept_is_made_again_or_said_to_be_no_aggregate() -> None:
    made = {f"{one.table}.{column}" for one in AGGREGATES for column in one.columns}
    assert sorted(made & set(NO_AGGREGATES)) == []
    assert sorted(set(numbers()) - made - set(NO_AGGREGATES)) == [], "new: name it in AGGREGATES, or say why not here"
    assert sorted(set(NO_AGGREGATES) - set(numbers())) == [], "gone"


def test_the_table_of_aggregates_names_columns_there_are() -> None:
    known = {f"{table.name}.{column.key}" for table in metadata.tables.values() for column in table.columns}
    assert EventRow.__table__.name in metadata.tables
    assert [name for one in AGGREGATES for name in one.columns if f"{one.table}.{name}" not in known] == []


def numbers() -> Iterator[str]:
    """Yield the integer and boolean columns, without times.

    `version` is left out, because it guards a row and counts nothing.
    """
    for table in metadata.tables.values():
        for column in table.columns:
            if type(column.type) in (BigInteger, Boolean) and column.key != "version":
                yield f"{table.name}.{column.key}"
