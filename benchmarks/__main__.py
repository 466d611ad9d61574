"""Measure the market: `python -m benchmarks [--quick | --full] [--only G1,G3] [--json FILE] [--against REV]`.

Every case runs the real server. Ratios run it alternately with a floor, a minimal server, or a peer. A row has two
marks. Exits with 1 if a row misses what it must reach, or if a case breaks; each is named at the end.
"""

import argparse
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import structlog

from benchmarks import against, counts, growth, jobs, limits, peer_cases, postgres, ratios, report
from benchmarks.goals import goals_of
from benchmarks.rounds import Row, broken
from benchmarks.stage import Stage

CASES: dict[str, Callable[[Stage], Row | Iterable[Row]]] = {
    "G1": ratios.listing,
    "G3": ratios.search,
    "G4": limits.scale,
    "G5": ratios.create_job,
    "G6": limits.commits,
    "G8": limits.durability,
    "G9": ratios.poll,
    "G10": ratios.tool_call,
    "G11": ratios.catalogue,
    "G13": ratios.message,
    "G14": limits.streams,
    "G18": limits.blocks,
    "G21": limits.start,
    "G22": ratios.page,
    "J": jobs.lists,
    "T": jobs.trade,
    "F": peer_cases.rows,
    "P": postgres.rows,
    "N": counts.rows,
    "W": growth.rows,
}
LONG = ("W",)  # only with --full, or if it is named


def main() -> int:
    given = arguments()
    if given.against:
        return against.compare(given.against, given.only or CASES)
    began = time.monotonic()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))  # of markets in here
    print(report.machine(), flush=True)
    rows: list[Row] = []
    with ExitStack() as stack:
        stage = Stage(stack, given.full)
        print(report.HEAD, flush=True)
        for row in measured(stage, given.only or [case for case in CASES if given.full or case not in LONG]):
            rows.append(row)
            print(report.line(row), flush=True)
    print(report.machine(), f"{time.monotonic() - began:.0f} s", flush=True)
    for line in report.summary(rows):
        print(line, flush=True)
    if given.json:
        given.json.write_text(json.dumps(report.record(rows), indent=1) + "\n")
    return int(any(row.failed for row in rows))


def measured(stage: Stage, names: Sequence[str]) -> Iterator[Row]:
    """Run the cases.

    If a case raises an error, the rest of its rows are `broken`, and the next case runs.
    """
    for name in names:
        measured_names: set[str] = set()
        try:
            made = CASES[name](stage)
            for row in [made] if isinstance(made, Row) else made:
                measured_names.add(row.goal.name)
                yield row
        except Exception as error:  # noqa: BLE001 - shown, and fails the bench
            traceback.print_exc()
            yield from (broken(goal, error) for goal in goals_of(name) if goal.name not in measured_names)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="about eight minutes; the default")
    length.add_argument("--full", action="store_true", help="longer rounds, a million listings, a million jobs")
    parser.add_argument("--only", type=_names, help="names of cases, parted by commas")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument(
        "--against", metavar="REV", help="run each case in this tree and in that commit by turns, and compare"
    )
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(CASES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
