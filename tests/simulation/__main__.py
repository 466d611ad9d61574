"""Run simulated markets.

python -m tests.simulation --seed N --operations M     one run
python -m tests.simulation --minutes 30                new seeds, run after run
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.memory_folder import use_memory

if TYPE_CHECKING:
    from tests.simulation.run import Failure, Plan

BOTH = "both"


def main() -> int:
    """Read the options and make the runs that they ask for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="make runs of new seeds until the time is over or one fails")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="with --minutes: runs at once")
    parser.add_argument("--operations", type=int, default=10_000, help="of each run")
    parser.add_argument(
        "--database", choices=["sqlite", "postgres", BOTH], help="both: with --minutes, a tenth of it on PostgreSQL"
    )
    parser.add_argument("--scenario", help="a file of tests/simulation/scenarios; with --minutes, some in turn")
    parser.add_argument("--log", type=Path, help="write the event log to this file")
    parser.add_argument(
        "--matrix", action="store_true", help="print the moves by the faults around them, and the holes"
    )
    parser.add_argument("--counts", type=Path, help="add the sums of the runs to those in this file")
    parser.add_argument("--report", type=Path, help="write a page of HTML about the run to this file")
    parser.add_argument("--as-it-is", action="store_true", help="do not look for the shortest run that fails")
    given = parser.parse_args()
    if given.minutes is None and given.database == BOTH:
        parser.error("--database both needs --minutes")
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of texts must not differ between processes
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    use_memory()
    return one_run(given) if given.minutes is None else many_runs(given)


def many_runs(given: argparse.Namespace) -> int:
    """Make runs for the given time; explain the first failure."""
    from tests.simulation.series import SCENARIOS, plans, torture

    databases = ("sqlite", "postgres") if given.database in (None, BOTH) else (given.database,)
    scenarios = SCENARIOS if given.scenario is None else (given.scenario,)
    made = plans(given.operations, databases, scenarios)
    failed = torture(given.minutes, made, given.processes, given.counts)
    return 0 if failed is None else explain(failed)


def one_run(given: argparse.Namespace) -> int:
    """Make the run and print its figures or its failure; return the exit code."""
    from tests.simulation.available import lines
    from tests.simulation.report import page
    from tests.simulation.run import Failure, Plan, run
    from tests.simulation.sums import Sums

    plan = Plan(given.seed, given.operations, given.scenario or "default", given.database or "sqlite", given.log)
    began = time.perf_counter()
    result = run(plan)
    if isinstance(result, Failure):
        print(f"seed {plan.seed} failed after {result.operations} operations: {result.message}", flush=True)
        return 1 if given.as_it_is else explain(result)
    seconds = time.perf_counter() - began
    hours = seconds / 3600
    made, faults = result.operations, result.faults.total()
    print(
        f"seed {plan.seed}: {made:,} operations and {faults:,} faults in {result.virtual_seconds / 86_400:.1f} days of virtual time"
    )
    print(f"per hour: {made / hours:,.0f} operations, {faults / hours:,.0f} faults")
    for name, counts in (("operations", result.by_operation), ("answers", result.by_code), ("faults", result.faults)):
        print(f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common()))
    print(*result.ledger.lines(), *lines(result.tried), sep="\n")
    print(f"log sha256: {result.digest}")
    if given.matrix:
        print(*result.matrix.lines(), sep="\n")
    if given.counts:
        known = Sums.read(given.counts)
        known.add(plan, result)
        known.seconds += seconds
        given.counts.write_bytes(known.written())
    if given.report:
        given.report.write_text(page(result, again(plan)))
    return 0


def explain(failure: "Failure") -> int:
    """Print the shortest run that fails and its story; return the exit code of a failure."""
    from tests.simulation.run import smallest

    least = smallest(failure)
    print("", *least.story, "", sep="\n")
    print(f"{least.message}\n\nlog sha256: {least.digest}")
    print(f"The shortest run that fails: {again(least.plan)}")
    return 1


def again(plan: "Plan") -> str:
    """Return the command that repeats a run."""
    return f"python -m tests.simulation {plan.options}"


if __name__ == "__main__":
    sys.exit(main())
