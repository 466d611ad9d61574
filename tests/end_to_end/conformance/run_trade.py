"""A stranger trades on the sandbox with each published TypeScript client of MCP, in at most five tool calls.

The client runs clients/trade.mjs. Its wallet, which signs texts and sends USDC, and the seller are ours.
"""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from emporion_client import AsyncMarket, LocalWallet
from emporion_client.chain import account_nonce, base_fee, broadcast, fund
from emporion_client.transport import drive_async
from emporion_client.wallet import CHAINS, transaction_hash, transfer
from server.demo import Peer, offer
from tests.end_to_end.conformance.run_mcp import CLIENTS, NPM_IS_MISSING, Bench, Outcome, install, printed

ROOT = Path(__file__).parents[3]
START_SECONDS = 60
FUNDS_MINOR = 5_000_000


def main(folder: Path) -> int:
    """Trade and print a line for each client; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    return NPM_IS_MISSING if bench is None else printed(asyncio.run(trades(bench)), folder)


async def trades(bench: Bench) -> list[Outcome]:
    async with trading() as (url, wallet):
        return [await _trade(bench, f"{url}/mcp", wallet, client) for client in CLIENTS]


@asynccontextmanager
async def trading() -> AsyncIterator[tuple[str, str]]:
    """Run the sandbox with a working seller, and wallets; return both URLs."""
    async with sandbox() as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
        seller = Peer(http)
        await offer(seller)
        working = asyncio.create_task(_work(seller))
        try:
            async with wallets(url) as wallet:
                yield url, wallet
        finally:
            working.cancel()


async def _trade(bench: Bench, url: str, wallet: str, client: tuple[str, ...]) -> Outcome:
    name = f"stranger {' '.join(client)}"
    return (await asyncio.to_thread(bench.run, name, "node", "trade.mjs", url, wallet, *client))[0]


async def _work(seller: Peer) -> None:
    """Accept every order and deliver at once."""
    while True:
        for job in (await seller.call("list_jobs", role="seller", status="open"))["data"]:
            await seller.call("accept_job", job_id=job["id"])
            words = str(job["input"]["text"]).split()
            await seller.call(
                "deliver_job", job_id=job["id"], output={"words": len(words), "longest": max(words, key=len)}
            )
        await asyncio.sleep(0.1)


@asynccontextmanager
async def wallets(url: str) -> AsyncIterator[str]:
    """Serve wallets as a model uses them; return the URL.

    POST /new returns a funded address, /sign signs a text, /send sends USDC.
    """
    held = dict[str, AsyncMarket]()

    async def new(_: Request) -> JSONResponse:
        made = AsyncMarket(url, wallet=LocalWallet.create())
        held[made.account.wallet.address] = made
        await drive_async(made.http, fund(made.account, FUNDS_MINOR, gas=True))
        return JSONResponse({"address": made.account.wallet.address})

    async def sign(request: Request) -> JSONResponse:
        asked = await request.json()
        return JSONResponse({"signature": held[asked["address"]].account.wallet.sign_text(asked["text"])})

    async def send(request: Request) -> JSONResponse:
        asked = await request.json()
        owner = held[asked["address"]]
        nonce = await drive_async(owner.http, account_nonce(owner.account))
        fee = await drive_async(owner.http, base_fee(owner.account))
        raw = owner.account.wallet.sign_transaction(transfer(CHAINS["test"], asked["to"], asked["amount"], nonce, fee))
        refused = await drive_async(owner.http, broadcast(owner.account, raw))
        assert not refused, refused
        return JSONResponse({"hash": transaction_hash(raw)})

    routes = [Route(f"/{made.__name__}", made, methods=["POST"]) for made in (new, sign, send)]
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        for one in held.values():
            await one.close()


@asynccontextmanager
async def sandbox(*options: str) -> AsyncIterator[str]:
    """Run `emporion serve --sandbox` in a temporary folder; return its URL."""
    ports = [free_port() for _ in range(2)]
    url = f"http://127.0.0.1:{ports[0]}"
    with tempfile.TemporaryDirectory(prefix="emporion-stranger-") as folder:
        env = os.environ | {
            "EMPORION_DATA_DIR": folder,
            "EMPORION_PORT": str(ports[0]),
            "EMPORION_SANDBOX_PORT": str(ports[1]),
        }
        command = [sys.executable, "-m", "server", "serve", "--sandbox", *options]
        quiet = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
        serving = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=env, **quiet)
        try:
            await _answers(f"{url}/health")
            yield url
        finally:
            serving.terminate()
            await serving.wait()


async def _answers(url: str) -> None:
    async with asyncio.timeout(START_SECONDS), httpx.AsyncClient(trust_env=False) as http:
        while True:
            with suppress(httpx.HTTPError):
                if (await http.get(url)).is_success:
                    return
            await asyncio.sleep(0.2)


def free_port() -> int:
    """Return a port on which no program listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
