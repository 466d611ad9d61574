"""Every stored count and sum, computed again from its source rows, and the differences."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from storage import operator as stored
from storage.archives import archived_among
from storage.daily_counts import ALL, kept_counts, made_counts
from storage.disputes import dispute_ids
from storage.jobs import deliveries_of_jobs, settlements_of_jobs
from storage.query import Query
from storage.quotas import COUNTED, rooms_of
from storage.search_tokens import rank_key
from storage.store import Store
from storage.tables import ListingRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import ListingStatus, SettlementKind
from tools.chain.transfer_verification import is_too_old
from tools.jobs.disputes.draws import faults_of_draws
from tools.jobs.facts import refund_expected
from tools.jobs.payments.terms import began_at
from tools.jobs.sealing_rules import commitment
from tools.jobs.snapshot import with_settlements
from tools.jobs.stored_texts import is_counted, output_part
from tools.kernel.ids import Prefix
from tools.listings.logic import rating_shown
from tools.listings.stats import has_drifted, result_in, results_from_jobs
from tools.listings.stats_rules import Result, wallet_moves
from tools.operator.reputation_rebuild import COLUMNS, categories, counterparties, marks, reputations, tiers, unlike

PAGE = 100
COUNTS = ("message_count", "from_a", "from_b", "unread_a", "unread_b")
COMMITTED = ("output", "output_bytes", "output_salt", "output_commitment")

Ids = Sequence[str]
Drifted = Callable[[Tx, Ids], Iterable[str]]  # returns the keys of wrong rows, for the operator


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Columns of one table that are derived from other rows, and how wrong ones are found."""

    table: str
    columns: tuple[str, ...]
    of: Query[str]  # pages of ids, the argument of `drifted`
    drifted: Drifted


class Drift(NamedTuple):
    """The differences found in one aggregate."""

    aggregate: Aggregate
    keys: list[str]

    def __str__(self) -> str:
        some = f": {', '.join(self.keys[:5])}" if self.keys else ""
        return f"{self.aggregate.table} ({', '.join(self.aggregate.columns)}): {len(self.keys)} differ{some}"


async def recompute(store: Store) -> AsyncIterator[Drift]:
    """Compute every aggregate again and yield its differences.

    Each page is read from one snapshot, so that changes during the run show no differences.
    """
    for aggregate in (*AGGREGATES, *PROOFS):
        keys: list[str] = []
        after: str | None = ""
        while after is not None:
            found, after = await store.scan(partial(_page, aggregate=aggregate, after=after))
            keys += found
        yield Drift(aggregate, keys)


def _page(tx: Tx, aggregate: Aggregate, after: str) -> tuple[list[str], str | None]:
    ids = tx.all(aggregate.of, after=after, limit=PAGE)
    return sorted(aggregate.drifted(tx, ids)) if ids else [], ids[-1] if len(ids) == PAGE else None


def _results(tx: Tx, ids: Ids) -> set[str]:
    kept = {row.job_id: result_in(row) for row in tx.all(stored.results_of_listings, ids=ids)}
    made = {job_id: result for one in ids for job_id, result in results_from_jobs(tx, one).items()}
    return unlike(kept, made, Result())


def _payers(tx: Tx, ids: Ids) -> set[str]:
    rows = tx.all(stored.payers_of_listings, ids=ids)
    made = Counter[str]()
    for one in ids:
        for result in results_from_jobs(tx, one).values():
            for wallet, paid_minor in wallet_moves(Result(), result):
                made[f"{one} {wallet}"] += paid_minor
    return unlike({f"{row.listing_id} {row.wallet}": row.paid_minor for row in rows}, made, 0)


def _ranks(tx: Tx, ids: Ids) -> list[str]:
    """Find wrong places of listings in the search."""
    wrong = list[str]()
    for place in tx.all(stored.places_of_listings, ids=ids):
        row = tx.need(ListingRow, place.listing_id)
        rank = rank_key(row.graduated, rating_shown(row), place.seq, place.seen_until is None)
        if place.rank != (rank if row.status is ListingStatus.ACTIVE else None):
            wrong.append(str(place.seq))
    return wrong


def _jobs(tx: Tx, ids: Ids) -> list[str]:
    """Find jobs with a wrong last delivery, a wrong revision count, or a wrong `counted`.

    `counted`: the texts and messages count as storage, because the job is not paid.
    """
    asked, away = dict(tx.all(stored.revisions_asked, ids=ids)), {*tx.all(archived_among, ids=ids)}
    last = {one.job_id: one for one in tx.all(deliveries_of_jobs, job_ids=ids)}
    return [
        job.row.id
        for job in with_settlements(tx, tx.all(stored.jobs_among, ids=ids))
        if (job.row.revision_count != asked.get(job.row.id, 0) and job.row.id not in away)
        or any(getattr(job.row, name) != getattr(last.get(job.row.id), name, None) for name in COMMITTED)
        or job.row.counted != is_counted(job.facts)
    ]


