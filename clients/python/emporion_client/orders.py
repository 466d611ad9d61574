"""One order of a seller from its acceptance to its delivery.

The output is in the journal before it is delivered, and the market takes one delivery for each revision. So each accepted
order is delivered once, also if the process is killed at any moment and started again. The function may run again for
an order whose output was not in the journal; each attempt is counted before it begins, so an input that kills the
process is given up too.
"""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from emporion_client.account import Account
from emporion_client.answers import JsonObject, part, record_at, text, whole
from emporion_client.errors import (
    Conflict,
    Decline,
    InvalidRequest,
    MarketError,
    NotFound,
    NotSignedIn,
    TooMany,
    redacted,
)
from emporion_client.schemas import to_json
from emporion_client.selling import Delivery, Order, Service

FAULT = "The seller's service failed at this order. You are not charged."
WITHHELD = "This input cannot be worked. The reason is withheld, because it looks like a secret. You are not charged."
MAX_REASON = 500
LONGEST_PAUSE = 30.0
log = logging.getLogger("emporion.seller")
Caller = Callable[..., JsonObject]


class Orders:
    """Works orders with blocking calls; many threads may use it."""

    def __init__(self, account: Account, call: Caller, loop: asyncio.AbstractEventLoop) -> None:
        self._journal, self._call, self._loop = account.home.journal, call, loop
        self._turn = threading.Lock()
        self._running: dict[str, Future[Any]] = {}
        self._stopped: set[str] = set()

    def open_listing(self, service: Service) -> str:
        """Make the listing of a service, or change it as the program changed; return its id."""
        status = "active" if service.active else "paused"
        known = self._journal.get(f"listing:{service.name}")
        if known is not None:
            with suppress(NotFound, Conflict):  # it was archived: the program sells it again
                self._call("update_listing", listing_id=known, status=status, **service.offer)
                return str(known)
        record = self._call("create_listing", external_id=service.external_id, **service.offer)
        listing = text(record, "id")
        if record.get("status") != status:
            self._call("update_listing", listing_id=listing, status=status)
        self._journal.put(f"listing:{service.name}", listing)
        return listing

    def work(self, service: Service, job: JsonObject) -> None:
        """Accept, work and deliver an order; continue where an earlier process stopped."""
        revision = len(part(job, "deliveries"))
        if self._is_settled(text(job, "id"), revision):
            return  # the list of jobs was read before the end of this order
        if text(job, "status") not in ("open", "in_progress"):
            return
        if text(job, "status") == "open":
            if not self._accepted_by_check(service, job):
                return
            if not service.work_first or text(job, "payment", "timing") != "on_delivery":
                job = self._call("accept_job", job_id=text(job, "id"))
                if text(job, "status") != "in_progress":
                    return  # it waits for the payment, whose event wakes the loop
        delivery = self._delivery(service, job, revision)
        if delivery is not None:
            self._deliver(job, revision, delivery)  # delivering an open order accepts it

    def stop(self, job: str | None = None) -> None:
        """Stop the async function of an order that has ended, or all if the program ends."""
        with self._turn:
            running = {id: one for id, one in self._running.items() if job in (None, id)}
            self._stopped |= running.keys()
        for one in running.values():
            one.cancel()

    def _accepted_by_check(self, service: Service, job: JsonObject) -> bool:
        try:
            if service.check is not None:
                service.check(record_at(job, "input"))
        except Decline as reason:
            self._end("decline_job", job, str(reason), WITHHELD)
            return False
        except Exception:
            log.exception("the check of %s failed", job["id"])
            self._end("decline_job", job, FAULT)
            return False
        return True

    def _delivery(self, service: Service, job: JsonObject, revision: int) -> JsonObject | None:
        """Return the delivery in the journal or a new one; None if the order was given up."""
        while True:
            written, attempt = self._attempt(text(job, "id"), revision)
            if written is not None:
                return record_at(self._journal.loads(written))
            if attempt > service.attempts:  # it failed so often, or ended the process
                self._end("cancel_job", job, FAULT)
                return None
            try:
                delivery = _encoded(_delivered(self._run(service, job, revision, attempt)))
            except Decline as reason:
                self._return(job, str(reason))
                return None
            except (Exception, SystemExit):
                if self._was_stopped(text(job, "id"), revision):
                    return None
                log.exception("%s, attempt %s of %s", job["id"], attempt, service.attempts)
                if attempt < service.attempts:
                    time.sleep(min(LONGEST_PAUSE, 2**attempt))
                continue
            self._journal.write(
                "update works set output=? where job_id=? and revision=?", delivery, job["id"], revision
            )
            return dict(json.loads(delivery))

    def _was_stopped(self, job: str, revision: int) -> bool:
        """Tell whether the function was stopped from outside, which is no failed attempt."""
        with self._turn:
            if job not in self._stopped:
                return False
            self._stopped.discard(job)
        self._journal.write("update works set attempts=attempts-1 where job_id=? and revision=?", job, revision)
        return True

    def _attempt(self, job: str, revision: int) -> tuple[str | None, int]:
        """Count an attempt before it begins; return a written output and the number of the attempt."""
        with self._journal.transaction():
            found = self._journal.rows(
                "select attempts, output from works where job_id=? and revision=?", job, revision
            )
            if found and found[0][1] is not None:
                return str(found[0][1]), int(found[0][0])
            attempt = (int(found[0][0]) if found else 0) + 1
            sql = "insert or replace into works (job_id, revision, attempts) values (?,?,?)"
            self._journal.write(sql, job, revision, attempt)
        return None, attempt

    def _run(self, service: Service, job: JsonObject, revision: int, attempt: int) -> Any:
        """Call the function."""
        id = text(job, "id")
        deadline = part(job, "deadlines", "deliver_by")
        key = f"{id}-{revision}"
        order = Order(id, record_at(job, "input"), attempt, key, whole(job, "units"), deadline, job)
        if not service.is_async:
            return service.work(**service.arguments(order))
        coroutine = asyncio.wait_for(service.work(**service.arguments(order)), service.timeout)
        with self._turn:
            running = self._running[id] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        finally:
            with self._turn:
                del self._running[id]

    def _deliver(self, job: JsonObject, revision: int, delivery: JsonObject) -> None:
        id = text(job, "id")
        try:
            self._call("deliver_job", job_id=id, idempotency_key=f"deliver-{id}-{revision}", **delivery)
        except (Conflict, NotSignedIn, TooMany):
            raise  # the next look reads the job again
        except MarketError as refused:  # the output breaks its own schema, is too long, or shows a secret
            log.error("%s: the output is not accepted: %s", id, refused)
            self._end("cancel_job", job, f"The work could not be delivered ({refused.code}). You are not charged.")
            return
        log.info("%s is delivered", id)
        self._settle(id, revision)

    def _return(self, job: JsonObject, reason: str) -> None:
        """End an order because its input cannot be worked.

        Within a minute after the acceptance, and unpaid, it is returned, which is no failure of the seller.
        """
        fault = {} if text(job, "status") == "open" else {"fault": "input"}
        try:
            self._end("cancel_job", job, reason, WITHHELD, **fault)
        except Conflict as refused:
            if refused.code != "fault_not_allowed":
                raise
            self._end("cancel_job", job, reason, WITHHELD)

    def _end(self, operation: str, job: JsonObject, reason: str, instead: str = FAULT, **more: str) -> None:
        """Decline or cancel; a seller's cancel of an order that was not accepted is a decline.

        If the market refuses the reason, `instead` is sent.
        """
        id, revision = text(job, "id"), len(part(job, "deliveries"))
        said = redacted(reason).encode(errors="replace").decode()[:MAX_REASON]  # half of an emoji cannot be sent
        try:
            self._call(operation, job_id=id, reason=said or FAULT, **more)
        except InvalidRequest:  # the reason quotes something that the market refuses
            self._call(operation, job_id=id, reason=instead, **more)
        self._settle(id, revision)
        log.info("%s is given up: %s", id, said)

    def _settle(self, job: str, revision: int) -> None:
        """Note that nothing is left to do for a revision; its output is not needed any more."""
        sql = (
            "insert into works (job_id, revision, attempts, done) values (?,?,0,1)"
            " on conflict (job_id, revision) do update set done=1, output=null"
        )
        self._journal.write(sql, job, revision)

    def _is_settled(self, job: str, revision: int) -> bool:
        sql = "select 1 from works where job_id=? and revision=? and done=1"
        return bool(self._journal.rows(sql, job, revision))


def _delivered(result: Any) -> JsonObject:
    """Return the arguments of deliver_job for what a function returned."""
    if not isinstance(result, Delivery):
        return {"output": to_json(result)}
    more = {"message": result.message, "preview": result.preview}
    return {"output": to_json(result.output)} | {name: value for name, value in more.items() if value is not None}


def _encoded(delivery: JsonObject) -> str:
    """Return a delivery as JSON; raise ValueError for NaN and half of a surrogate pair."""
    made = json.dumps(delivery, allow_nan=False, ensure_ascii=False)
    made.encode()
    return made
