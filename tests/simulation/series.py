"""New seeds, run after run on several processors, until the time is over or a run fails."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path
from random import SystemRandom

from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run
from tests.simulation.sums import Sums
from tests.support.memory_folder import end_on_sigterm, use_memory

POSTGRES_SHARE = 10  # of both databases, PostgreSQL gets a tenth of the operations, because it takes longer
_USUAL = (*("default", "default", "cheats") * 2, "contested", "slow_workers", "unreliable_facilitator", "disputes")
SCENARIOS: Mapping[str, Sequence[str]] = {
    "sqlite": (*_USUAL, "failing_database", "forks"),
    "postgres": ("default", "two_processes", "cheats", "two_processes", *_USUAL),
}
"""By database: the scenarios, in turn."""


def plans(operations: int, scenarios: Mapping[str, Sequence[str]]) -> Iterator[Plan]:
    """Yield runs of new seeds, of all scenarios of a database in turn.

    If there is a second database, one run of ten is on it.
    """
    seeds, databases = SystemRandom(), [*scenarios]
    turns = {database: cycle(names) for database, names in scenarios.items()}
    for number in count():
        database = databases[-1 if number % POSTGRES_SHARE == POSTGRES_SHARE // 2 else 0]
        yield Plan(seeds.getrandbits(32), operations, next(turns[database]), database)


def torture(minutes: float, made: Iterator[Plan], processes: int = 1, counts: Path | None = None) -> Failure | None:
    """Make run after run and print a line for each; return the first failure, if there is one.

    `processes` is how many runs are made at once. After each run, the sums are added to those in the file `counts`.
    """
    began, sums, failed = time.monotonic(), Sums(), None
    before = Sums.read(counts) if counts else Sums()
    with ProcessPoolExecutor(processes, get_context("spawn"), _prepare) as pool:
        running: dict[Future[Result | Failure], Plan] = {}
        while failed is None:
            while len(running) < processes and (not sums.runs or time.monotonic() - began < 60 * minutes):
                plan = next(made)
                running[pool.submit(run, plan)] = plan
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                found = _added(sums, running.pop(done), done)
                failed = failed or found
            sums.seconds = time.monotonic() - began
            if counts:
                counts.write_bytes((before + sums).written())
        pool.shutdown(cancel_futures=True)
    print(*sums.lines(), sep="\n", flush=True)
    return failed


def _prepare() -> None:
    """Prepare a process that makes runs."""
    use_memory()
    end_on_sigterm()


def _added(sums: Sums, plan: Plan, done: "Future[Result | Failure]") -> Failure | None:
    """Add a run to the sums; return it if it failed."""
    about = f"seed {plan.seed}, {plan.scenario} on {plan.database}"
    try:
        found = done.result()
    except Exception:
        print(f"{about}: ended with an error that is no violation", flush=True)
        raise
    if isinstance(found, Failure):
        print(f"{about}: failed after {found.operations:,} operations: {found.message}", flush=True)
        return found
    sums.add(plan, found)
    print(f"{about}: {found.operations:,} operations, {found.faults.total():,} faults", flush=True)
    return None