def _deliveries(tx: Tx, ids: Ids) -> set[str]:
    """Find jobs with a delivery of a wrong revision number (from 0), size or commitment.

    Size and commitment cannot be checked if the text was deleted or archived.
    """
    texts = {(one.job_id, one.part): one.text.encode() for one in tx.all(stored.texts_of_jobs, ids=ids)}
    forgotten = {row.id for row in tx.all(stored.jobs_among, ids=ids) if row.forgotten_at is not None}
    forgotten.update(tx.all(archived_among, ids=ids))
    wrong = set[str]()
    for job_id, rows in groupby(tx.all(deliveries_of_jobs, job_ids=ids), lambda row: row.job_id):
        for place, row in enumerate(rows):
            text = texts.get((job_id, output_part(place)))
            stored_as = row.output_bytes, row.output_commitment
            kept = job_id in forgotten if text is None else stored_as == (len(text), commitment(row.output_salt, text))
            if row.revision != place or not kept:
                wrong.add(job_id)
    return wrong


def _open_refunds(tx: Tx, ids: Ids) -> set[str]:
    """Find jobs that the index of refunds due has by mistake or lacks."""
    jobs = with_settlements(tx, tx.all(stored.jobs_among, ids=ids))
    return {job.row.id for job in jobs if refund_expected(job.facts)} ^ {*tx.all(stored.open_refund_ids, ids=ids)}


def _too_old(tx: Tx, ids: Ids) -> list[str]:
    """Find payments that are older than their job, and refunds that are older than the payment."""
    jobs = {row.id: row for row in tx.all(stored.jobs_among, ids=ids)}
    found, paid_in = list[str](), dict[str, int]()
    rows = tx.all(settlements_of_jobs, job_ids=ids)
    for row in sorted(rows, key=lambda one: (one.block_number, one.kind is SettlementKind.REFUND)):
        if row.kind is SettlementKind.PAYMENT:
            paid_in.setdefault(row.job_id, row.block_number)
            wrong = is_too_old(row.block_number, int(row.block_time.timestamp()), began_at(jobs[row.job_id]))
        else:
            wrong = row.block_number <= paid_in.get(row.job_id, row.block_number)
        found += [row.id] if wrong else []
    return found


def _summed(totals: Query[Any], column: str, *parts: Query[Any]) -> Drifted:
    """Make the check of a total of each agent in each environment: the sum of what `parts` find."""

    def drifted(tx: Tx, ids: Ids) -> set[str]:
        made = Counter[str]()
        for part in parts:
            for agent_id, env, number in tx.all(part, ids=ids):
                made[f"{agent_id} {env}"] += number
        kept = {f"{row.agent_id} {row.env}": getattr(row, column) for row in tx.all(totals, ids=ids)}
        return unlike(kept, made, 0)

    return drifted


def _found_by(faults: Query[Any]) -> Drifted:
    """Make the check that a query finds no faults."""
    return lambda tx, ids: [one if isinstance(one, str) else " ".join(one) for one in tx.all(faults, ids=ids)]


def _threads(tx: Tx, ids: Ids) -> list[str]:
    said = defaultdict[str, list[Any]](list)
    for message in tx.all(stored.messages_in, ids=ids):
        said[message[0]].append(message)
    return [row.id for row in _present(tx, ids) if not _counts(row, said[row.id])]


def _present(tx: Tx, ids: Ids) -> list[ThreadRow]:
    """Return the threads of which no message is in an archive."""
    found = tx.all(stored.threads_among, ids=ids)
    away = {*tx.all(archived_among, ids=[row.job_id for row in found if row.job_id])}
    return [row for row in found if row.job_id not in away]


def _counts(row: ThreadRow, said: Sequence[Any]) -> bool:
    """Check a thread's columns against its messages, which are sorted from the oldest."""
    last_id, last_at = (said[-1][1], said[-1][6]) if said else (row.id, None)
    senders = Counter(message[5] for message in said)
    return [getattr(row, name) for name in (*COUNTS, "latest", "last_message_at")] == [
        len(said),
        senders[row.a],
        senders[row.b],
        _unread(said, row.read_a, row.a),
        _unread(said, row.read_b, row.b),
        last_id[len(Prefix.THREAD) :],
        last_at,
    ]


def _unread(said: Sequence[Any], read: int, reader: str) -> int:
    return sum(message[2] > read and message[5] != reader for message in said)


