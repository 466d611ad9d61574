"""Plant faults in a copy of the market, and count the operations until an oracle finds each one.

python -m tests.simulation.planted [--only NAME] [--operations 200000] [--database postgres]
python -m tests.simulation.planted --corpus       find a seed for each entry of the corpus again

Exits with 1 if more than one fault is not found.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.simulation.commands import end_quietly
from tests.simulation.corpus import entries
from tests.simulation.plants import PLANTS, Plant
from tests.support.memory_folder import end_on_sigterm

ROOT = Path(__file__).parents[2]
COPIED = ("server", "tools", "protocol", "storage", "rest", "tests", "docs", "skill.md", "README.md", "pyproject.toml")
RUN = 2_500  # operations of one seed; then the next seed begins
MISSED = 1  # faults that may stay unfound
FOUND = re.compile(r"^seed \d+ failed after (\d+) operations: (.*)$", re.MULTILINE)
WIDE = 110  # characters of a message


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one plant; the message is None if no oracle found it."""

    plant: Plant
    operations: int
    message: str | None
    where: str = ""  # the seed that found it, and at which operation

    def line(self) -> str:
        """Return the outcome as text, which follows the name of the fault."""
        found = self.where if self.message is not None else "NOT FOUND"
        return f"{found:20} {self.operations:>8,}  {(self.message or '')[:WIDE]}"


def main() -> int:
    """Plant the faults one after the other; print a line for each."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.planted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", help="a part of the name of a fault")
    parser.add_argument("--operations", type=int, default=200_000, help="at most, for each fault")
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="instead of the one that suits each fault")
    parser.add_argument("--corpus", action="store_true", help="plant the faults of the corpus instead")
    given = parser.parse_args()
    known = [entry.undone for entry in entries()] if given.corpus else PLANTS
    chosen = [one for one in known if given.only is None or given.only in one.name]
    if given.operations < 1:
        parser.error("--operations must be at least 1")
    if not chosen:
        parser.error(f"no fault is named {given.only}; known: {', '.join(one.name for one in known)}")
    found = 0
    end_on_sigterm()
    with copied() as root:
        for plant in chosen:
            print(f"{plant.name:40} ", end="", flush=True)  # before the search, because that may take minutes
            outcome = search(root, plant, given.operations, given.database or plant.database)
            found += outcome.message is not None
            print(outcome.line(), flush=True)
    print(f"{found} of {len(chosen)} planted faults were found")
    return 0 if found >= len(chosen) - (MISSED if given.only is None else 0) else 1


def search(root: Path, plant: Plant, most: int, database: str) -> Outcome:
    """Run seed after seed on the changed market, until one fails."""
    made = 0
    with planted(root, plant):
        for seed in count(1):
            size = min(RUN, most - made)
            if size <= 0:
                return Outcome(plant, made, None)
            where = ("--scenario", plant.scenario, "--database", database)
            failed = run(root, "--seed", str(seed), "--operations", str(size), *where)
            if failed is not None:
                return Outcome(plant, made + failed[0], failed[1], f"seed {seed} at {failed[0]:,}")
            made += size
    raise AssertionError("seeds never end")


def run(root: Path, *options: str) -> tuple[int, str] | None:
    """Make a run in another process; return after how many operations it failed, and why.

    Raises RuntimeError if it ended without a result.
    """
    command = [sys.executable, "-m", "tests.simulation", *options, "--as-it-is"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    found = FOUND.search(done.stdout)
    if found is not None:
        return int(found[1]), found[2]
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-4_000:]}")
    return None


@contextmanager
def copied() -> Iterator[Path]:
    """Copy what a run needs to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="emporion-planted-") as folder:
        for name in COPIED:
            source, target = ROOT / name, Path(folder) / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
        yield Path(folder)


@contextmanager
def planted(root: Path, plant: Plant) -> Iterator[None]:
    """Change a file of a copy, and restore it at the end."""
    path = root / plant.file
    before = path.read_text()
    path.write_text(changed(before, plant))
    try:
        yield
    finally:
        path.write_text(before)


def changed(text: str, plant: Plant) -> str:
    """Return the text of a file with the fault.

    Raises ValueError unless the plant fits in one place.
    """
    places: int = text.count(plant.old)
    if places != 1:
        raise ValueError(f"{plant.name}: {plant.file} has its text {places} times")
    return text.replace(plant.old, plant.new)


if __name__ == "__main__":
    sys.exit(end_quietly(main))
