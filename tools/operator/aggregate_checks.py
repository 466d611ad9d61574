"""Every stored count, sum and time that is derived from other rows: how it is made again, and which ones differ.

A check compares what is stored with the rows that it is made of, a page of ids in one snapshot of the database. Figures
of agents and listings are made of the stored marks and results of jobs, which are themselves made again of each job.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from storage import operator as stored
from storage.daily_counts import kept_counts, made_counts
from storage.query import Query
from storage.quotas import COUNTED, rooms_of
from storage.reputation import marks_of_jobs
from storage.rows import Row
from storage.search_tokens import rank_key
from storage.tables import AgentRow, BountyRow, DisputeRow, JobDeliveryRow, JobRow, ListingRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import Counted, ListingStatus, SettlementKind
from tools.chain.transfer_verification import is_too_old
from tools.jobs.contributions import made_mark
from tools.jobs.disputes.draws import faults_of_draws
from tools.jobs.facts import refund_expected
from tools.jobs.lifecycle import due_at
from tools.jobs.payments.terms import began_at
from tools.jobs.sealing_rules import commitment
from tools.jobs.snapshot import JobSnapshot
from tools.jobs.stored_texts import is_counted, output_part
from tools.listings.logic import rating_shown
from tools.listings.stats import CLOSED, differs_from, made_result, result_in
from tools.listings.stats_rules import Result
from tools.operator.checked_page import COUNTS, CheckedPage
from tools.operator.reputation_rebuild import COLUMNS, categories, counterparties, reputations, tiers, unlike
from tools.reputation.logic import NOTHING_YET, mark_text

COMMITTED = ("output", "output_bytes", "output_salt", "output_commitment")
KEPT_KEYS = 1_000  # of the wrong rows of one aggregate

Drifted = Callable[[CheckedPage], Iterable[str]]  # returns the keys of wrong rows, for the operator


@dataclass(eq=False, slots=True)
class Source:
    """The ids that are checked page by page, in their order."""

    name: str
    kind: type[Row] | None  # the table of the ids; None: the words of the counts by day
    page: int  # ids in one snapshot; few if one of them may have many rows

    def after(self, tx: Tx, after: str, limit: int) -> Sequence[str]:
        if self.kind is None:
            return sorted(word for word in made_counts if word > after)[:limit]
        return tx.all(stored.ids_after[self.kind], after=after, limit=limit)

    def left(self, tx: Tx, after: str) -> int:
        """Count the ids after this one."""
        if self.kind is None:
            return len(self.after(tx, after, len(made_counts)))
        return tx.one(stored.counted_from[self.kind], after=after) or 0


JOBS = Source("jobs", JobRow, 200)
LISTINGS = Source("listings", ListingRow, 20)
AGENTS = Source("agents", AgentRow, 20)
THREADS = Source("threads", ThreadRow, 200)
BOUNTIES = Source("bounties", BountyRow, 200)
DISPUTES = Source("disputes", DisputeRow, 20)
DAYS = Source("counts by day", None, 1)
SOURCES = (JOBS, LISTINGS, THREADS, AGENTS, BOUNTIES, DISPUTES, DAYS)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Columns of one table that are derived from other rows, and how wrong ones are found."""

    table: str
    columns: tuple[str, ...]
    of: Source
    drifted: Drifted


@dataclass(slots=True)
class Drift:
    """The differences found in one aggregate, and the first KEPT_KEYS of the wrong rows."""

    aggregate: Aggregate
    keys: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, keys: Sequence[str]) -> None:
        self.count += len(keys)
        self.keys += keys[: KEPT_KEYS - len(self.keys)]

    def __str__(self) -> str:
        some = f": {', '.join(self.keys[:5])}" if self.keys else ""
        return f"{self.aggregate.table} ({', '.join(self.aggregate.columns)}): {self.count} differ{some}"


def _results(page: CheckedPage) -> set[str]:
    """Find the jobs of listings whose result differs from the one made of their rows."""
    kept = {row.job_id: (row.listing_id, result_in(row)) for row in page.tx.all(stored.results_of_jobs, ids=page.ids)}
    rows = [job.row for job in page.jobs if job.row.listing_id is not None and job.row.status in CLOSED]
    made = {
        row.id: (row.listing_id, made_result(row, page.settlements[row.id], page.reviews_counted(row))) for row in rows
    }
    wrong = {key for key in {*kept, *made} if kept.get(key) != made.get(key)}
    return {key for key in wrong if key in kept or made[key][1] != Result()}


def _listings(page: CheckedPage) -> list[str]:
    rows = (page.tx.need(ListingRow, one) for one in page.ids)
    return [row.id for row in rows if differs_from(page.tx, row, page.totals[row.id][0])]


