"""Servers to be killed: one process imports everything, then forks a server for each order on its standard input.

`python -m tests.end_to_end.faults.server` writes `listening PORT`. For each order it writes `ready`, and `ended CODE` when that
server has ended. While a server runs, the word `kill` or the end of the input kills it. `tests.end_to_end.faults.forge` is the
client.
"""

import asyncio
import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn

import orjson
import uvicorn
import uvloop
from eth_utils.crypto import keccak
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from protocol.http import send_response
from rest.routes import Rest
from server.adapters.chain import JsonRpcChain
from server.app import Service
from server.http_identity import request_reader
from server.middleware import Edge, hosts_of
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from storage.open import open_store
from storage.vocabulary import Env
from tests.support.market import TestMarket
from tools.engine.ports import Chain

Told = Callable[[str], None]
KILL = b"kill\n"


class Stepped:
    """A market with its REST surface, whose clock, randomness, sweep and death a test controls.

    /control takes {"at": an instant, "dice": a seed, "fault": ["before" or "after", a unit's name] or null, "sweep":
    whether to sweep the deadlines now}. It answers the names of the units committed since the last call.
    """

    def __init__(self, market: TestMarket) -> None:
        self.market = market
        self.fault: tuple[str, str] | None = None
        self.committed: list[str] = []
        self.edge = Edge(
            Rest(market.market, request_reader(frozenset())),
            hosts_of([market.market.config.base_url]),
            market.market.config.docs_url,
            market.dice,
        )
        market.store.fault_hook = self.probe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/control":
            await self.edge(scope, receive, send)
            return
        await self.obey(**orjson.loads(await Request(scope, receive).body()))
        committed, self.committed = self.committed, []
        await send_response(send, 200, orjson.dumps(committed))

    async def obey(self, at: str, dice: str, fault: tuple[str, str] | None, sweep: bool) -> None:
        self.market.clock.at = datetime.fromisoformat(at)
        self.market.dice.seed, self.market.dice.rolled = dice, 0
        self.fault = fault and (fault[0], fault[1])
        if sweep:
            await self.market.workers.sweep()

    def probe(self, when: Literal["before", "after"], names: Sequence[str]) -> None:
        if self.fault and self.fault[0] == when and self.fault[1] in names:
            os.kill(os.getpid(), signal.SIGKILL)
        if when == "after":
            self.committed.extend(names)


class Announced(uvicorn.Server):
    """uvicorn that reports when it serves."""

    def __init__(self, config: uvicorn.Config, say: Told) -> None:
        super().__init__(config)
        self.say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.say("ready")


async def serve_stepped(listening: socket.socket, say: Told, url: str, rpc_url: str) -> None:
    chains: dict[Env, Chain] = {Env.TEST: JsonRpcChain(rpc_url, 84532)}
    market = TestMarket(open_store(url), chains)
    config = uvicorn.Config(
        Stepped(market), http="httptools", lifespan="off", log_level="warning", access_log=False, ws="none"
    )
    await Announced(config, say).serve([listening])


async def serve_whole(listening: socket.socket, say: Told, url: str, rpc_url: str, data_dir: str, **given: Any) -> None:
    """Run the real service with its workers, without rate limits.

    `given` are more settings.
    """
    settings = read_settings(
        _env_file=None,
        port=listening.getsockname()[1],
        data_dir=Path(data_dir),
        database_url=url,
        signing_seed="11" * 32,
        key_pepper="22" * 32,
        test_rpc_url=rpc_url,
        rate_limits=False,
        **given,
    )
    service = Service(settings, rpc_url)
    await Server(uvicorn_config(service, settings), service, partial(say, "ready")).serve([listening])


KINDS: dict[str, Callable[..., Awaitable[None]]] = {"stepped": serve_stepped, "whole": serve_whole}


def main() -> None:
    said = os.dup(1)
    os.dup2(2, 1)  # the server's own output must not mix with these messages

    def say(word: str) -> None:
        os.write(said, f"{word}\n".encode())

    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    say(f"listening {listening.getsockname()[1]}")
    keccak(b"")  # loads its library once, not in every server
    gc.collect()
    gc.freeze()
    # Unbuffered, so that select sees waiting orders.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as orders:
        while order := orders.readline():
            if order != KILL:
                say(f"ended {run(order, orders, listening, say)}")


def run(order: bytes, orders: BinaryIO, listening: socket.socket, say: Told) -> int:
    """Fork a server and wait until it has ended or was killed; return its exit code."""
    alive, held = os.pipe()  # only the child holds the other end, so it closes when the child dies
    child = os.fork()
    if child == 0:
        os.close(alive)
        _be_child(order, listening, say)
    os.close(held)
    if orders.fileno() in select.select([orders.fileno(), alive], [], [])[0]:
        orders.readline()
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(alive)
    return os.waitstatus_to_exitcode(status)


def _be_child(order: bytes, listening: socket.socket, say: Told) -> NoReturn:
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        given: dict[str, Any] = orjson.loads(order)
        serving = KINDS[given.pop("kind")](listening, say, **given)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_awaited(serving))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


async def _awaited(serving: Awaitable[None]) -> None:
    await serving


if __name__ == "__main__":
    main()
