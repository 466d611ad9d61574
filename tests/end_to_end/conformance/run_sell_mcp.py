"""Tools of a published MCP server are sold on the sandbox with one command, and bought with our client.

The command calls the server over stdin and stdout, then over streamable HTTP.
"""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from emporion_client import EmporionError, Market
from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import ROOT, free_port, sandbox

SERVER = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
SECONDS = 60
PRICE = "0.01"
# The name of the tool, the title of its listing, an input, and its output.
OVER_STDIO = (
    ("echo", "Echo Tool", {"message": "hello"}, {"text": "Echo: hello"}),
    ("get-sum", "Get Sum Tool", {"a": 2, "b": 3}, {"text": "The sum of 2 and 3 is 5."}),
    (
        "get-structured-content",
        "Get Structured Content Tool",
        {"location": "New York"},
        {"temperature": 33, "conditions": "Cloudy", "humidity": 82},
    ),
)
OVER_HTTP = (
    (
        "get-annotated-message",
        "Get Annotated Message Tool",
        {"messageType": "success"},
        {"text": "Operation completed successfully"},
    ),
)


def main(folder: Path) -> int:
    """Sell and buy; print a line for each tool; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    return NPM_IS_MISSING if bench is None else printed(asyncio.run(sales(bench)), folder)


async def sales(bench: Bench) -> list[Outcome]:
    async with sandbox() as url:
        return await asyncio.to_thread(_sales, bench, url)


def _sales(bench: Bench, url: str) -> list[Outcome]:
    port, server = free_port(), ["node", str(bench.folder / SERVER)]
    with (
        tempfile.TemporaryDirectory(prefix="emporion-sell-mcp-") as homes,
        Market(url, name="Buyer", home=Path(homes) / "buyer") as buyer,
    ):
        seller = [sys.executable, "-m", "emporion_client", "--market", url, "--home", f"{homes}/seller", "sell-mcp"]
        with _running(bench, "sell-mcp-stdio", *seller, *_words(OVER_STDIO), "--run", " ".join([*server, "stdio"])):
            told = [_bought(buyer, "stdio", *sale) for sale in OVER_STDIO]
        with _running(bench, "everything", *server, "streamableHttp", PORT=str(port)):
            _eventually(lambda: _listens(port))
            with _running(bench, "sell-mcp-http", *seller, *_words(OVER_HTTP), f"http://127.0.0.1:{port}/mcp"):
                return told + [_bought(buyer, "http", *sale) for sale in OVER_HTTP]


def _words(sales: tuple[Any, ...]) -> list[str]:
    return ["--price", PRICE, *(word for name, *_ in sales for word in ("--tool", name))]


def _bought(buyer: Market, way: str, name: str, title: str, given: dict[str, Any], wanted: object) -> Outcome:
    try:
        output = buyer.buy(_eventually(lambda: _listing(buyer, title)), given, PRICE).output
    except (EmporionError, TimeoutError) as error:
        return Outcome(f"sell-mcp {way} {name}", False, str(error))
    return Outcome(f"sell-mcp {way} {name}", output == wanted, "" if output == wanted else f"output {output}")


@contextmanager
def _running(bench: Bench, name: str, *command: str, **more: str) -> Iterator[None]:
    """Run a program until the context is left; its output is in logs/<name>.log."""
    logs = bench.folder / "logs"
    logs.mkdir(exist_ok=True)
    with (
        (logs / f"{name}.log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, env=os.environ | more, stdout=log, stderr=log) as program,
    ):
        try:
            yield
        finally:
            program.terminate()
            program.wait(SECONDS)


def _listing(buyer: Market, title: str) -> str:
    """Return the id of the listing with a title; an empty text if there is none."""
    found = buyer.search_listings(q=title, env="test")["data"]
    return next((str(one["id"]) for one in found if one["title"] == title), "")


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _eventually(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.5)  # because searches are limited
    raise TimeoutError(f"nothing is found within {SECONDS} s")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
