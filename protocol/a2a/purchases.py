"""Purchases of the operator's listings over A2A, by the standalone flow of a2a-x402 v0.2 with the scheme `exact`.

Only clients that activate the extension see it. An order is answered with a task that asks for payment; the payment
comes in the metadata of a message with that taskId, or of one that orders the same again. Nothing is stored before a
payment: orders that wait for one are kept in this process only.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import parse_lenient

from protocol.a2a import payment as x402
from protocol.a2a.message_replies import MessageReplies, said_of
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.tasks import Tasks
from tools.chain.errors import ChainUnavailable, TransactionPending
from tools.chain.x402_payload import SECONDS
from tools.chain.x402_payments import Fault
from tools.engine.dispatch import Market
from tools.engine.errors import NotImplementedHere
from tools.engine.idempotency import Response
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import stamp
from tools.purchases.errors import (
    PaymentRefused,
    X402AuthorizationInUse,
    X402AuthorizationUsed,
    X402FirstPartyOnly,
    X402InsufficientFunds,
    X402NeedsAPrice,
    X402NotDelivered,
    X402Timeout,
    X402UpfrontNotSupported,
)
from tools.purchases.quotes import header, receipt

Order = dict[str, Json]  # what a message orders: the arguments of create_job, and wait_seconds
BUY, WAIT = "buy_with_x402", "wait_seconds"
MAX_ORDERS, MAX_BYTES = 1_000, 16 * 1024 * 1024  # that wait for a payment in this process
NOT_SOLD_SO = (NotImplementedHere, X402FirstPartyOnly, X402NeedsAPrice, X402UpfrontNotSupported)
NOT_KNOWN_YET = (ChainUnavailable, TransactionPending, X402AuthorizationInUse)
IN_VAIN = (X402NotDelivered, X402Timeout)
CODES: Mapping[str, str] = {  # of the extension, section 9.1
    Fault.NETWORK: "NETWORK_MISMATCH",
    Fault.VALUE: "INVALID_AMOUNT",
    Fault.EXPIRED: "EXPIRED_PAYMENT",
    Fault.SIGNATURE: "INVALID_SIGNATURE",
    X402AuthorizationUsed.code: "DUPLICATE_NONCE",
    X402InsufficientFunds.code: "INSUFFICIENT_FUNDS",
}
FAILED = "SETTLEMENT_FAILED"  # any other reason
REJECTED = "You rejected the payment, so nothing was ordered."


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a purchase: of its task and its payment, with an explaining text."""

    state: str
    payment: dict[str, Json]
    text: str
    result: dict[str, Json] | None = None


class PendingOrders:
    """Orders that wait for a payment, by the id of the task that asks for it.

    The newest are kept for as long as their terms can be signed.
    """

    def __init__(self, market: Market) -> None:
        self.market, self.size = market, 0
        self.kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def put(self, order: Order) -> str:
        """Keep an order; return the id of its task."""
        task_id, body = f"x402_{self.market.world.dice.random_bytes(16).hex()}", orjson.dumps(order)
        self.kept[task_id] = (self.market.world.clock.monotonic() + SECONDS, body)
        self.size += len(body)
        while len(self.kept) > MAX_ORDERS or self.size > MAX_BYTES:
            self.remove(next(iter(self.kept)))
        return task_id

    def get(self, task_id: str) -> Order | None:
        until, body = self.kept.get(task_id, (0.0, b""))
        if until <= self.market.world.clock.monotonic():
            self.remove(task_id)
            return None
        order: Order = orjson.loads(body)
        return order

    def remove(self, task_id: str) -> None:
        self.size -= len(self.kept.pop(task_id, (0.0, b""))[1])


