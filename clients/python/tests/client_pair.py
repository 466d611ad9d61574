"""Two served processes on one PostgreSQL, behind one address whose requests go to them in turn."""

import asyncio
import threading
from concurrent.futures import Future
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import aiohttp
from aiohttp import web
from yarl import URL

from tests.end_to_end.faults.chain import OwnChain
from tests.end_to_end.faults.forge import Forge
from tests.support.databases import PostgresDatabase, PostgresServer

OF_ONE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Turns:
    """An HTTP proxy in a thread, which sends each request to the next server and counts answers."""

    def __init__(self, ports: list[int]) -> None:
        self.counts = dict.fromkeys(ports, 0)
        self._turns = cycle(ports)
        self._opened: Future[str] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="turns")

    def __enter__(self) -> Self:
        self._thread.start()
        self.url = self._opened.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._forward)
        # a killed client no longer waits, so neither does its request
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1, handler_cancellation=True)
        async with aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(90)) as self._http:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self._opened.set_result(f"http://127.0.0.1:{runner.addresses[0][1]}")
            await self._ends.wait()
            await runner.cleanup()
        await asyncio.sleep(0.05)  # closed connections leave the loop in its next rounds

    async def _forward(self, request: web.Request) -> web.Response:
        """Forward a request; a server that dies meanwhile is a 502."""
        port = next(self._turns)
        url = URL(f"http://127.0.0.1:{port}{request.raw_path}", encoded=True)
        body = await request.read()
        try:
            async with self._http.request(
                request.method, url, headers=_kept(request.headers), data=body, allow_redirects=False
            ) as answer:
                said = await answer.read()
        except aiohttp.ClientError:
            return web.Response(status=502)
        self.counts[port] += 1
        return web.Response(status=answer.status, body=said, headers=_kept(answer.headers))


def _kept(headers: Any) -> dict[str, str]:
    """Return the headers that do not belong to one connection only."""
    return {name: value for name, value in headers.items() if name.lower() not in OF_ONE_CONNECTION}


class Pair:
    """The two servers with their database and chain, for use in a `with`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            server = PostgresServer()
            stack.callback(server.stop)
            database = PostgresDatabase(server)
            stack.callback(database.close)
            self._chain = stack.enter_context(OwnChain(self._folder))
            log = stack.enter_context((self._folder / "log").open("wb"))
            self.forges = [Forge(log), Forge(log)]
            for forge in self.forges:
                stack.callback(forge.close)
            self.turns = stack.enter_context(Turns([forge.port for forge in self.forges]))
            self._database_url = database.url
            for forge in self.forges:
                self._start(forge)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return self.turns.url

    def kill_one(self) -> None:
        """Send SIGKILL to one of the servers, and start it again."""
        self.forges[0].kill()
        self._start(self.forges[0])

    def _start(self, forge: Forge) -> None:
        forge.start(
            "whole",
            url=self._database_url,
            rpc_url=self._chain.url,
            data_dir=str(self._folder),
            base_url=self.turns.url,
            test_facilitator_url=self._chain.sandbox.facilitator_url,
            test_faucet_url=self._chain.url,
            registrations_per_hour=100_000,
            allow_private_networks=True,
        )