def _messages(tx: Tx, ids: Ids) -> list[str]:
    """Find messages with a wrong number (from 1) or wrong counts of each side's messages so far."""
    threads = {row.id: row for row in _present(tx, ids)}
    wrong, last, senders = list[str](), "", Counter[str]()
    for thread_id, message_id, number, from_a, from_b, sender, _ in tx.all(stored.messages_in, ids=ids):
        if thread_id != last:
            last, senders = thread_id, Counter[str]()
        if thread_id not in threads:
            continue
        senders[sender] += 1
        row = threads[thread_id]
        if (number, from_a, from_b) != (senders.total(), senders[row.a], senders[row.b]):
            wrong.append(message_id)
    return wrong


def _memories(tx: Tx, ids: Ids) -> list[str]:
    rows = tx.all(stored.memories_of, ids=ids)
    return [f"{agent_id} {env} {key}" for agent_id, env, key, size, value in rows if size != len(value.encode())]


def _days(tx: Tx, _: Ids) -> set[str]:
    kept = {" ".join(str(getattr(row, key)) for key in row.__key__): row.number for row in tx.all(kept_counts)}
    made = {" ".join(map(str, key)): number for query in made_counts for *key, number in tx.all(query)}
    return unlike(kept, made, 0)


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate(
        "listings",
        ("stats", "graduated", "rating_sum", "timed_jobs"),
        stored.LISTINGS,
        lambda tx, ids: [one for one in ids if has_drifted(tx, one)],
    ),
    Aggregate("job_results", tuple(one.name for one in fields(Result)), stored.LISTINGS, _results),
    Aggregate("listing_payers", ("paid_minor",), stored.LISTINGS, _payers),
    Aggregate("listing_search", ("rank",), stored.LISTINGS, _ranks),
    Aggregate("jobs", ("revision_count", *COMMITTED, "counted"), stored.JOBS, _jobs),
    Aggregate("job_deliveries", ("revision", "output_bytes", "output_commitment"), stored.JOBS, _deliveries),
    Aggregate("open_refunds", ("job_id",), stored.JOBS, _open_refunds),
    Aggregate("threads", (*COUNTS, "latest", "last_message_at"), stored.THREADS, _threads),
    Aggregate("messages", ("number", "from_a", "from_b"), stored.THREADS, _messages),
    Aggregate(
        "mailboxes",
        ("unread",),
        stored.AGENTS,
        _summed(stored.mailboxes_of, "unread", stored.unread_as_a, stored.unread_as_b),
    ),
    Aggregate("agent_storage", ("used",), stored.AGENTS, _summed(rooms_of, "used", *COUNTED)),
    Aggregate("memories", ("size",), stored.AGENTS, _memories),
    Aggregate(  # the proposals that were not withdrawn
        "bounties",
        ("proposal_count",),
        stored.BOUNTIES,
        lambda tx, ids: unlike(
            dict(tx.all(stored.bounties_counting, ids=ids)), dict(tx.all(stored.proposals_standing, ids=ids)), 0
        ),
    ),
    Aggregate("job_marks", ("mark",), stored.JOBS, marks),
    Aggregate("reputations", COLUMNS, stored.AGENTS, reputations),
    Aggregate("reputation_categories", ("figures", "jobs"), stored.AGENTS, categories),
    Aggregate(
        "reputation_counterparties",
        ("paid_minor", "returned_minor", "third_party_minor", "free_jobs", "rating_sum", "rating_count"),
        stored.AGENTS,
        counterparties,
    ),
    Aggregate("agents", ("trust_tier",), stored.AGENTS, tiers),
    Aggregate(  # `emporion draw` says why a draw is wrong
        "dispute_draws",
        ("seats", "eligible_hash", "related", "related_hash"),
        dispute_ids,
        lambda tx, ids: [f"{one} {draw.round}" for one in ids for draw, wrong in faults_of_draws(tx, one) if wrong],
    ),
    Aggregate("daily_counts", ("number",), ALL, _days),
    Aggregate("wallets", ("address",), stored.AGENTS, _found_by(stored.wallets_unproven)),
    Aggregate("settlements", ("payer_address",), stored.JOBS, _found_by(stored.payers_unproven)),
    Aggregate("x402_accounts", ("address",), stored.AGENTS, _found_by(stored.accounts_unproven)),
)
"""Stored values that are derived from other rows. A derived column that is not listed here is not checked.

The last three check that no agent uses a wallet that it has not proven.
"""
PROOFS = (Aggregate("settlements", ("block_number", "block_time"), stored.JOBS, _too_old),)
"""Conditions on rows that are not derived from others."""