class Purchases:
    """The orders that one payment buys. The purchase itself is the operation buy_with_x402."""

    def __init__(self, tasks: Tasks, replies: MessageReplies) -> None:
        self.market, self.replies, self.view = tasks.market, replies, tasks.view
        self.orders = PendingOrders(self.market)

    async def answer(self, asked: pb.SendMessageRequest, call: CallState) -> pb.Task | pb.Message | None:
        """Answer a message that calls buy_with_x402 or belongs to a kept order; None for others."""
        if not call.pays or call.refusal is not None:
            return None
        order = self.orders.get(asked.message.task_id)
        if order is not None and call.metadata.get(x402.STATUS) == "payment-rejected":
            self.orders.remove(asked.message.task_id)
            progress = Progress("TASK_STATE_CANCELED", {x402.STATUS: "payment-rejected"}, REJECTED)
            return self._task(asked.message.task_id, asked, call, progress)
        if order is None and len(call.wanted) == 1 and call.wanted[0]["tool"] == BUY:
            _, order = self.replies.call_of(call.wanted[0])
        return None if order is None else await self.sell(order, asked, call, meant=True)

    async def sell(
        self, order: Order, asked: pb.SendMessageRequest, call: CallState, *, meant: bool = False
    ) -> pb.Task | pb.Message | None:
        """Sell an order, or answer its terms; None if it is to be an ordinary order.

        That is an order without a payment by an agent with a key, or of a listing that is not sold so. `meant`: the
        message asks for a purchase.
        """
        payload = call.metadata.get(x402.PAYLOAD)
        meant = meant or payload is not None
        if not call.pays or not (meant or call.is_nobody):
            return None
        given = {name: value for name, value in order.items() if name != WAIT}
        payment = None if payload is None else header(payload)
        answer = await call.ask(self.market, CATALOGUE[BUY], given, payment=payment)
        if not meant and isinstance(answer.refusal, NOT_SOLD_SO):
            return None
        progress = _progress_of(answer, paid=payload is not None)
        if progress is None:
            assert answer.refusal is not None
            return self.replies.record(asked.message, call, CATALOGUE[BUY], answer, said_of(answer.refusal))
        return self._task(self._id(given, asked, progress), asked, call, progress)

    def _id(self, order: Order, asked: pb.SendMessageRequest, progress: Progress) -> str:
        """Return the task's id: that of the order which waited, otherwise the job's or a new one."""
        task_id: str = asked.message.task_id
        if self.orders.get(task_id) is not None:
            return task_id
        return self.orders.put(order) if progress.result is None else str(progress.result["job_id"])

    def _task(self, task_id: str, asked: pb.SendMessageRequest, call: CallState, progress: Progress) -> pb.Task:
        now, ids = stamp(self.market.world.clock.now()), {"taskId": task_id}
        ids["contextId"] = asked.message.context_id or task_id
        parts: list[Json] = [{"text": progress.text}]
        artifacts: list[Json] = []
        if progress.result is not None:
            told = {name: value for name, value in progress.result.items() if name != "output"}
            parts.append({"data": told, "mediaType": "application/json"})
            output = self.view.parts(progress.result["output"])
            artifacts = [{"artifactId": f"{task_id}-output", "name": "output", "parts": output}]
        message = {
            "messageId": f"{task_id}-{now}",
            "role": "ROLE_AGENT",
            "parts": parts,
            "metadata": progress.payment,
            "extensions": [x402.URI],
            **ids,
        }
        status = {"state": progress.state, "timestamp": now, "message": message}
        task = {"id": task_id, "contextId": ids["contextId"], "status": status, "artifacts": artifacts}
        return parse_lenient(call.stash(task), pb.Task())


def _progress_of(answer: Response, *, paid: bool) -> Progress | None:
    """Return the state of a purchase; None for a refusal that is not about its payment."""
    refusal = answer.refusal
    if refusal is not None:
        return _refused(refusal)
    record = orjson.loads(answer.body)
    if answer.error is None:
        done = {x402.STATUS: "payment-completed", x402.RECEIPTS: [receipt(record["paid"])]}
        text = f"Bought for {record['paid']['display']}; the output is the artifact."
        return Progress("TASK_STATE_COMPLETED", done, text, record)
    terms, text = record["required"], f"{record['error']}. {record['hint']}"
    if not paid:
        return Progress("TASK_STATE_INPUT_REQUIRED", {x402.STATUS: "payment-required", x402.REQUIRED: terms}, text)
    return Progress("TASK_STATE_INPUT_REQUIRED", _failed(record["error"], terms), text)


def _refused(refusal: MarketError) -> Progress | None:
    text = said_of(refusal)
    if isinstance(refusal, PaymentRefused) and refusal.terms is not None:
        return Progress("TASK_STATE_INPUT_REQUIRED", _failed(refusal.code, refusal.terms | {"error": text}), text)
    if isinstance(refusal, NOT_KNOWN_YET):
        return Progress("TASK_STATE_WORKING", {x402.STATUS: "payment-submitted"}, text)
    if isinstance(refusal, (*IN_VAIN, PaymentRefused)):
        return Progress("TASK_STATE_FAILED", _failed(refusal.code, None), text)
    return None


def _failed(reason: str, terms: dict[str, Any] | None) -> dict[str, Json]:
    """Return the metadata of a payment that was not taken, with its terms while it can be paid."""
    network = {} if terms is None else {"network": terms["accepts"][0]["network"]}
    attempt = {"success": False, "errorReason": reason, "transaction": "", **network}
    kept = {} if terms is None else {x402.REQUIRED: terms}
    return {x402.STATUS: "payment-failed", x402.ERROR: CODES.get(reason, FAILED), x402.RECEIPTS: [attempt], **kept}
