"""Every stored count and sum, made again from the rows it stands for: the table of them, and which differ."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from storage.jobs import deliveries_of_jobs, settlements_of_jobs
from storage.query import Query
from storage.recompute import (
    AGENTS,
    BOUNTIES,
    JOBS,
    LISTINGS,
    THREADS,
    bounties_counting,
    jobs_among,
    listed,
    mailboxes_of,
    memories_of,
    messages_in,
    payers_of_listings,
    proposals_standing,
    refunds_open,
    results_of_listings,
    revisions_asked,
    texts_among,
    threads_among,
    unread_as_a,
    unread_as_b,
)
from storage.store import Store
from storage.tables import JobDeliveryRow, JobRow, ThreadRow
from storage.unit import Tx
from tools.rules.ids import Prefix
from tools.rules.jobfacts import refund_expected
from tools.rules.stats import Result, wallet_moves
from tools.steps.figures import has_drifted, result_in, results_from_jobs
from tools.steps.jobs import SeenJob
from tools.steps.refolding import categories, counterparties, marks, reputations, tiers, unlike

PAGE = 100

Ids = Sequence[str]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Columns of one table that repeat what other rows say, and how those that differ are found."""

    table: str
    columns: tuple[str, ...]
    of: Query[str]  # pages of the ids that `drifted` is asked about
    drifted: Callable[[Tx, Ids], Iterable[str]]  # the keys that differ, as a person would look for them


class Drift(NamedTuple):
    """What differs of one aggregate."""

    aggregate: Aggregate
    keys: list[str]

    def __str__(self) -> str:
        some = f": {', '.join(self.keys[:5])}" if self.keys else ""
        return f"{self.aggregate.table} ({', '.join(self.aggregate.columns)}): {len(self.keys)} differ{some}"


async def recompute(store: Store) -> AsyncIterator[Drift]:
    """Make every aggregate again. Each page is read as of one moment, so a market that goes on shows no drift by that."""
    for aggregate in AGGREGATES:
        keys: list[str] = []
        after: str | None = ""
        while after is not None:
            found, after = await store.scan(partial(_page, aggregate=aggregate, after=after))
            keys += found
        yield Drift(aggregate, keys)


def _page(tx: Tx, aggregate: Aggregate, after: str) -> tuple[list[str], str | None]:
    ids = tx.all(aggregate.of, after=after, limit=PAGE)
    return sorted(aggregate.drifted(tx, ids)) if ids else [], ids[-1] if len(ids) == PAGE else None


def _listings(tx: Tx, ids: Ids) -> list[str]:
    return [one for one in ids if has_drifted(tx, one)]


def _results(tx: Tx, ids: Ids) -> set[str]:
    kept = {row.job_id: result_in(row) for row in tx.all(results_of_listings, ids=listed(ids))}
    made = {job_id: result for one in ids for job_id, result in results_from_jobs(tx, one).items()}
    return unlike(kept, made, Result())


def _payers(tx: Tx, ids: Ids) -> set[str]:
    rows = tx.all(payers_of_listings, ids=listed(ids))
    made = Counter[str]()
    for one in ids:
        for result in results_from_jobs(tx, one).values():
            for wallet, paid_minor in wallet_moves(Result(), result):
                made[f"{one} {wallet}"] += paid_minor
    return unlike({f"{row.listing_id} {row.wallet}": row.paid_minor for row in rows}, made, 0)


def _jobs(tx: Tx, ids: Ids) -> list[str]:
    """A job shows its last delivery, and as many revisions as its audit trail."""
    asked = dict(tx.all(revisions_asked, ids=listed(ids)))
    last = {one.job_id: one for one in tx.all(deliveries_of_jobs, job_ids=listed(ids))}
    return [
        row.id
        for row in tx.all(jobs_among, ids=listed(ids))
        if row.revision_count != asked.get(row.id, 0) or not _shows(row, last.get(row.id))
    ]


def _shows(row: JobRow, last: JobDeliveryRow | None) -> bool:
    if last is None:
        return row.output is None and row.output_bytes is None
    return (row.output, row.output_bytes) == (last.output, last.output_bytes)


def _deliveries(tx: Tx, ids: Ids) -> set[str]:
    """The revisions of a job count from 0, and each has the size of its document."""
    wrong = set[str]()
    for job_id, rows in groupby(tx.all(deliveries_of_jobs, job_ids=listed(ids)), lambda row: row.job_id):
        found = list(rows)
        texts = {one.hash: one.text for one in tx.all(texts_among, ids=listed([row.output for row in found]))}
        sizes = [len(texts.get(row.output, "").encode()) for row in found]
        if [(row.revision, row.output_bytes) for row in found] != list(enumerate(sizes)):
            wrong.add(job_id)
    return wrong


