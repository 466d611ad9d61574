"""Test the surfaces with published programs: suites of MCP and A2A, schemathesis, linters, clients, audits, a browser.

The linters check openapi.json, and generators make clients of it. The clients of MCP and A2A trade, and those of x402
buy. Tools of an MCP server are sold. The browser opens the web pages, if one is installed.

    python -m tests.end_to_end.conformance.run [--without a2a] [folder]

All downloads go into `folder` (default .conformance/). Exit code 0: all as expected.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Collection
from pathlib import Path

from tests.end_to_end.conformance import (
    run_a2a,
    run_a2a_trade,
    run_api,
    run_discovery,
    run_document,
    run_generators,
    run_mcp,
    run_pages,
    run_sell_mcp,
    run_trade,
    run_x402,
)


def main(folder: Path, without: Collection[str] = ()) -> int:
    fetched = [run_document, run_discovery, run_generators, run_mcp, run_trade, run_a2a_trade, run_x402, run_sell_mcp]
    fetched += [] if "a2a" in without else [run_a2a]
    return max([run_api.main(), run_pages.main(folder), *(one.main(folder) for one in fetched)])


if __name__ == "__main__":
    reader = ArgumentParser(description=__doc__)
    reader.add_argument(
        "--without", action="append", default=[], choices=["a2a"], help="where its suites cannot be had"
    )
    reader.add_argument("folder", nargs="?", default=".conformance", type=Path)
    given = reader.parse_args()
    sys.exit(main(given.folder.resolve(), given.without))
