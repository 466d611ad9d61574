"""Compare this tree with another commit: each case runs in both trees by turns, A B A B …

Each run is a process of its own with the tree's own code, `python -m benchmarks --only CASE --json FILE`, and the packages
of this environment. A row is worse if its median is worse and the values of the two trees do not overlap.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TURNS = 3  # runs of each case in each tree
WIDTHS = "{:62} {:>10} {:>10} {:>8}  {}"


class Measured(NamedTuple):
    """The values of one row in all turns."""

    what: str
    least: bool  # whether more is better
    values: list[float]


def compare(revision: str, cases: Iterable[str]) -> int:
    """Print each row of both trees; return 1 if one of this tree is worse or missing."""
    worse = 0
    print(WIDTHS.format("what", revision[:10], "this tree", "change", ""))
    with _tree(revision) as other:
        for case in cases:
            turns = [(_run(other, case), _run(ROOT, case)) for _ in range(TURNS)]
            theirs, ours = _by_row(before for before, _ in turns), _by_row(after for _, after in turns)
            for name in ours.keys() & theirs.keys():
                verdict = _verdict(theirs[name], ours[name])
                worse += verdict == "worse"
                print(_line(theirs[name], ours[name], verdict), flush=True)
            for name in ours.keys() ^ theirs.keys():
                print(WIDTHS.format(name, "", "", "", "only one of the trees has this row"), flush=True)
            if not ours:
                print(WIDTHS.format(case, "", "", "", "failed in this tree"), flush=True)
                worse += 1
    return int(worse > 0)


@contextmanager
def _tree(revision: str) -> Iterator[Path]:
    """Check out a commit into a temporary folder."""
    with TemporaryDirectory(prefix="emporion-bench-") as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--detach", "--quiet", str(tree), revision)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True)


def _run(tree: Path, case: str) -> list[dict[str, object]]:
    """Run one case in a tree; return its rows. A tree without the case has none."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", "--only", case, "--json", str(out)]
        env = os.environ | {"PYTHONPATH": str(tree)}
        ended = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
        if not out.exists():
            print(f"{case} in {tree}: {ended.stderr[-500:]}", flush=True)
            return []
        rows: list[dict[str, object]] = json.loads(out.read_text())["rows"]
        return rows


def _by_row(turns: Iterable[list[dict[str, object]]]) -> dict[str, Measured]:
    values, least = defaultdict[str, list[float]](list), dict[str, bool]()
    for rows in turns:
        for row in rows:
            if row["figure"] is None:  # the case broke
                continue
            name = f"{row['goal']} {row['what']}"
            values[name].append(float(str(row["figure"])))
            least[name] = bool(row.get("least", row["unit"] == "ratio"))
    return {name: Measured(name, least[name], found) for name, found in values.items()}


def _verdict(theirs: Measured, ours: Measured) -> str:
    """Tell whether this tree is worse or better by more than the spread of both."""
    up = min(ours.values) > max(theirs.values)
    down = max(ours.values) < min(theirs.values)
    if not up and not down:
        return "same"
    return "better" if up == ours.least else "worse"


def _line(theirs: Measured, ours: Measured, verdict: str) -> str:
    before, after = median(theirs.values), median(ours.values)
    change = f"{(after / before - 1):+.0%}" if before else ""
    return WIDTHS.format(ours.what[:62], f"{before:.3g}", f"{after:.3g}", change, verdict)
