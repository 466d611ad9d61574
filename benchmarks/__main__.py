"""Measure the market: `python -m benchmarks [--quick | --full] [--only G1,G3] [--json FILE] [--against REV]`.

Every case runs the real server. Ratios run it alternately with a floor, a minimal server. Exits with 1 if a row fails.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks import against, limits, ratios, report
from benchmarks.rounds import Row
from benchmarks.stage import Stage

CASES: dict[str, Callable[[Stage], Row | list[Row]]] = {
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
}


def main() -> int:
    given = arguments()
    if given.against:
        return against.compare(given.against, given.only or CASES)
    began = time.monotonic()
    print(report.machine(), flush=True)
    rows: list[Row] = []
    with ExitStack() as stack:
        stage = Stage(stack, given.full)
        print(report.HEAD, flush=True)
        for name in given.only or CASES:
            made = CASES[name](stage)
            for row in made if isinstance(made, list) else [made]:
                rows.append(row)
                print(report.line(row), flush=True)
    print(report.machine(), f"{time.monotonic() - began:.0f} s", flush=True)
    if given.json:
        given.json.write_text(json.dumps(report.record(rows), indent=1) + "\n")
    return int(any(row.verdict == "fail" for row in rows))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="about two minutes; the default")
    length.add_argument("--full", action="store_true", help="longer rounds, a million listings, a thousand streams")
    parser.add_argument("--only", type=_names, help="names of goals, parted by commas")
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
