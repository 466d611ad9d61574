"""Orders that one payment buys over A2A, each with the state of its purchase, in this process only.

An order is kept from the first answer on, for as long as its terms can be signed. After a payment came it is kept for
another hour, because its authorization may be valid as long. An output is never kept.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256

import orjson

from protocol.a2a import payment as x402
from protocol.a2a.task_view import FINAL
from tools.chain.x402_payload import SECONDS
from tools.chain.x402_payments import MAX_LEFT, BadPayment, read_payment
from tools.engine.dispatch import Market
from tools.engine.rate_limits import bucket_of
from tools.kernel.errors import Json

Order = dict[str, Json]  # what a message orders: the arguments of create_job, and wait_seconds
PREFIX = "x402_"  # of the ids of their tasks
MAX_ORDERS, MAX_BYTES = 1_000, 16 * 1024 * 1024
REJECTED = "You rejected the payment, so nothing was ordered."
CAME = "A payment came for this order. Send the same payment again to get the result; sign no other."
BOUGHT = "This order is paid. Send the same payment again to get the output: it pays nothing more. Sign no other."


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a purchase: of its task and its payment, with an explaining text."""

    state: str
    payment: Mapping[str, Json]
    text: str
    result: dict[str, Json] | None = None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


CANCELED = Progress("TASK_STATE_CANCELED", {x402.STATUS: "payment-rejected"}, REJECTED)
SUBMITTED = Progress("TASK_STATE_WORKING", {x402.STATUS: "payment-submitted"}, CAME)


@dataclass(slots=True)
class PendingOrder:
    """An order and its purchase as it was last answered.

    `payment` is the mark of the last payment that came, `calls` is the number of calls that bring it now. `is_taken`:
    an answer did not exclude that this payment is charged.
    """

    task_id: str
    context_id: str
    address: str
    body: bytes
    last: Progress
    ends_at: float  # seconds of the monotonic clock
    payment: str = ""
    calls: int = 0
    is_taken: bool = False

    @property
    def order(self) -> Order:
        found: Order = orjson.loads(self.body)
        return found

    @property
    def is_paid(self) -> bool:
        """True if a payment for it is under way or was taken, so that another would pay twice."""
        return self.calls > 0 or self.is_taken

    def has_ended(self, now: float) -> bool:
        """Check whether it need not be kept; never while a payment is under way."""
        return self.calls == 0 and self.ends_at <= now

    @property
    def shown(self) -> Progress:
        return SUBMITTED if self.calls and not self.last.is_final else self.last

    def note(self, progress: Progress, *, taken: bool) -> Progress:
        """Keep an answer without its result; return it, or the end that came before."""
        if self.last.is_final and not progress.is_final:
            return self.last
        self.is_taken = taken
        self.last = progress if progress.result is None else replace(progress, result=None, text=BOUGHT)
        return progress

    def reject(self) -> bool:
        """Cancel the order; return False if a payment came before or it has ended."""
        if self.is_paid or (self.last.is_final and self.last is not CANCELED):
            return False
        self.last = CANCELED
        return True


class PendingOrders:
    """The kept orders, by the id of their task. If they are too many or too large, one goes.

    It goes from the address that takes the most room, an unpaid one first.
    """

    def __init__(self, market: Market) -> None:
        self.market, self.size = market, 0
        self.kept: dict[str, PendingOrder] = {}

    def put(self, order: Order, first: Progress, *, context_id: str, ip: str) -> PendingOrder:
        """Keep an order with its first answer, under a new id of 128 random bits."""
        task_id, body = f"{PREFIX}{self.market.world.dice.random_bytes(16).hex()}", _written(order)
        one = PendingOrder(task_id, context_id or task_id, bucket_of(ip), body, first, self._now() + SECONDS)
        self.kept[task_id] = one
        self.size += len(body)
        if self._is_full():
            for old in [old for old in self.kept.values() if old.has_ended(self._now())]:
                self.remove(old)
        while self._is_full():
            self.remove(self._first_to_go())
        return one

    def get(self, task_id: str) -> PendingOrder | None:
        one = self.kept.get(task_id)
        if one is not None and one.has_ended(self._now()):
            self.remove(one)
            return None
        return one

    def find(self, task_id: str, payment: str, order: Order) -> PendingOrder | None:
        """Return the order of a task; without one, the same order that this payment pays."""
        if not payment or task_id.startswith(PREFIX):
            return self.get(task_id)
        paid = [one for one in self.kept.values() if one.is_paid and one.payment == payment]
        body = _written(order)
        return next((one for one in paid if one.body == body and not one.has_ended(self._now())), None)

    @contextmanager
    def paying(self, one: PendingOrder | None, payment: str) -> Iterator[None]:
        """Count a call that brings a payment of an order, if any.

        If the call breaks off, its payment counts as taken.
        """
        if one is None or not payment:
            yield
            return
        one.payment, one.calls = payment, one.calls + 1
        one.ends_at = max(one.ends_at, self._now() + MAX_LEFT)
        try:
            yield
        except BaseException:
            self.note(one, SUBMITTED, taken=True)
            raise
        finally:
            one.calls -= 1

    def note(self, one: PendingOrder, progress: Progress, *, taken: bool) -> Progress:
        """Keep an answer to an order, and the order for longer."""
        one.ends_at = max(one.ends_at, self._now() + (MAX_LEFT if taken else SECONDS))
        return one.note(progress, taken=taken)

    def remove(self, one: PendingOrder) -> None:
        self.size -= len(self.kept.pop(one.task_id).body)

    def _is_full(self) -> bool:
        return len(self.kept) > MAX_ORDERS or self.size > MAX_BYTES

    def _first_to_go(self) -> PendingOrder:
        """Return the oldest order of those that go first; one that is being paid goes last."""
        room = Counter[str]()
        for one in self.kept.values():
            room[one.address] += MAX_BYTES + len(one.body) * MAX_ORDERS
        return max(self.kept.values(), key=lambda one: (one.calls == 0, room[one.address], not one.is_paid))

    def _now(self) -> float:
        return self.market.world.clock.monotonic()


def mark_of(header: str) -> str:
    """Return a hash of a payment by payer, nonce, signature and resource; "" if it has none."""
    try:
        payment = read_payment(header)
    except BadPayment:
        return ""
    given = payment.authorization
    return sha256(f"{given.payer} {given.nonce} {payment.signature} {payment.resource}".encode()).hexdigest()


def _written(order: Order) -> bytes:
    return orjson.dumps(order, option=orjson.OPT_SORT_KEYS)
