"""The loop of a seller: it opens listings, waits for news, and works each order in its own thread.

An event only wakes the loop. What is to be done is read from the jobs, so a lost event loses nothing.
"""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from itertools import islice
from typing import Any

import httpx

from emporion_client.account import Account
from emporion_client.answers import JOB, JsonObject, pages, rows, text
from emporion_client.deadlines import with_deadlines
from emporion_client.errors import (
    EmporionError,
    MarketDown,
    MarketError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    UnexpectedAnswer,
)
from emporion_client.orders import Orders
from emporion_client.selling import Offers, Service
from emporion_client.transport import TIMEOUT, drive

NEWS = ["job.created", "job.paid", "job.quote_accepted", "job.revision_requested", "job.cancelled", "job.expired"]
ENDED = ("cancelled", "expired", "declined")
WAIT_SECONDS = 20
MAX_PAGES = 100  # of events; what is left is read after the jobs
MAX_JOBS = 10_000
MAX_THREADS = 200  # the other orders wait until some of these are worked
MAX_SINCE = 200  # characters
BACKLOG_SECONDS = 1
MAX_CLEANUP_SECONDS = 5  # for the async functions that are cancelled at the end
EVERYTHING = ("in_progress", "open")
Started = Callable[[dict[str, str]], object]  # it gets the ids of the listings by the names of the functions
log = logging.getLogger("emporion.seller")


