"""Run simulated markets.

python -m tests.simulation --seed N --operations M                     one run
python -m tests.simulation --seed 7 --database postgres --report a.html one run on PostgreSQL, and a page about it
python -m tests.simulation --scenario cheats --log a.jsonl              one run of other agents, and its event log
python -m tests.simulation --minutes 30                                 new seeds, run after run
python -m tests.simulation --minutes 60 --database both --counts a.json the same, a tenth on PostgreSQL; sums in a file
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.commands import end_quietly
from tests.simulation.scenarios import named, names
from tests.support.memory_folder import end_on_sigterm, use_memory

if TYPE_CHECKING:
    from tests.simulation.run import Failure, Plan

BOTH = "both"


def main() -> int:
    """Read the options and make the runs that they ask for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="of the one run; 1 if not given")
    parser.add_argument("--minutes", type=float, help="begin runs of new seeds until the time is over or one fails")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="with --minutes: runs at once")
    parser.add_argument(
        "--operations",
        type=int,
        default=10_000,
        help="of each run, at least, because up to about 200 that set up the agents come first; %(default)s if not given",
    )
    parser.add_argument(
        "--database", choices=["sqlite", "postgres", BOTH], help="both: with --minutes, a tenth of it on PostgreSQL"
    )
    parser.add_argument("--scenario", help=f"{', '.join(names())}; with --minutes, several in turn if not given")
    parser.add_argument("--log", type=Path, help="write the event log, one line of JSON for each event, to this file")
    parser.add_argument(
        "--matrix", action="store_true", help="print the moves by the faults around them, and the holes"
    )
    parser.add_argument("--counts", type=Path, help="add the sums of the runs that pass to those in this file")
    parser.add_argument("--report", type=Path, help="write a page of HTML about the run to this file, if it passes")
    parser.add_argument("--as-it-is", action="store_true", help="do not look for a shorter run that fails")
    given = parser.parse_args()
    if wrong := next(mistakes(given), None):
        parser.error(wrong)
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of texts must not differ between processes
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    use_memory()
    end_on_sigterm()
    return one_run(given) if given.minutes is None else many_runs(given)


def mistakes(given: argparse.Namespace) -> Iterator[str]:
    """Yield each way in which the options are wrong or do not fit together."""
    yield from (f"--{name} must be at least 1" for name in ("operations", "processes") if getattr(given, name) < 1)
    if given.minutes is None and given.database == BOTH:
        yield "--database both needs --minutes"
    if given.minutes is not None and not given.minutes > 0:
        yield "--minutes must be more than 0"
    for name in ("seed", "log", "report", "matrix"):
        value = getattr(given, name)
        if given.minutes is not None and value is not None and value is not False:  # a seed may be 0
            yield f"--minutes makes runs of new seeds and takes no --{name}; leave one of them out"
    yield from mistakes_of_scenario(given)
    yield from mistakes_of_files(given)


def mistakes_of_scenario(given: argparse.Namespace) -> Iterator[str]:
    try:
        processes = 1 if given.scenario is None else named(given.scenario).processes
    except ValueError as error:
        yield f"--scenario: {error}"
    else:
        if processes > 1 and given.database != "postgres":
            yield f"--scenario {given.scenario} runs several processes on one database; add --database postgres"


def mistakes_of_files(given: argparse.Namespace) -> Iterator[str]:
    files = [one.resolve() for one in (given.log, given.report, given.counts) if one is not None]
    if len({*files}) < len(files):
        yield "--log, --report and --counts need files of their own"
    for name in ("log", "report", "counts"):
        path = getattr(given, name)
        if path is not None and (why := unwritable(path)):
            yield f"--{name}: {path} cannot be written: {why}"


def unwritable(path: Path) -> str | None:
    """Return the reason why a file cannot be written, if there is one; leave it as it is."""
    try:
        path = path.resolve()  # the file that a link names
        there = path.exists()
        if not path.is_fifo():  # opening one waits for a reader
            path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        return error.strerror
    return None


def many_runs(given: argparse.Namespace) -> int:
    """Make runs for the given time; explain the first failure."""
    from tests.simulation.series import SCENARIOS, plans, torture

    databases = ("sqlite", "postgres") if given.database in (None, BOTH) else (given.database,)
    scenarios = {one: SCENARIOS[one] if given.scenario is None else (given.scenario,) for one in databases}
    made = plans(given.operations, scenarios)
    failed = torture(given.minutes, made, given.processes, given.counts)
    return 0 if failed is None else explain(failed, given)


def one_run(given: argparse.Namespace) -> int:
    """Make the run and print its figures or its failure; return the exit code."""
    from tests.simulation.available import lines
    from tests.simulation.report import page
    from tests.simulation.run import Failure, Plan, run
    from tests.simulation.sums import Sums

    known = Sums.read(given.counts) if given.counts else Sums()
    seed = 1 if given.seed is None else given.seed
    plan = Plan(seed, given.operations, given.scenario or "default", given.database or "sqlite", given.log)
    began = time.perf_counter()
    result = run(plan)
    if isinstance(result, Failure):
        print(f"seed {plan.seed} failed after {result.operations} operations: {result.message}", flush=True)
        code = explain(result, given)
        if given.report:
            print(f"{given.report} is not written, because the run failed")
        return code
    seconds = time.perf_counter() - began
    hours = seconds / 3600
    made, faults = result.operations, result.faults.total()
    print(
        f"seed {plan.seed}: {made:,} operations and {faults:,} faults in {result.virtual_seconds / 86_400:.1f} days of virtual time"
    )
    print(f"per hour: {made / hours:,.0f} operations, {faults / hours:,.0f} faults")
    for name, counts in (("operations", result.by_operation), ("answers", result.by_code), ("faults", result.faults)):
        print(f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common()))
    print(*result.ledger.lines(), *lines(result.tried, enough=1), sep="\n")
    print(f"log sha256: {result.digest}")
    if given.matrix:
        print(*result.matrix.lines(), sep="\n")
    if given.counts:
        known.add(plan, result)
        known.seconds += seconds
        given.counts.write_bytes(known.written())
    if given.report:
        given.report.write_text(page(result, again(plan)))
    return 0


def explain(failure: "Failure", given: argparse.Namespace) -> int:
    """Print a failed run, and a shorter one unless --as-it-is is given; return the exit code."""
    from tests.simulation.run import smallest

    tell(failure)
    if given.as_it_is:
        return 1
    print("Now shorter runs are tried, which may take minutes; --as-it-is leaves them out.", flush=True)
    least = smallest(failure)
    if least.digest != failure.digest:
        tell(least)
    print(f"The shortest run that fails (after {least.operations} operations): {again(least.plan)}")
    return 1


def tell(failure: "Failure") -> None:
    """Print the story of a failed run."""
    print("", *failure.story, "", failure.message, "", f"log sha256: {failure.digest}", sep="\n", flush=True)


def again(plan: "Plan") -> str:
    """Return the command that repeats a run."""
    return f"python -m tests.simulation {plan.options}"


if __name__ == "__main__":
    sys.exit(end_quietly(main))
