"""Hold the surfaces against what others published: schemathesis, the linters of openapi.json, the clients of MCP and A2A, which trade
too, those of x402, which buy, the suites of MCP and of A2A; and look at the web pages with a browser where there is one.

    python -m tests.conformance.run [--without a2a] [folder]

What is fetched for it goes into `folder` (default .conformance/) and nowhere else. Exit 0: all as expected.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Collection
from pathlib import Path

from tests.conformance import run_a2a, run_a2a_trade, run_api, run_document, run_mcp, run_pages, run_trade, run_x402


def main(folder: Path, without: Collection[str] = ()) -> int:
    fetched = [run_document, run_mcp, run_trade, run_a2a_trade, run_x402, *([] if "a2a" in without else [run_a2a])]
    return max([run_api.main(), run_pages.main(folder), *(one.main(folder) for one in fetched)])


if __name__ == "__main__":
    reader = ArgumentParser(description=__doc__)
    reader.add_argument(
        "--without", action="append", default=[], choices=["a2a"], help="where its suites cannot be had"
    )
    reader.add_argument("folder", nargs="?", default=".conformance", type=Path)
    given = reader.parse_args()
    sys.exit(main(given.folder.resolve(), given.without))
