"""A wallet with USDC and no gas buys from the operator's desk with the published clients of x402, over HTTP and MCP.

Both versions of x402 are tested over HTTP (clients/x402.mjs), and the MCP client in a virtual environment with an older
mcp (clients/x402_mcp.py). The discovery audit of agentcash must see each service as paid. The dependencies of version 1 for a seller's web
page, half a gigabyte below wagmi, are left out by `overrides` in clients/package.json, because no client loads them.
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
from eth_account import Account

from tests.end_to_end.conformance.run_generators import Place
from tests.end_to_end.conformance.run_mcp import HERE, NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import sandbox

REQUIREMENTS = HERE / "x402-requirements.txt"
FUNDS = 50_000
ORDER = {"schema": {"type": "object", "required": ["id"]}, "documents": [{"id": 1}, {}]}
PAID = re.compile(r"POST\s+/v1/x402/(lst_\w+)\s+paid\s+\S.* \[x402\]")
WARNING = re.compile(r"^  \[(?:warn|error)\] (\w+)", re.MULTILINE)
EXPECTED = ["L2_ROUTE_COUNT_HIGH"]  # openapi.json describes every operation
CLIENTS = ("@x402/fetch", "@x402/axios", "x402-fetch", "x402-axios")
OPENING_SECONDS = 60


def main(folder: Path) -> int:
    """Buy and print a line for each client; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    if bench is None:
        return NPM_IS_MISSING
    place = Place(folder / "x402", REQUIREMENTS)
    place.install()
    return printed(asyncio.run(purchases(bench, place)), folder)


async def purchases(bench: Bench, place: Place) -> list[Outcome]:
    """Run all clients at once, because each waits for blocks most of the time."""
    async with sandbox("--desk") as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        services = await on_sale(http)
        clients = (_buy(bench, url, client) for client in CLIENTS)
        bought = await asyncio.gather(*clients, _buy_over_mcp(place, http, services))
        return [*bought, await _audit(bench, http)]


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


async def _buy_over_mcp(place: Place, http: httpx.AsyncClient, services: list[Any]) -> Outcome:
    """Buy with the MCP client, by a new wallet that the sandbox's chain gives USDC."""
    wallet, (listing,) = Account.create(), [one["listing_id"] for one in services if "json-schema" in one["tags"]]
    node = (await http.get("/v1/payments", params={"env": "test"})).json()["network"]["rpc_hint"]
    given = {"jsonrpc": "2.0", "id": 1, "method": "dev_faucet", "params": [wallet.address, FUNDS]}
    (await http.post(node, json=given)).raise_for_status()
    options = (str(HERE / "clients" / "x402_mcp.py"), f"{http.base_url}/mcp", listing, f"0x{wallet.key.hex()}")
    return await asyncio.to_thread(place.run, "buyer x402.mcp", *options, json.dumps(ORDER))


async def _audit(bench: Bench, http: httpx.AsyncClient) -> Outcome:
    """Check that the audit sees every service as paid, and gives only the expected warning."""
    outcome, said = await asyncio.to_thread(bench.run, "discovery audit", "discovery", str(http.base_url), "-v")
    sold = {one["listing_id"] for one in await on_sale(http)}
    paid, warned = set(PAID.findall(said)), WARNING.findall(said)
    well = outcome.went_well and paid == sold and warned == EXPECTED
    return Outcome(outcome.name, well, f"{len(paid)} of {len(sold)} services are paid; warnings: {warned}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
