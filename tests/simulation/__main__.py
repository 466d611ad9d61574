"""Run a simulated market: `python -m tests.simulation --seed N --operations M`."""

import argparse
import os
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--scenario", default="default", help="a file of tests/simulation/scenarios")
    parser.add_argument("--log", type=Path, help="write the event log to this file")
    parser.add_argument(
        "--matrix", action="store_true", help="print the moves by the faults around them, and the holes"
    )
    parser.add_argument("--counts", type=Path, help="add the moves of the run to the counts in this file")
    parser.add_argument("--report", type=Path, help="write a page of HTML about the run to this file")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of texts must not differ between processes
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    return report(given)


def report(given: argparse.Namespace) -> int:
    """Make the run and print its figures or its failure; return the exit code."""
    from tests.simulation.available import lines
    from tests.simulation.matrix import Matrix
    from tests.simulation.report import page
    from tests.simulation.run import Failure, Plan, run, smallest

    began = time.perf_counter()
    result = run(Plan(given.seed, given.operations, given.scenario, given.database, given.log))
    if isinstance(result, Failure):
        print(f"seed {given.seed} failed after {result.operations} operations: {result.message}", flush=True)
        least = smallest(result)
        print("", *least.story, "", sep="\n")
        print(f"{least.message}\n\nlog sha256: {least.digest}")
        print(f"The shortest run that fails: {again(given, least.plan.operations)}")
        return 1
    hours = (time.perf_counter() - began) / 3600
    made, faults = result.operations, result.faults.total()
    print(
        f"seed {given.seed}: {made:,} operations and {faults:,} faults in {result.virtual_seconds / 86_400:.1f} days of virtual time"
    )
    print(f"per hour: {made / hours:,.0f} operations, {faults / hours:,.0f} faults")
    for name, counts in (("operations", result.by_operation), ("answers", result.by_code), ("faults", result.faults)):
        print(f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common()))
    print(*result.ledger.lines(), *lines(result.tried), sep="\n")
    print(f"log sha256: {result.digest}")
    if given.matrix:
        print(*result.matrix.lines(), sep="\n")
    if given.counts:
        given.counts.write_bytes((Matrix.read(given.counts) + result.matrix).written())
    if given.report:
        given.report.write_text(page(result, again(given, given.operations)))
    return 0


def again(given: argparse.Namespace, operations: int) -> str:
    """Return the command that repeats a run."""
    options = f"--seed {given.seed} --operations {operations} --scenario {given.scenario} --database {given.database}"
    return f"python -m tests.simulation {options}"


if __name__ == "__main__":
    sys.exit(main())