def _open_refunds(tx: Tx, ids: Ids) -> set[str]:
    """A job is kept among those that owe something exactly while its settlements say so."""
    settlements = defaultdict[str, list[Any]](list)
    for row in tx.all(settlements_of_jobs, job_ids=listed(ids)):
        settlements[row.job_id].append(row)
    jobs = [SeenJob(row, tuple(settlements[row.id]), frozenset()) for row in tx.all(jobs_among, ids=listed(ids))]
    return {job.row.id for job in jobs if refund_expected(job.facts)} ^ set(tx.all(refunds_open, ids=listed(ids)))


def _threads(tx: Tx, ids: Ids) -> list[str]:
    said = defaultdict[str, list[Any]](list)
    for message in tx.all(messages_in, ids=listed(ids)):
        said[message[0]].append(message)
    return [row.id for row in tx.all(threads_among, ids=listed(ids)) if not _counts(row, said[row.id])]


def _counts(row: ThreadRow, said: Sequence[Any]) -> bool:
    """Whether a thread's columns are what its messages come to, the first message first."""
    last_id, last_at = (said[-1][1], said[-1][6]) if said else (row.id, None)
    senders = Counter(message[5] for message in said)
    kept = [row.message_count, row.from_a, row.from_b, row.unread_a, row.unread_b, row.latest, row.last_message_at]
    return kept == [
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
    """Messages are numbered from 1, and each knows how many of those up to it either side wrote."""
    threads = {row.id: row for row in tx.all(threads_among, ids=listed(ids))}
    wrong, last, senders = list[str](), "", Counter[str]()
    for thread_id, message_id, number, from_a, from_b, sender, _ in tx.all(messages_in, ids=listed(ids)):
        if thread_id != last:
            last, senders = thread_id, Counter[str]()
        senders[sender] += 1
        row = threads[thread_id]
        if (number, from_a, from_b) != (senders.total(), senders[row.a], senders[row.b]):
            wrong.append(message_id)
    return wrong


def _mailboxes(tx: Tx, ids: Ids) -> set[str]:
    made = Counter[str]()
    for query in (unread_as_a, unread_as_b):
        for agent_id, env, unread in tx.all(query, ids=listed(ids)):
            made[f"{agent_id} {env}"] += unread
    rows = tx.all(mailboxes_of, ids=listed(ids))
    return unlike({f"{row.agent_id} {row.env}": row.unread for row in rows}, made, 0)


def _memories(tx: Tx, ids: Ids) -> list[str]:
    rows = tx.all(memories_of, ids=listed(ids))
    return [f"{agent_id} {key}" for agent_id, key, size, value in rows if size != len(value.encode())]


def _bounties(tx: Tx, ids: Ids) -> set[str]:
    """A bounty counts the proposals that were not withdrawn."""
    kept = dict(tx.all(bounties_counting, ids=listed(ids)))
    return unlike(kept, dict(tx.all(proposals_standing, ids=listed(ids))), 0)


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate("listings", ("stats", "graduated", "rating_sum", "timed_jobs"), LISTINGS, _listings),
    Aggregate("job_results", ("completed", "failed", "paid_minor", "payer", "seconds"), LISTINGS, _results),
    Aggregate("listing_payers", ("paid_minor",), LISTINGS, _payers),
    Aggregate("jobs", ("revision_count", "output", "output_bytes"), JOBS, _jobs),
    Aggregate("job_deliveries", ("revision", "output_bytes"), JOBS, _deliveries),
    Aggregate("open_refunds", ("job_id",), JOBS, _open_refunds),
    Aggregate(
        "threads",
        ("message_count", "from_a", "from_b", "unread_a", "unread_b", "latest", "last_message_at"),
        THREADS,
        _threads,
    ),
    Aggregate("messages", ("number", "from_a", "from_b"), THREADS, _messages),
    Aggregate("mailboxes", ("unread",), AGENTS, _mailboxes),
    Aggregate("memories", ("size",), AGENTS, _memories),
    Aggregate("bounties", ("proposal_count",), BOUNTIES, _bounties),
    Aggregate("job_marks", ("mark",), JOBS, marks),
    Aggregate(
        "reputations",
        ("as_seller", "as_buyer", "score", "seller_rank", "seller_jobs", "buyer_rank", "buyer_jobs"),
        AGENTS,
        reputations,
    ),
    Aggregate("reputation_categories", ("figures", "jobs"), AGENTS, categories),
    Aggregate(
        "reputation_counterparties",
        ("paid_minor", "third_party_minor", "free_jobs", "rating_sum", "rating_count"),
        AGENTS,
        counterparties,
    ),
    Aggregate("agents", ("trust_tier",), AGENTS, tiers),
)
"""What is kept beside the rows it is derived from. A column that counts or sums and does not stand here is not checked."""
