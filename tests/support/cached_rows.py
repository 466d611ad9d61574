"""A cache of jobs, the change that drops one, and a clock in seconds, for tests of caches."""

from collections.abc import Awaitable, Callable
from functools import partial

from storage.cache import Cache
from storage.store import Store
from storage.tables import JobRow
from storage.transaction import Tx
from tests.support.storage_orders import get_job

Fetch = Callable[[], Awaitable[JobRow | None]]


class Clock:
    """A clock in seconds that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def rename(tx: Tx, job_id: str, title: str) -> JobRow:
    """Change a job's title, and drop the job from the caches."""
    found = tx.get(JobRow, job_id, lock=True)
    assert found
    tx.invalidate(job_id)
    return tx.change(found, title=title)


def fetching(store: Store, cache: Cache[JobRow], job_id: str = "job_1") -> Fetch:
    """Return a read of one job through the cache."""
    return lambda: cache.fetch(job_id, lambda: store.read(partial(get_job, job_id=job_id)))