def _payers(page: CheckedPage) -> set[str]:
    rows = page.tx.all(stored.payers_of_listings, ids=page.ids)
    made = {f"{one} {wallet}": paid for one in page.ids for wallet, paid in page.totals[one][1].items()}
    return unlike({f"{row.listing_id} {row.wallet}": row.paid_minor for row in rows}, made, 0)


def _ranks(page: CheckedPage) -> list[str]:
    """Find wrong places of listings in the search."""
    wrong = list[str]()
    for place in page.tx.all(stored.places_of_listings, ids=page.ids):
        row = page.tx.need(ListingRow, place.listing_id)
        rank = rank_key(row.graduated, rating_shown(row), place.seq, place.seen_until is None)
        if place.rank != (rank if row.status is ListingStatus.ACTIVE else None):
            wrong.append(str(place.seq))
    return wrong


def _jobs(page: CheckedPage) -> list[str]:
    """Find jobs with a wrong last delivery, revision count, `counted` or `clock_at`.

    `counted`: the texts and messages count as storage, because the job is not paid.
    """
    asked = dict(page.tx.all(stored.revisions_asked, ids=page.ids))
    return [
        job.row.id
        for job in page.jobs
        if (job.row.revision_count != asked.get(job.row.id, 0) and job.row.id not in page.archived)
        or any(getattr(job.row, name) != getattr(_last(job), name, None) for name in COMMITTED)
        or job.row.counted != is_counted(job.facts)
        or not _clock_is_set(job)
    ]


def _last(job: JobSnapshot) -> JobDeliveryRow | None:
    return job.deliveries[-1] if job.deliveries else None


def _clock_is_set(job: JobSnapshot) -> bool:
    """Check the time of the clock's next move.

    A time that is too early is no fault: the clock sets it right when it comes.
    """
    due, kept = due_at(job.facts), job.row.clock_at
    return kept == due or (kept is not None and due is not None and kept < due)


def _deliveries(page: CheckedPage) -> set[str]:
    """Find jobs with a delivery of a wrong revision number (from 0), size or commitment.

    Size and commitment cannot be checked if the text was deleted or archived.
    """
    texts = {(one.job_id, one.part): one.text.encode() for one in page.tx.all(stored.texts_of_jobs, ids=page.ids)}
    forgotten = {job.row.id for job in page.jobs if job.row.forgotten_at is not None} | page.archived
    wrong = set[str]()
    for job_id, rows in page.deliveries.items():
        for place, row in enumerate(rows):
            text = texts.get((job_id, output_part(place)))
            stored_as = row.output_bytes, row.output_commitment
            kept = job_id in forgotten if text is None else stored_as == (len(text), commitment(row.output_salt, text))
            if row.revision != place or not kept:
                wrong.add(job_id)
    return wrong


def _open_refunds(page: CheckedPage) -> set[str]:
    """Find jobs that the index of refunds due has by mistake or lacks."""
    due = {job.row.id for job in page.jobs if refund_expected(job.facts)}
    return due ^ {*page.tx.all(stored.open_refund_ids, ids=page.ids)}


def _marks(page: CheckedPage) -> set[str]:
    kept = {row.job_id: row.mark for row in page.tx.all(marks_of_jobs, ids=page.ids)}
    made = {job.row.id: mark_text(made_mark(job, page.reviews_counted(job.row))) for job in page.jobs}
    return unlike(kept, made, NOTHING_YET)


def _too_old(page: CheckedPage) -> list[str]:
    """Find payments that are older than their job, and refunds that are older than the payment."""
    found = list[str]()
    for job in page.jobs:
        paid_in: int | None = None
        for row in sorted(job.settlements, key=lambda one: (one.block_number, one.kind is SettlementKind.REFUND)):
            if row.kind is SettlementKind.PAYMENT:
                paid_in = row.block_number if paid_in is None else paid_in
                wrong = is_too_old(row.block_number, int(row.block_time.timestamp()), began_at(job.row))
            else:
                wrong = paid_in is None or row.block_number <= paid_in
            found += [row.id] if wrong else []
    return found


def _summed(totals: Query[Any], column: str, *parts: Query[Any]) -> Drifted:
    """Make the check of a total of each agent in each environment: the sum of what `parts` find."""

    def drifted(page: CheckedPage) -> set[str]:
        made = Counter[str]()
        for part in parts:
            for agent_id, env, number in page.tx.all(part, ids=page.ids):
                made[f"{agent_id} {env}"] += number
        kept = {f"{row.agent_id} {row.env}": getattr(row, column) for row in page.tx.all(totals, ids=page.ids)}
        return unlike(kept, made, 0)

    return drifted


