"""New seeds, run after run, until the time is over or a run fails."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import SystemRandom

from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run

POSTGRES_SHARE = 10  # of both databases, PostgreSQL gets a tenth of the operations, because it takes longer
SCENARIOS = ("default", "cheats")


@dataclass
class Sums:
    """The figures of all runs that passed."""

    runs: int = 0
    operations: int = 0
    by_cheats: int = 0
    faults: int = 0
    on_postgres: int = 0

    def add(self, plan: Plan, result: Result) -> None:
        self.runs += 1
        self.operations += result.operations
        self.by_cheats += result.by_cheats
        self.faults += result.faults.total()
        self.on_postgres += result.operations * (plan.database == "postgres")

    def line(self, seconds: float) -> str:
        hours, made = seconds / 3600, max(1, self.operations)
        return (
            f"{self.runs} runs passed: {self.operations:,} operations ({self.on_postgres:,} on PostgreSQL, "
            f"{self.by_cheats / made:.0%} by cheats) and {self.faults:,} faults; per hour {self.operations / hours:,.0f} "
            f"operations and {self.faults / hours:,.0f} faults"
        )


def plans(operations: int, databases: Sequence[str], scenarios: Sequence[str]) -> Iterator[Plan]:
    """Yield runs of new seeds, of all scenarios in turn.

    If there is a second database, one run of ten is on it.
    """
    seeds = SystemRandom()
    for number in count():
        scenario = scenarios[(number + number // POSTGRES_SHARE) % len(scenarios)]
        rare = len(databases) > 1 and number % POSTGRES_SHARE == POSTGRES_SHARE // 2
        yield Plan(seeds.getrandbits(32), operations, scenario, databases[-1] if rare else databases[0])


def torture(minutes: float, operations: int, databases: Sequence[str], scenarios: Sequence[str]) -> Failure | None:
    """Make run after run and print a line for each; return the first failure, if there is one."""
    began, sums = time.monotonic(), Sums()
    for plan in plans(operations, databases, scenarios):
        about = f"seed {plan.seed}, {plan.scenario} on {plan.database}"
        try:
            found = run(plan)
        except Exception:
            print(f"{about}: ended with an error that is no violation", flush=True)
            raise
        if isinstance(found, Failure):
            print(f"{about}: failed after {found.operations:,} operations: {found.message}", flush=True)
            print(sums.line(time.monotonic() - began), flush=True)
            return found
        sums.add(plan, found)
        print(f"{about}: {found.operations:,} operations, {found.faults.total():,} faults", flush=True)
        if time.monotonic() - began >= 60 * minutes:
            break
    print(sums.line(time.monotonic() - began))
    return None
