"""Check that an archived file has what the tables say of its jobs, with the same comparisons as for other jobs."""

from storage import operator as stored
from storage.transaction import Tx
from tools.operator.aggregate_checks import AGGREGATES, JOBS, THREADS
from tools.operator.archives import Changed, Part, put_back
from tools.operator.checked_page import CheckedPage


class Compared(Exception):
    """The faults that a comparison found.

    Raising it undoes the unit of work.
    """

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def compare(tx: Tx, part: Part) -> None:
    """Put the rows of an archive back and compare every figure of its jobs and threads.

    Always raises Compared, which undoes it.
    """
    try:
        there = put_back(tx, part)
    except Changed:
        raise Compared(["not the file that was archived"]) from None
    if not there:
        raise Compared(["was restored meanwhile"])
    threads = [row.thread_id for row in tx.all(stored.jobs_among, ids=part.jobs)]
    pages = {JOBS: CheckedPage(tx, [*part.jobs]), THREADS: CheckedPage(tx, threads)}
    faults = list[str]()
    for one in AGGREGATES:
        wrong = sorted(one.drifted(pages[one.of])) if one.of in pages else []
        faults += [f"{one.table} ({', '.join(one.columns)}): {', '.join(wrong[:5])}"] if wrong else []
    raise Compared(faults)