def _found_by(faults: Query[Any]) -> Drifted:
    """Make the check that a query finds no faults."""
    return lambda page: [one if isinstance(one, str) else " ".join(one) for one in page.tx.all(faults, ids=page.ids)]


def _memories(page: CheckedPage) -> list[str]:
    rows = page.tx.each(stored.memories_of, ids=page.ids)
    return [f"{agent_id} {env} {key}" for agent_id, env, key, size, value in rows if size != len(value.encode())]


def _days(page: CheckedPage) -> set[str]:
    """Find wrong counts by day of these words, and counts whose word is unknown."""
    known = {*made_counts} - {*page.ids}
    rows = [row for row in page.tx.all(kept_counts) if row.name.partition(".")[0] not in known]
    kept = {" ".join(str(getattr(row, key)) for key in row.__key__): row.number for row in rows}
    counted = (page.tx.all(made_counts[Counted(word)]) for word in page.ids)
    return unlike(kept, {" ".join(map(str, key)): number for found in counted for *key, number in found}, 0)


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate(
        "listings",
        ("stats", "graduated", "rating_sum", "timed_jobs"),
        LISTINGS,
        _listings,
    ),
    Aggregate("job_results", tuple(one.name for one in fields(Result)), JOBS, _results),
    Aggregate("listing_payers", ("paid_minor",), LISTINGS, _payers),
    Aggregate("listing_search", ("rank",), LISTINGS, _ranks),
    Aggregate("jobs", ("revision_count", *COMMITTED, "counted", "clock_at"), JOBS, _jobs),
    Aggregate("job_deliveries", ("revision", "output_bytes", "output_commitment"), JOBS, _deliveries),
    Aggregate("open_refunds", ("job_id",), JOBS, _open_refunds),
    Aggregate("threads", (*COUNTS, "latest", "last_message_at"), THREADS, lambda page: page.misnumbered[0]),
    Aggregate("messages", ("number", "from_a", "from_b"), THREADS, lambda page: page.misnumbered[1]),
    Aggregate(
        "mailboxes",
        ("unread",),
        AGENTS,
        _summed(stored.mailboxes_of, "unread", stored.unread_as_a, stored.unread_as_b),
    ),
    Aggregate("agent_storage", ("used",), AGENTS, _summed(rooms_of, "used", *COUNTED)),
    Aggregate("memories", ("size",), AGENTS, _memories),
    Aggregate(  # the proposals that were not withdrawn
        "bounties",
        ("proposal_count",),
        BOUNTIES,
        lambda page: unlike(
            dict(page.tx.all(stored.bounties_counting, ids=page.ids)),
            dict(page.tx.all(stored.proposals_standing, ids=page.ids)),
            0,
        ),
    ),
    Aggregate("job_marks", ("mark",), JOBS, _marks),
    Aggregate("reputations", COLUMNS, AGENTS, lambda page: reputations(page.tx, page.ids, page.reputations)),
    Aggregate(
        "reputation_categories",
        ("figures", "jobs"),
        AGENTS,
        lambda page: categories(page.tx, page.ids, page.reputations),
    ),
    Aggregate(
        "reputation_counterparties",
        ("paid_minor", "returned_minor", "third_party_minor", "free_jobs", "rating_sum", "rating_count"),
        AGENTS,
        lambda page: counterparties(page.tx, page.ids, page.reputations),
    ),
    Aggregate("agents", ("trust_tier",), AGENTS, lambda page: tiers(page.tx, page.ids, page.reputations)),
    Aggregate(  # `emporion draw` says why a draw is wrong
        "dispute_draws",
        ("seats", "eligible_hash", "related", "related_hash"),
        DISPUTES,
        lambda page: [
            f"{one} {draw.round}" for one in page.ids for draw, wrong in faults_of_draws(page.tx, one) if wrong
        ],
    ),
    Aggregate("daily_counts", ("number",), DAYS, _days),
    Aggregate("wallets", ("address",), AGENTS, _found_by(stored.wallets_unproven)),
    Aggregate("settlements", ("payer_address",), JOBS, _found_by(stored.payers_unproven)),
    Aggregate("x402_accounts", ("address",), AGENTS, _found_by(stored.accounts_unproven)),
)
"""Stored values that are derived from other rows. A derived column that is not listed here is not checked.

The last three check that no agent uses a wallet that it has not proven.
"""
PROOFS = (Aggregate("settlements", ("block_number", "block_time"), JOBS, _too_old),)
"""Conditions on rows that are not derived from others."""
