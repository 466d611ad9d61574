"""Run a simulated market: `python -m tests.simulation --seed N --operations M [--scenario NAME]`."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--scenario", default="default")
    parser.add_argument("--log", type=Path, help="write the event log to this file")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of texts must not differ between processes
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            os.environ | {"PYTHONHASHSEED": "0"},
        )
    return run(given)


def run(given: argparse.Namespace) -> int:
    from tests.simulation.records import Failed
    from tests.simulation.scenarios import named
    from tests.simulation.simulation import Simulation

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="emporion-simulation-") as folder:
        file = given.log.open("w") if given.log else None
        simulation = Simulation(given.seed, given.operations, named(given.scenario), Path(folder), file)
        try:
            result = simulation.run()
        except Failed as failed:
            print(f"FAILED after {failed.operations} operations: {failed.violation!r}")
            print(f"seed {given.seed}, log sha256: {simulation.log.digest}")
            raise
    hours = (time.perf_counter() - began) / 3600
    print(
        f"seed {result.seed}: {result.operations} operations, {result.faults.total()} faults, {result.virtual_seconds / 3600:.1f} virtual hours"
    )
    print(f"{result.operations / hours:,.0f} operations and {result.faults.total() / hours:,.0f} faults per hour")
    print("calls", dict(result.by_operation.most_common(30)), dict(result.by_code.most_common(30)))
    print(f"log sha256: {result.digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