class Worker:
    """Works the orders of one home. One process does so at a time."""

    def __init__(
        self,
        account: Account,
        offers: Offers,
        at_once: int = 4,
        grace: float = 30,
        pause_when_stopped: bool = True,
        loop: asyncio.AbstractEventLoop | None = None,
        started: Started | None = None,
    ) -> None:
        self._account, self._offers = account, offers
        self._grace, self._pauses, self._loop = grace, pause_when_stopped, loop
        self._started = started
        self._http = with_deadlines(httpx.Client(timeout=TIMEOUT, trust_env=account.trusts_proxies))
        self._places = threading.Semaphore(at_once)
        self._turn = threading.Lock()
        self._under_way: set[str] = set()
        self._backlog = False  # whether orders were left out
        self._stopping, self._now, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._failed: BaseException | None = None
        self._listings: dict[str, Service] = {}

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Stop at SIGTERM and Ctrl-C, if this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self._signalled) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _signalled(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take no new order, and end when the present ones are worked; asked twice, end at once."""
        if self._stopping.is_set():
            self._now.set()
        self._stopping.set()

    def run(self) -> None:
        """Work until stop() is called."""
        if not self._offers.services:
            raise ValueError("nothing is for sale: put @market.sells(...) before a function")
        with self._account.home.lock("seller"), _loop(self._loop) as loop:
            drive(self._http, self._account.joined())
            self._journal = self._account.home.journal
            self._orders = Orders(self._account, self.call, loop)
            self._listings = {self._orders.open_listing(one): one for one in self._offers.services.values()}
            log.info("selling %s on %s", ", ".join(one.name for one in self._listings.values()), self._account.url)
            if self._started is not None:
                self._started({one.name: listing for listing, one in self._listings.items()})
            threading.Thread(target=self._listen, name="emporion-news", daemon=True).start()
            while not self._stopping.wait(3600):
                pass
            self._end()
            self._ended.set()
        if self._failed is not None:
            raise self._failed

    def call(self, name: str, **arguments: Any) -> JsonObject:
        """Call an operation, blocking."""
        return drive(self._http, self._account.call(name, **arguments))

    def _listen(self) -> None:
        try:
            self._work_on()
        except BaseException as error:  # noqa: BLE001 - run() raises it in the thread that waits
            self._failed = error
            self._stopping.set()
        self._ended.wait()
        self._http.close()  # here, because this thread may have been in a call

    def _work_on(self) -> None:
        wanted: tuple[str, ...] = EVERYTHING
        while not self._stopping.is_set():
            try:
                if wanted:
                    self._look(wanted)
                wanted = self._hear()
            except (NotSignedIn, NotAllowed):
                raise
            except Exception as error:  # an unexpected answer must not end the loop
                known = isinstance(error, (MarketDown, MarketError, UnexpectedAnswer))
                log.warning("the market does not answer as it must: %s", error, exc_info=not known)
                self._stopping.wait(3)
                wanted = EVERYTHING

    def _look(self, states: tuple[str, ...]) -> None:
        """Begin with each of our orders in these states, and stop those that have ended."""
        with self._turn:
            before = set(self._under_way)
        listed = pages(self.call, "list_jobs", role="seller", status=[*states], limit=100)
        found = [job for job in islice(listed, MAX_JOBS) if JOB.fullmatch(str(job.get("id")))]
        for job in sorted(found, key=lambda one: one.get("status") == "open"):  # accepted work comes first
            service = self._listings.get(str(job.get("listing_id")))
            if service is not None:
                self._begin(service, job)
        if states == EVERYTHING:
            self._stop_ended(before - {str(job.get("id")) for job in found})

    def _stop_ended(self, missing: set[str]) -> None:
        """Stop the work on orders that were cancelled or have expired."""
        for id in missing:
            if text(self.call("get_job", job_id=id), "status") in ENDED:
                self._orders.stop(id)

    def _begin(self, service: Service, job: JsonObject) -> None:
        with self._turn:
            if job["id"] in self._under_way or self._stopping.is_set():
                return
            if len(self._under_way) >= MAX_THREADS:
                self._backlog = True
                return
            self._under_way.add(job["id"])
        work = threading.Thread(target=self._guarded, args=(service, job), name=f"order {job['id']}", daemon=True)
        try:
            work.start()
        except RuntimeError:  # the system allows no further thread
            self._backlog = True
            with self._turn:
                self._under_way.discard(job["id"])

    def _guarded(self, service: Service, job: JsonObject) -> None:
        """Work one order to its end. Other orders are worked if it fails."""
        places = service.places or self._places
        try:
            waits = not places.acquire(blocking=False)
            if waits:
                places.acquire()
            try:
                if not self._stopping.is_set():  # an order that waited may have ended meanwhile
                    self._orders.work(service, self.call("get_job", job_id=job["id"]) if waits else job)
            finally:
                places.release()
        except (EmporionError, httpx.HTTPError) as error:
            log.warning("%s waits: %s", job["id"], error)  # the next look reads it again
        except Exception:
            log.exception("%s failed", job["id"])
        finally:
            with self._turn:
                self._under_way.discard(job["id"])

    def _hear(self) -> tuple[str, ...]:
        """Wait for news; return the states in which jobs may need work."""
        since: Any = (
            self._journal.get("since") or "now"
        )  # a new home need not read what came before; it looks at all next
        states: set[str] = set()
        patience, self._backlog = BACKLOG_SECONDS if self._backlog else WAIT_SECONDS, False
        heard, more = False, True
        for _ in range(MAX_PAGES):
            if not more or self._stopping.is_set():
                break
            wait, began = 0 if heard else patience, time.monotonic()
            page = self._events(since, wait)
            events = rows(page)
            if not events and time.monotonic() - began < 1:
                self._stopping.wait(1)  # the market did not wait, for example because it shuts down
            heard = heard or bool(events)
            states |= {state for event in events for state in states_of(event)}
            more, since = page.get("has_more") is True, _since(page) or since
        if since is not None and not self._stopping.is_set():  # the home may be closed after the end
            self._journal.put("since", since)
        all_seen = patience == WAIT_SECONDS
        return tuple(sorted(states)) if heard and all_seen else EVERYTHING  # a quiet time is good for a look at all

    def _events(self, since: Any, wait: int) -> JsonObject:
        try:
            return self.call("list_events", types=NEWS, since=since, limit=100, wait_seconds=wait)
        except NotFound:  # the event is older than those kept
            return self.call("list_events", types=NEWS, limit=100, wait_seconds=wait)

    def _end(self) -> None:
        """Pause the listings, and wait for the orders that are worked."""
        if self._pauses:
            for listing in self._listings:
                try:
                    self.call("update_listing", listing_id=listing, status="paused")
                except EmporionError as error:
                    log.warning("the listing %s is not paused: %s", listing, error)
        until = time.monotonic() + self._grace
        while self._under_way and time.monotonic() < until and not self._now.wait(0.05):
            pass
        self._orders.stop()


def _since(page: JsonObject) -> str | None:
    """Return where the next page begins; None for a text that no market gives."""
    found = page.get("next_since")
    return found if isinstance(found, str) and len(found) <= MAX_SINCE else None


def states_of(event: JsonObject) -> tuple[str, ...]:
    """Return the states of jobs that an event may have put there for the seller."""
    data = event.get("data")
    known = data if isinstance(data, dict) else {}
    if event.get("type") in ("job.cancelled", "job.expired"):
        return EVERYTHING  # orders that are worked and not listed any more have ended
    if event.get("type") == "job.created":
        return EVERYTHING if known.get("from_bounty") else ("open",)
    if event.get("type") == "job.paid" and known.get("payment") == "on_delivery":
        return ()  # delivered before it was paid
    return ("in_progress",)


async def _cancel_all() -> None:
    """Cancel the functions of this event loop, and wait until each has cleaned up."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def _loop(given: asyncio.AbstractEventLoop | None) -> Iterator[asyncio.AbstractEventLoop]:
    """Return the event loop for async functions: the given one, or a new one in its own thread."""
    if given is not None:
        yield given
        return
    made = asyncio.new_event_loop()
    running = threading.Thread(target=made.run_forever, name="emporion-async", daemon=True)
    running.start()
    try:
        yield made
    finally:
        ending = asyncio.run_coroutine_threadsafe(_cancel_all(), made)
        futures.wait([ending], MAX_CLEANUP_SECONDS)
        made.call_soon_threadsafe(made.stop)
        running.join(MAX_CLEANUP_SECONDS)
        if not running.is_alive():  # a function that blocks the loop is left behind
            made.close()
