"""A page of ids whose stored figures are checked: the rows that several checks of it need, read once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from storage import operator as stored
from storage.archives import archived_times
from storage.disputes import disputes_of_jobs
from storage.jobs import deliveries_of_jobs, reviews_of_jobs, settlements_of_jobs
from storage.tables import DisputeRow, JobDeliveryRow, JobRow, ReviewRow, SettlementRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, JobStatus
from tools.jobs.snapshot import JobSnapshot, by_job, panels_of
from tools.kernel.ids import Prefix
from tools.listings.stats import result_in
from tools.listings.stats_rules import ListingTotals, tallied_with_wallets
from tools.operator.reputation_rebuild import Folded, folded

COUNTS = ("message_count", "from_a", "from_b", "unread_a", "unread_b")


class CheckedPage:
    """Some ids of one table, in one snapshot of the database."""

    def __init__(self, tx: Tx, ids: Sequence[str]) -> None:
        self.tx, self.ids = tx, ids

    @cached_property
    def jobs(self) -> list[JobSnapshot]:
        """The jobs with these ids, with the rows of their facts and all deliveries."""
        rows = self.tx.all(stored.jobs_among, ids=self.ids)
        disputed = [row.id for row in rows if row.status == JobStatus.DISPUTED]
        cases: list[DisputeRow] = self.tx.all(disputes_of_jobs, job_ids=disputed) if disputed else []
        panels = {panel.case.job_id: panel for panel in panels_of(self.tx, cases)}
        return [
            JobSnapshot(
                row,
                tuple(self.settlements[row.id]),
                frozenset(one.reviewer_id for one in self.reviews[row.id]),
                tuple(self.deliveries[row.id]),
                panels.get(row.id),
            )
            for row in rows
        ]

    @cached_property
    def settlements(self) -> defaultdict[str, list[SettlementRow]]:
        return by_job(self.tx.all(settlements_of_jobs, job_ids=self.ids))

    @cached_property
    def deliveries(self) -> defaultdict[str, list[JobDeliveryRow]]:
        return by_job(self.tx.all(deliveries_of_jobs, job_ids=self.ids))

    @cached_property
    def reviews(self) -> defaultdict[str, list[ReviewRow]]:
        return by_job(self.tx.all(reviews_of_jobs, job_ids=self.ids))

    @cached_property
    def archived(self) -> set[str]:
        """The jobs among these ids whose texts are in an archive."""
        return {*dict(self.tx.all(archived_times, ids=self.ids))}

    def reviews_counted(self, job: JobRow) -> Sequence[ReviewRow]:
        """Return the reviews of a finished job; an unfinished one has none that count."""
        return self.reviews[job.id] if job.status in FINISHED else ()

    @cached_property
    def totals(self) -> dict[str, tuple[ListingTotals, dict[str, int]]]:
        """The sums of each listing over its results, and the minor units that each wallet paid."""
        return {one: tallied_with_wallets(map(result_in, self._results(one))) for one in self.ids}

    def _results(self, listing_id: str) -> Iterator[Any]:
        return self.tx.each(stored.results_of_listing, listing_id=listing_id)

    @cached_property
    def reputations(self) -> Folded:
        """The figures of these agents, summed over the stored marks of their jobs."""
        return folded(self.tx, self.ids)

    @cached_property
    def misnumbered(self) -> tuple[list[str], list[str]]:
        """The threads with wrong counts, and the messages with wrong numbers, without archived ones."""
        threads = {row.id: row for row in self._threads_present()}
        wrong_threads, wrong_messages = list[str](), list[str]()
        rows = self.tx.each(stored.messages_in, ids=[*threads])
        for thread_id, messages in groupby(rows, itemgetter(0)):
            talk = _Talk(threads.pop(thread_id))
            wrong_messages += talk.read(messages)
            wrong_threads += talk.wrong()
        for row in threads.values():
            wrong_threads += _Talk(row).wrong()
        return wrong_threads, wrong_messages

    def _threads_present(self) -> list[ThreadRow]:
        """Return the threads of which no message is in an archive."""
        found = self.tx.all(stored.threads_among, ids=self.ids)
        away = dict(self.tx.all(archived_times, ids=[row.job_id for row in found if row.job_id]))
        return [row for row in found if row.job_id not in away]


class _Talk:
    """A thread whose messages are counted again, from the oldest."""

    def __init__(self, row: ThreadRow) -> None:
        self.row, self.senders, self.unread = row, Counter[str](), Counter[str]()
        self.last_id, self.last_at = row.id, None  # of the newest message

    def read(self, messages: Iterable[Any]) -> Iterator[str]:
        """Count the messages; yield those whose numbers are wrong."""
        row = self.row
        for _, self.last_id, number, from_a, from_b, sender, self.last_at in messages:
            self.senders[sender] += 1
            for reader, read in ((row.a, row.read_a), (row.b, row.read_b)):
                self.unread[reader] += number > read and sender != reader
            if (number, from_a, from_b) != (self.senders.total(), self.senders[row.a], self.senders[row.b]):
                yield self.last_id

    def wrong(self) -> list[str]:
        row, senders, unread = self.row, self.senders, self.unread
        made: list[Any] = [senders.total(), senders[row.a], senders[row.b], unread[row.a], unread[row.b]]
        made += [self.last_id[len(Prefix.THREAD) :], self.last_at]
        kept = [getattr(row, name) for name in (*COUNTS, "latest", "last_message_at")]
        return [] if made == kept else [row.id]
