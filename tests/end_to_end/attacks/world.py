"""Chains, servers and agents for the attacks, used from outside: processes, HTTP and JSON-RPC.

    async def test_x(arena: Arena) -> None:
        market = await arena.market()                        # served from ATTACK_TREE, shared by tests with these settings
        fresh = await arena.market(fresh=True, rate_limits="off")
        pair = await arena.market(postgres=True, processes=2)  # pair.urls has two addresses
        ann = await market.agent("Ann", usdc_minor=5_000_000, env="live")   # registered, wallet bound and funded
        listing = await market.post("/v1/listings", ann.live, {...})        # Reply: .status .record .headers .text
        hash = arena.chains["live"].transfer(ann.wallet, to, 10_000)

Settings are EMPORION_* variables in lower case without the prefix. `optional` settings are given only to a tree that
knows them.
"""

import asyncio
import os
import secrets  # noqa: TID251 - an attacker has dice of its own
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import IO, Any

import httpx
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from nacl.signing import SigningKey

from tests.support.commands import Started, start
from tests.support.databases import PostgresServer

Process = Started | subprocess.Popen[bytes]

THIS_TREE = Path(__file__).parents[3]
TREE = Path(os.environ.get("ATTACK_TREE", THIS_TREE)).resolve()
CHAIN_IDS = {"test": 84532, "live": 8453}
USDC = {
    "test": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "live": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
}
OPERATOR_SECRET = "the operator of the attacked market"
START_SECONDS = 90.0
STOP_SECONDS = 15.0
OFFER: dict[str, Any] = {
    "title": "Count the words of a text",
    "description": "Send any text and get the number of its words.",
    "category": "text",
    "tags": ["count"],
    "pricing_model": "fixed",
    "price": 250_000,
    "input_schema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    "output_schema": {"type": "object", "required": ["words"], "properties": {"words": {"type": "integer"}}},
    "example_input": {"text": "one two"},
    "example_output": {"words": 2},
}


