"""Hold the surfaces against what others published: schemathesis, the linters of openapi.json, the clients of MCP, which trade too.

    python -m tests.conformance.run [folder]

What is fetched for it goes into `folder` (default .conformance/) and nowhere else. Exit 0: all as expected.
"""

import sys
from pathlib import Path

from tests.conformance import run_api, run_document, run_mcp, run_trade


def main(folder: Path) -> int:
    return max([run_api.main(), run_document.main(folder), run_mcp.main(folder), run_trade.main(folder)])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
