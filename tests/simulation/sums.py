"""The sums of many runs, kept in a file that series add to.

`python -m tests.simulation.sums FILE…` prints the sums of files that runs have written with `--counts`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from tests.simulation.available import ENOUGH, Tried, lines
from tests.simulation.commands import end_quietly
from tests.simulation.matrix import Matrix
from tests.simulation.records import Result
from tests.simulation.run import Plan

FIGURES = ("runs", "operations", "by_cheats", "faults", "on_postgres", "seconds")
MANY = 1_000_000  # operations, after which each place was checked ENOUGH times


@dataclass
class Sums:
    """The figures of all runs that passed."""

    runs: int = 0
    operations: int = 0
    by_cheats: int = 0
    faults: int = 0
    on_postgres: int = 0  # operations
    seconds: float = 0.0  # of real time
    matrix: Matrix = field(default_factory=Matrix)
    tried: Tried = field(default_factory=Counter)

    def add(self, plan: Plan, result: Result) -> None:
        self.runs += 1
        self.operations += result.operations
        self.by_cheats += result.by_cheats
        self.faults += result.faults.total()
        self.on_postgres += result.operations * (plan.database == "postgres")
        self.matrix += result.matrix
        self.tried += result.tried

    def __add__(self, other: "Sums") -> "Sums":
        figures = {name: getattr(self, name) + getattr(other, name) for name in FIGURES}
        return Sums(**figures, matrix=self.matrix + other.matrix, tried=self.tried + other.tried)

    def line(self) -> str:
        hours, made = max(self.seconds, 1e-9) / 3600, max(1, self.operations)
        return (
            f"{self.runs} {'run' if self.runs == 1 else 'runs'} passed: {self.operations:,} operations ({self.on_postgres:,} on PostgreSQL, "
            f"{self.by_cheats / made:.0%} by cheats) and {self.faults:,} faults; per hour {self.operations / hours:,.0f} "
            f"operations and {self.faults / hours:,.0f} faults"
        )

    def lines(self) -> Iterator[str]:
        """Yield the figures, and the checks of available_actions."""
        yield self.line()
        yield from lines(self.tried, ENOUGH if self.operations >= MANY else 1)

    def written(self) -> bytes:
        """Return the sums as JSON, which `read` takes."""
        tried = [[*place, action, count] for (place, action), count in sorted(self.tried.items())]
        figures = {name: getattr(self, name) for name in FIGURES}
        return orjson.dumps(figures | self.matrix.record() | {"tried": tried}, option=orjson.OPT_INDENT_2)

    @staticmethod
    def read(path: Path) -> "Sums":
        """Read a file of sums; a file that is not there has none."""
        if not path.exists():
            return Sums()
        try:
            found = orjson.loads(path.read_bytes())
            tried = {((state, role), action): count for state, role, action, count in found["tried"]}
            figures = {name: found[name] for name in FIGURES}
            return Sums(**figures, matrix=Matrix.of(found), tried=Counter(tried))
        except (ValueError, KeyError, TypeError) as error:
            print(f"{path} is no file of sums: {error!r}; name another file", file=sys.stderr)
            raise SystemExit(2) from error  # like other wrong options; 1 means that a run failed


def main() -> int:
    """Print the sums of files; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.sums", description="Print the sums of files that runs wrote with --counts."
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    files = parser.parse_args().files
    for path in files:
        if not path.is_file():
            parser.error(f"{path} is no file")
    known = sum(map(Sums.read, files), Sums())
    print(*known.lines(), *known.matrix.lines(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(end_quietly(main))
