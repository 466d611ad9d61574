"""A FastMCP server with one tool, which answers a stored listing: no key, no database.

python -m benchmarks.peers.fastmcp_tool --port 8000 --answers folder
"""

import argparse
import os
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from fastmcp import FastMCP

from server.child_processes import end_with_parent


def server(answers: Path) -> FastMCP[Any]:
    """Return a server whose tool answers the market's own record of a listing."""
    stored: dict[str, Any] = orjson.loads((answers / "listing.json").read_bytes())
    made: FastMCP[Any] = FastMCP("peer")

    @made.tool
    def get_listing(listing_id: str) -> dict[str, Any]:
        """Get a listing by its id."""
        return stored

    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    given = parser.parse_args()
    end_with_parent(os.getppid())
    app = server(given.answers).http_app(path="/mcp", stateless_http=True, json_response=True)
    uvicorn.run(app, port=given.port, loop="uvloop", http="httptools", access_log=False)


if __name__ == "__main__":
    main()
