"""A wallet with USDC and no gas buys from the operator's desk with each published JavaScript client of x402.

Both versions of x402 are tested. The client runs clients/x402.mjs. The dependencies of version 1 for a seller's web
page, half a gigabyte below wagmi, are left out by `overrides` in clients/package.json, because no client loads them.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import sandbox

CLIENTS = ("@x402/fetch", "@x402/axios", "x402-fetch", "x402-axios")
OPENING_SECONDS = 60


def main(folder: Path) -> int:
    """Buy and print a line for each client; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    return NPM_IS_MISSING if bench is None else printed(asyncio.run(purchases(bench)), folder)


async def purchases(bench: Bench) -> list[Outcome]:
    """Run all clients at once, because each waits for blocks most of the time."""
    async with sandbox("--desk") as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        await on_sale(http)
        return await asyncio.gather(*(_buy(bench, url, client) for client in CLIENTS))


async def on_sale(http: httpx.AsyncClient) -> list[Any]:
    """Wait until the desk sells for x402; return its services."""
    async with asyncio.timeout(OPENING_SECONDS):
        while True:
            services: list[Any] = (await http.get("/.well-known/x402", params={"env": "test"})).json()["services"]
            if services:
                return services
            await asyncio.sleep(0.2)


async def _buy(bench: Bench, url: str, client: str) -> Outcome:
    return (await asyncio.to_thread(bench.run, f"buyer {client}", "node", "x402.mjs", url, client))[0]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