@dataclass(frozen=True)
class Reply:
    """The answer of a server."""

    status: int
    headers: httpx.Headers
    content: bytes
    record: Any

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    @property
    def code(self) -> str | None:
        """The error's code; None for a record."""
        error = self.record.get("error") if isinstance(self.record, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    def expect(self, *statuses: int) -> Any:
        """Return the record of an answer with one of these statuses (any 2xx by default)."""
        fits = self.status in statuses if statuses else 200 <= self.status < 300
        assert fits, (self.status, self.text[:2000])
        return self.record


class Chain:
    """A sandbox chain in its own process, used over JSON-RPC; transfers are confirmed thrice."""

    def __init__(self, env: str, folder: Path) -> None:
        self.env, self.chain_id, self.usdc = env, CHAIN_IDS[env], USDC[env]
        folder.mkdir(parents=True, exist_ok=True)
        words = ["--port", "0", "--data-dir", str(folder), "--chain-id", str(self.chain_id)]
        self.process = start(words, _environment(THIS_TREE, {}), module="server.sandbox", new_session=True)
        assert self.process.stdout is not None
        said = ""
        while not said.startswith("ready "):
            said = self.process.stdout.readline().decode()
            assert said, "the chain did not start"
            assert not said.startswith("refused"), said
        self.url = said.split()[1]
        self.facilitator_url = f"{self.url}/facilitator"
        self.http = httpx.Client(trust_env=False, timeout=60)

    def stop(self) -> None:
        """Stop the chain."""
        self.http.close()
        _end(self.process)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def rpc(self, method: str, *params: object) -> Any:
        """Return the result of one JSON-RPC call."""
        answer = self.http.post(self.url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).json()
        assert "error" not in answer, answer
        return answer["result"]

    def head(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.rpc("evm_mine")

    def wallet(self, usdc_minor: int = 0) -> LocalAccount:
        """Make a wallet with gas and that much USDC."""
        made: LocalAccount = Account.create()
        self.rpc("dev_gas", made.address)
        if usdc_minor:
            self.rpc("dev_faucet", made.address, usdc_minor)
        return made

    def balance(self, address: str) -> int:
        data = "0x70a08231" + address[2:].lower().rjust(64, "0")
        return int(self.rpc("eth_call", {"to": self.usdc, "data": data}, "latest"), 16)

    def transfer(self, sender: LocalAccount, to: str, amount_minor: int, *, confirm: bool = True) -> str:
        """Send USDC; return the hash of the mined transaction."""
        signed = sender.sign_transaction(
            {
                "type": 2,
                "chainId": self.chain_id,
                "nonce": int(self.rpc("eth_getTransactionCount", sender.address, "pending"), 16),
                "gas": 200_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**9,
                "value": 0,
                "to": self.usdc,
                "data": "0xa9059cbb" + to[2:].lower().rjust(64, "0") + f"{amount_minor:064x}",
            }
        )
        sent = str(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))
        if confirm:
            self.mine(3)
        return sent


@dataclass
class Agent:
    """An agent with all its secrets."""

    id: str
    handle: str
    live: str  # API key
    test: str  # API key
    seed: bytes  # Ed25519
    wallet: LocalAccount
    registration: Any = field(repr=False)

    def key(self, env: str) -> str:
        return self.live if env == "live" else self.test

    def sign(self, text: str) -> str:
        """Sign with the root key; return hex."""
        return SigningKey(self.seed).sign(text.encode()).signature.hex()


class Market:
    """A served market: one or more processes on one database, which take calls in turn."""

    def __init__(self, urls: list[str], chains: Mapping[str, Chain], folder: Path, brand: str, log: Path) -> None:
        self.urls, self.url, self.chains, self.folder, self.brand, self.log = urls, urls[0], chains, folder, brand, log
        self.http = [httpx.AsyncClient(base_url=one, trust_env=False, timeout=120) for one in urls]
        self.turns = cycle(range(len(urls)))
        self.processes: list[Process] = []

    async def close(self) -> None:
        for one in self.http:
            await one.aclose()

    async def send(
        self,
        method: str,
        path: str,
        key: str | None = None,
        body: Any = None,
        *,
        at: int | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Reply:
        """Send one request, to the process `at` or to the next in turn; `more` goes to httpx."""
        http = self.http[next(self.turns) if at is None else at]
        sent = {"X-API-Key": key} if key else {}
        sent |= dict(headers or {})
        if body is not None:
            more["json"] = body
        answer = await http.request(method, path, headers=sent, **more)
        try:
            record = answer.json()
        except ValueError:
            record = None
        return Reply(answer.status_code, answer.headers, answer.content, record)

    async def get(self, path: str, key: str | None = None, **more: Any) -> Reply:
        return await self.send("GET", path, key, **more)

    async def post(self, path: str, key: str | None = None, body: Any = None, **more: Any) -> Reply:
        return await self.send("POST", path, key, body, **more)

    async def a2a(self, method: str, params: Mapping[str, Any], key: str | None = None, **more: Any) -> Reply:
        """Send one A2A 1.0 JSON-RPC request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"A2A-Version": "1.0"} | more.pop("headers", {})
        return await self.send("POST", "/a2a", key, body, headers=headers, **more)

    async def a2a_tool(self, tool: str, key: str | None = None, **arguments: Any) -> Any:
        """Call an operation over A2A; return the data part of the answer."""
        parts = [{"data": {"tool": tool, "arguments": arguments}}]
        message = {"messageId": secrets.token_hex(8), "role": "ROLE_USER", "parts": parts}
        answer = (await self.a2a("SendMessage", {"message": message}, key)).expect()
        return answer["result"]["message"]["parts"][0]["data"] if "result" in answer else answer

    async def mcp_tool(self, tool: str, key: str | None = None, **arguments: Any) -> Any:
        """Call an operation over MCP; return the structured content, also if it is an error."""
        from fastmcp import Client

        given = arguments | ({"api_key": key} if key else {})
        async with Client(f"{self.urls[next(self.turns)]}/mcp") as client:
            answer = await client.call_tool_mcp(tool, given)
        return answer.structured_content

    async def as_operator(self, method: str, path: str, body: Any = None) -> Reply:
        return await self.send(method, path, None, body, headers={"X-Admin-Token": OPERATOR_SECRET})

    async def register(self, name: str = "Ann", **more: Any) -> Any:
        """Register an agent; return the registration record."""
        return (await self.post("/v1/agents", None, {"name": name, **more})).expect(201)

    async def agent(
        self,
        name: str = "Ann",
        *,
        usdc_minor: int = 0,
        env: str = "test",
        wallet: LocalAccount | None = None,
        **more: Any,
    ) -> Agent:
        """Register an agent and bind a wallet with gas and that much USDC in `env`."""
        made = await self.register(name, **more)
        keys = made["api_keys"]
        purse = wallet if wallet is not None else self.chains[env].wallet(usdc_minor)
        seed = bytes.fromhex(made["keypair"].get("secret_key") or "") if made.get("keypair") else b""
        agent = Agent(made["agent"]["id"], made["agent"]["handle"], keys["live"], keys["test"], seed, purse, made)
        (await self.bind(agent, env)).expect()
        return agent

    async def bind(self, agent: Agent, env: str = "test", **more: Any) -> Reply:
        """Bind the agent's wallet in an environment."""
        text = f"{self.brand}:wallet:{agent.id}:{agent.wallet.address.lower()}"
        body = {"address": agent.wallet.address, "signature": personal_sign(agent.wallet, text)} | more
        return await self.post("/v1/agents/me/wallet-address", agent.key(env), body)

    async def listing(self, seller: Agent, env: str = "test", **changes: Any) -> Any:
        return (await self.post("/v1/listings", seller.key(env), OFFER | changes)).expect(201)

    async def order(self, buyer: Agent, listing: Any, env: str = "test", **more: Any) -> Any:
        body = {"listing_id": listing["id"], "input": {"text": "one two"}} | more
        return (await self.post("/v1/jobs", buyer.key(env), body)).expect(201)

    async def deliver(self, seller: Agent, job: Any, output: Any = None, env: str = "test", **more: Any) -> Any:
        """Accept the order and deliver; return the job as the seller sees it."""
        (await self.post(f"/v1/jobs/{job['id']}/accept", seller.key(env))).expect()
        body = {"output": {"words": 2} if output is None else output} | more
        return (await self.post(f"/v1/jobs/{job['id']}/deliver", seller.key(env), body)).expect()

    async def pay(self, buyer: Agent, job: Any, env: str = "test") -> Any:
        """Transfer the amount of the terms and prove it; return the job."""
        terms = (await self.post(f"/v1/jobs/{job['id']}/pay", buyer.key(env))).expect(402)
        sent = self.chains[env].transfer(buyer.wallet, terms["pay_to"], terms["amount"])
        return (await self.post(f"/v1/jobs/{job['id']}/pay", buyer.key(env), {"transaction": sent})).expect()

    async def trade(self, seller: Agent, buyer: Agent, listing: Any, env: str = "test", **more: Any) -> Any:
        """Order, deliver, pay and accept; return the completed job."""
        job = await self.order(buyer, listing, env, **more)
        await self.deliver(seller, job, env=env)
        await self.pay(buyer, job, env)
        return (await self.post(f"/v1/jobs/{job['id']}/accept", buyer.key(env))).expect()


class Arena:
    """The environment of an attack; tests of a process share markets with equal settings."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attacks-"))
        self._chains: dict[str, Chain] = {}
        self._served: dict[object, tuple[list[str], list[Process], Path, str]] = {}
        self._postgres: PostgresServer | None = None
        self._opened: list[Market] = []
        self._fresh: list[Process] = []
        self._count = 0

    @property
    def chains(self) -> Mapping[str, Chain]:
        """The chain of each environment, started at first use."""
        for env in CHAIN_IDS:
            if env not in self._chains:
                self._chains[env] = Chain(env, self.folder / f"chain-{env}")
        return self._chains

    async def leave(self) -> None:
        """Close the connections of a test; stop its fresh markets, because idle servers use CPU."""
        while self._opened:
            await self._opened.pop().close()
        while self._fresh:
            _end(self._fresh.pop())

    def stop(self) -> None:
        """Stop every process."""
        for _, processes, _, _ in self._served.values():
            for one in processes:
                _end(one)
        for chain in self._chains.values():
            chain.stop()
        if self._postgres is not None:
            self._postgres.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def market(
        self,
        *,
        fresh: bool = False,
        postgres: bool = False,
        processes: int = 1,
        desk: bool = False,
        optional: Mapping[str, str] | None = None,
        **settings: str,
    ) -> Market:
        """Serve the attacked tree; reuse a market with the same settings unless it must be `fresh`."""
        known = {name: value for name, value in (optional or {}).items() if knows_setting(name)}
        key = None if fresh else (postgres, processes, desk, *sorted((settings | known).items()))
        made = self._served.get(key)
        if made is None:
            made = await self._serve(postgres, processes, desk, settings | known)
            if key is None:
                self._fresh += made[1]
            else:
                self._served[key] = made
        urls, running, folder, brand = made
        market = Market(urls, self.chains, folder, brand, folder / "log")
        market.processes = running
        self._opened.append(market)
        return market

    async def _serve(
        self, postgres: bool, processes: int, desk: bool, settings: Mapping[str, str]
    ) -> tuple[list[str], list[Process], Path, str]:
        assert processes == 1 or postgres, "several processes need PostgreSQL"
        self._count += 1
        folder = self.folder / f"market-{self._count}"
        folder.mkdir()
        ports = [_free_port() for _ in range(processes)]
        given = {
            "data_dir": str(folder / "data"),
            "test_rpc_url": self.chains["test"].url,
            "live_rpc_url": self.chains["live"].url,
            "test_facilitator_url": self.chains["test"].facilitator_url,
            "live_facilitator_url": self.chains["live"].facilitator_url,
            "operator_secret": OPERATOR_SECRET,
            "allow_private_networks": "true",
            "registrations_per_hour": "100000",
            "base_url": f"http://127.0.0.1:{ports[0]}",
            "min_free_disk_mb": "1",
        }
        if postgres:
            given["database_url"] = self._database()
            given["signing_seed"], given["key_pepper"] = "11" * 32, "22" * 32
        given |= settings
        running = []
        for port in ports:
            running.append(_start_server(folder, given | {"port": str(port)}, desk=desk))
            # One process migrates the database before the next one starts.
            await _until_ready(f"http://127.0.0.1:{port}", running[-1], folder / "log")
        return [f"http://127.0.0.1:{port}" for port in ports], running, folder, given.get("service_name", "service")

    def _database(self) -> str:
        if self._postgres is None:
            self._postgres = PostgresServer()
        return self._postgres.create(f"attacked_{self._count}")


def knows_setting(name: str) -> bool:
    """Check whether the attacked tree has a setting of this name (lower case, without prefix)."""
    source = (TREE / "server" / "settings.py").read_text()
    return f"    {name}:" in source


def personal_sign(wallet: LocalAccount, text: str) -> str:
    """Sign a text as EIP-191 personal_sign does; return 0x and 130 hex digits."""
    return "0x" + bytes(wallet.sign_message(encode_defunct(text=text)).signature).hex()


async def eventually(look: Any, seconds: float = 20.0) -> Any:
    """Call an async function until it returns a true result; fail after this many seconds."""
    until = time.monotonic() + seconds
    while not (found := await look()):
        assert time.monotonic() < until, "it did not happen"
        await asyncio.sleep(0.1)
    return found


def _environment(tree: Path, settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    named = {f"EMPORION_{name.upper()}": value for name, value in settings.items()}
    return inherited | named | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "", "no_proxy": "127.0.0.1"}


def _start_server(folder: Path, settings: Mapping[str, str], *, desk: bool) -> Process:
    with (folder / "log").open("ab") as log:
        return launch(["serve", *(["--desk"] if desk else [])], settings, folder, log)


def launch(
    words: Sequence[str], settings: Mapping[str, str], folder: Path, log: IO[bytes], umask: int = 0o022
) -> Process:
    """Start a command of the attacked tree; only this tree's commands can be forked."""
    environment = _environment(TREE, settings)
    if TREE == THIS_TREE:
        return start(words, environment, cwd=folder, output=log, errors=log, new_session=True, umask=umask)
    return subprocess.Popen(
        [sys.executable, "-m", "server", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,
        umask=umask,
    )


async def _until_ready(url: str, process: Process, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=5) as http:
        while True:
            with suppress(httpx.TransportError):
                if (await http.get(f"{url}/health")).status_code == 200:
                    return
            assert process.poll() is None, _end_of(log)
            assert time.monotonic() < until, _end_of(log)
            await asyncio.sleep(0.1)


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _end(process: Process) -> None:
    """End a process and its children."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
