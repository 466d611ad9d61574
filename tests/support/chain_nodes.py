"""The chains for tests: the sandbox's own in this process over real HTTP, or anvil if its binary is installed."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
import uvicorn
from eth.abc import BlockHeaderAPI
from eth_utils.crypto import keccak

from server.sandbox import genesis
from server.sandbox.evm import DevChain
from server.sandbox.methods import RpcError, answer
from server.sandbox.rpc import rpc_app
from tests.support.listening import listen

ARTIFACTS: dict[str, Any] = json.loads((Path(genesis.__file__).parent / "contracts" / "artifacts.json").read_text())
_BANK_COINS = 10**21
_START_LIMIT_IN_SECONDS = 20


class RpcFailed(AssertionError):
    """A JSON-RPC error that the caller did not expect."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.error = error


class Node(Protocol):
    """The operations that tests need from a chain beyond JSON-RPC."""

    url: str

    def rpc(self, method: str, *params: object) -> Any: ...
    def give_gas(self, address: str) -> None: ...
    def mine(self, blocks: int) -> None: ...
    def warp(self, seconds: int) -> None: ...
    def snapshot(self) -> str: ...
    def revert(self, snapshot: str) -> None: ...
    def hold(self) -> None: ...
    def release(self) -> None: ...
    def close(self) -> None: ...


class ForkingChain(DevChain):
    """The sandbox's chain, which can also hold transactions and drop blocks, as other chains do."""

    automine = True
    _branch = 0
    _holding = False

    def send_raw(self, raw: bytes) -> bytes:
        """Mine the transaction only if `automine` is on; otherwise the next block contains it."""
        self._holding = not self.automine
        try:
            return super().send_raw(raw)
        finally:
            self._holding = False

    def rewind(self, number: int) -> None:
        """Drop the blocks above `number` and held transactions; later blocks get other hashes."""
        del self._hashes[number + 1 :]
        self._places = {found: place for found, place in self._places.items() if place[0] <= number}
        self._open = None
        self._branch += 1

    def _seal(self) -> None:
        if not self._holding:
            super()._seal()

    def _next_header(self, timestamp: int | None = None) -> BlockHeaderAPI:
        made = super()._next_header(timestamp)
        return made.copy(mix_hash=keccak(made.mix_hash + self._branch.to_bytes(8, "big"))) if self._branch else made


class DevNode:
    """The sandbox's chain in this process, on a free loopback port."""

    def __init__(self, chain_id: int, now: Callable[[], int] | None = None) -> None:
        self._now = now or (lambda: int(time.time()))  # noqa: TID251 - the node's own clock
        self._ahead_in_seconds = 0
        self.chain = ForkingChain(chain_id, lambda: self._now() + self._ahead_in_seconds)
        listener = listen()
        config = uvicorn.Config(rpc_app(self.chain), log_level="error", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        while not self._server.started:
            time.sleep(0.005)

    def rpc(self, method: str, *params: object) -> Any:
        """Run a method without HTTP, because tests do so tens of thousands of times.

        The market reads the chain over HTTP.
        """
        try:
            return answer(self.chain, method, list(params))
        except RpcError as error:
            data = {} if error.data is None else {"data": error.data}
            raise RpcFailed({"code": error.code, "message": error.message} | data) from error

    def give_gas(self, address: str) -> None:
        self.rpc("dev_gas", address)

    def mine(self, blocks: int) -> None:
        self.rpc("evm_mine", blocks)

    def warp(self, seconds: int) -> None:
        # In a burst, each block is a second later than the last, so the chain may already be ahead of the clock.
        lead = self.chain.head.timestamp - self._now() - self._ahead_in_seconds
        self._ahead_in_seconds += seconds + max(0, lead)
        self.mine(1)

    def snapshot(self) -> str:
        return str(self.chain.number)

    def revert(self, snapshot: str) -> None:
        with self.chain.lock:
            self.chain.rewind(int(snapshot))

    def hold(self) -> None:
        self.chain.automine = False

    def release(self) -> None:
        self.chain.automine = True
        self.mine(1)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)


class AnvilNode:
    """Foundry's anvil, with our token at the real address of USDC."""

    def __init__(self, binary: str, chain_id: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--chain-id", str(chain_id), "--silent"]
        self._process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}"
        self._client = httpx.Client(timeout=60, trust_env=False, verify=False)
        self._wait()
        self.rpc("anvil_setCode", genesis.USDC[chain_id], ARTIFACTS["DevUSDC"]["runtime"])

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method over HTTP; return its result. Raises RpcFailed for an error."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        reply = self._client.post(self.url, json=call).json()
        if "error" in reply:
            raise RpcFailed(reply["error"])
        return reply["result"]

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_LIMIT_IN_SECONDS
        while True:
            try:
                self.rpc("eth_chainId")
            except httpx.TransportError:
                assert self._process.poll() is None, "anvil ended before it answered"
                assert time.monotonic() < deadline, "anvil does not answer"
            else:
                return

    def give_gas(self, address: str) -> None:
        self.rpc("anvil_setBalance", address, hex(_BANK_COINS))

    def mine(self, blocks: int) -> None:
        self.rpc("anvil_mine", hex(blocks))

    def warp(self, seconds: int) -> None:
        self.rpc("evm_increaseTime", seconds)
        self.rpc("evm_mine")

    def snapshot(self) -> str:
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        assert self.rpc("evm_revert", snapshot) is True

    def hold(self) -> None:
        self.rpc("evm_setAutomine", False)

    def release(self) -> None:
        self.rpc("evm_setAutomine", True)
        self.rpc("evm_mine")

    def close(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait(10)


def anvil_binary() -> str | None:
    """Find anvil: ANVIL_BIN, then the npm package in node_modules, then the PATH."""
    named = os.environ.get("ANVIL_BIN")
    if named:
        return named
    packaged = sorted(Path("node_modules/@foundry-rs").glob("anvil-*/bin/anvil*"))
    return str(packaged[0]) if packaged else shutil.which("anvil")


def backends() -> list[str]:
    """Return the names of the available chains, as a test's parameter shows them."""
    return ["devchain", "anvil"] if anvil_binary() else ["devchain"]


def start_node(backend: str, chain_id: int, now: Callable[[], int] | None = None) -> Node:
    """Start one of `backends()`. Only the devchain accepts a clock."""
    if backend == "devchain":
        return DevNode(chain_id, now)
    binary = anvil_binary()
    assert binary is not None
    return AnvilNode(binary, chain_id)
