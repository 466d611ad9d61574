"""The market for a program: Market blocks, AsyncMarket awaits; both run the same flows."""

import asyncio
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from emporion_client.account import Account, Env
from emporion_client.answers import JsonObject, pages, rows
from emporion_client.buying import Bought, buy, finish, pay_for
from emporion_client.deadlines import with_deadlines
from emporion_client.finding import found
from emporion_client.methods import AsyncOperations, Operations
from emporion_client.money import Price
from emporion_client.progress import shown_progress
from emporion_client.selling import Offers
from emporion_client.streams import stream, stream_async
from emporion_client.transport import TIMEOUT, drive, drive_async
from emporion_client.wallet import Signer
from emporion_client.worker import Started, Worker

Client = TypeVar("Client", bound=httpx.Client | httpx.AsyncClient)


class _Connected(ABC, Generic[Client]):
    """The account, HTTP client and offers of an agent."""

    def __init__(
        self,
        url: str | None = None,
        *,
        env: Env = "test",
        name: str | None = None,
        home: Path | None = None,
        wallet: Signer | None = None,
        spend: Price | None = None,
        gasless: bool = True,
        http: Client | None = None,
    ) -> None:
        """Prepare an agent; nothing is sent before the first call.

        `env="live"` is for real money and needs `spend` to buy: the most for 24 hours. `gasless=False` pays by
        ordinary transfers. `wallet` is your own signer. `home` is the folder of keys and journal.
        """
        self.account = Account(url, env, name, home, wallet, spend, gasless)
        self._given_http, self._http, self._pid = http, http or self._new_client(), os.getpid()
        self.offers = Offers()

    @abstractmethod
    def _new_client(self) -> Client:
        """Make the HTTP client of this process."""

    @property
    def http(self) -> Client:
        """The HTTP client; a fork gets its own, because two processes would mix up answers."""
        if self._given_http is None and self._pid != os.getpid():
            self._http, self._pid = self._new_client(), os.getpid()
        return self._http

    def sells(self, **offer: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Put a function up for sale, as a decorator. Needs title and price; see Offers.sells."""
        return self.offers.sells(**offer)


class Market(_Connected[httpx.Client], Operations):
    """One agent on a market, with blocking calls."""

    def _new_client(self) -> httpx.Client:
        return with_deadlines(httpx.Client(timeout=TIMEOUT, trust_env=self.account.trusts_proxies))

    def _operate(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "stream_events":
            drive(self.http, self.account.joined())
            return stream(self.account, self.http, arguments)
        return drive(self.http, self.account.operate(name, arguments))

    def find(self, words: str, max_price: Price | None = None) -> str:
        """Return the id of the best listing of another agent for some words."""
        return drive(self.http, found(self.account, words, max_price))

    def buy(
        self, listing: str, input: Any, max_price: Price, *, key: str | None = None, timeout: float = 300, **more: Any
    ) -> Bought:
        """Order a listing, wait, pay at most `max_price` and return the open delivery.

        With a `key` the purchase is made once, however often the program is killed and calls again. `timeout` is for
        the seller, in seconds; a payment that is due then is still made. `more` are further arguments of hire, such
        as units.
        """
        return drive(self.http, buy(self.account, listing, input, max_price, key, timeout, more))

    def pay(self, job_id: str, max_price: Price, *, timeout: float = 300) -> Bought:
        """Pay for a job of yours, at most `max_price`, and return the open delivery.

        It is for jobs that buy() did not order: hired by hand, or awarded from a bounty. It pays once, as buy() does.
        """
        return drive(self.http, pay_for(self.account, job_id, max_price, timeout))

    def pages(self, operation: str, **arguments: Any) -> Iterator[JsonObject]:
        """Yield all records of an operation that answers pages, such as list_jobs."""
        return pages(lambda name, **given: self._operate(name, given), operation, **arguments)

    def finish_payments(self) -> list[str]:
        """Send and report payments that were signed by killed processes; return their jobs."""
        return drive(self.http, finish(self.account))

    def run(
        self,
        *,
        at_once: int = 4,
        grace: float = 30,
        pause_when_stopped: bool = True,
        started: Started | None = None,
    ) -> None:
        """Work the orders of the functions for sale until SIGTERM or Ctrl-C.

        It prints its progress on stderr if the program has not configured logging. Orders that are worked then get `grace` seconds. A second signal ends at once. `started` is called with the
        ids of the listings, by the names of the functions, once they can be bought.
        """
        worker = Worker(self.account, self.offers, at_once, grace, pause_when_stopped, started=started)
        with worker.signals(), shown_progress():
            worker.run()

    def close(self) -> None:
        """Close the connections and the home."""
        self.http.close()
        self.account.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMarket(_Connected[httpx.AsyncClient], AsyncOperations):
    """One agent on a market, for asyncio."""

    def _new_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=TIMEOUT, trust_env=self.account.trusts_proxies)

    def _operate(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "stream_events":
            return self._streamed(arguments)
        return drive_async(self.http, self.account.operate(name, arguments))

    async def _streamed(self, arguments: dict[str, Any]) -> Any:
        await drive_async(self.http, self.account.joined())
        async for event in stream_async(self.account, self.http, arguments):
            yield event

    async def find(self, words: str, max_price: Price | None = None) -> str:
        """Return the id of the best listing of another agent for some words."""
        return await drive_async(self.http, found(self.account, words, max_price))

    async def buy(
        self, listing: str, input: Any, max_price: Price, *, key: str | None = None, timeout: float = 300, **more: Any
    ) -> Bought:
        """Order a listing, wait, pay at most `max_price` and return the open delivery."""
        return await drive_async(self.http, buy(self.account, listing, input, max_price, key, timeout, more))

    async def pay(self, job_id: str, max_price: Price, *, timeout: float = 300) -> Bought:
        """Pay for a job of yours that buy() did not order, and return the open delivery."""
        return await drive_async(self.http, pay_for(self.account, job_id, max_price, timeout))

    async def pages(self, operation: str, **arguments: Any) -> AsyncIterator[JsonObject]:
        """Yield all records of an operation that answers pages, such as list_jobs."""
        while True:
            page = await self._operate(operation, arguments)
            for record in rows(page):
                yield record
            arguments["cursor"] = page.get("next_cursor")
            if not page.get("has_more") or arguments["cursor"] is None:
                return

    async def finish_payments(self) -> list[str]:
        """Send and report payments that were signed by killed processes; return their jobs."""
        return await drive_async(self.http, finish(self.account))

    async def run(
        self,
        *,
        at_once: int = 4,
        grace: float = 30,
        pause_when_stopped: bool = True,
        started: Started | None = None,
    ) -> None:
        """Work the orders of the functions for sale until SIGTERM, Ctrl-C or cancellation.

        `async def` functions run on this event loop, others in threads. The arguments are those of Market.run.
        """
        loop = asyncio.get_running_loop()
        worker = Worker(self.account, self.offers, at_once, grace, pause_when_stopped, loop, started)
        in_main_thread = threading.current_thread() is threading.main_thread()  # only there Python takes signals
        handled = (signal.SIGTERM, signal.SIGINT) if in_main_thread else ()
        for one in handled:
            loop.add_signal_handler(one, worker.stop)
        working = asyncio.ensure_future(asyncio.to_thread(worker.run))
        try:
            with shown_progress():
                await asyncio.shield(working)
        except asyncio.CancelledError:
            worker.stop()
            await asyncio.shield(working)
            raise
        finally:
            for one in handled:
                loop.remove_signal_handler(one)

    async def close(self) -> None:
        """Close the connections and the home."""
        await self.http.aclose()
        self.account.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
