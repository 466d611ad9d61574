"""Purchases of the operator's listings over A2A, by the standalone flow of a2a-x402 v0.2 with the scheme `exact`.

Only clients that activate the extension buy so. An order is answered with a task that asks for payment; the payment
comes in the metadata of a message with that taskId, or of one that orders the same again. Nothing is stored before a
payment, so the tasks are kept in this process only (pending_orders.py). GetTask shows a task's state and receipts to
any caller that knows its id. The output is answered only to a message that brings the payment.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError
from a2a.utils.proto_utils import parse_lenient

from protocol.a2a import payment as x402
from protocol.a2a.errors import invalid, short_id
from protocol.a2a.message_replies import MessageReplies, said_of
from protocol.a2a.pending_orders import CANCELED, SUBMITTED, Order, PendingOrder, PendingOrders, Progress, mark_of
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.tasks import Tasks
from tools.chain.errors import ChainUnavailable, TransactionPending
from tools.chain.x402_payments import Fault
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

BUY, WAIT = "buy_with_x402", "wait_seconds"
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
HOW_TO_PAY = (
    "Sign one of `accepts` with any x402 client and send it in the metadata x402.payment.payload of a message with this "
    "taskId. Keep that payment: sent again it gets the same result and pays nothing more."
)
ACTIVATE = (
    f"Or buy it without an account, with one x402 payment: activate the extension {x402.URI} (header A2A-Extensions) and "
    "send the same message. The answer is a task that asks for the payment."
)
NOT_REJECTED = "Nothing was rejected, because a payment came before. "
ANOTHER = "Another payment came for this order before, so nothing was done with this one. "
UNUSED = "You rejected this order before, so nothing was done with this payment. To buy, send the order again without a taskId."


class Purchases:
    """The orders that one payment buys. The purchase itself is the operation buy_with_x402."""

    def __init__(self, tasks: Tasks, replies: MessageReplies) -> None:
        self.tasks, self.market, self.replies, self.view = tasks, tasks.market, replies, tasks.view
        self.orders = PendingOrders(self.market)

    async def get(self, params: pb.GetTaskRequest, call: CallState) -> pb.Task:
        """Return a purchase's task as it was last answered, without its output, or a job's task."""
        kept = self.orders.get(params.id)
        return await self.tasks.get(params, call) if kept is None else self._task(kept, call, kept.shown)

    async def advice(self, order: Order, call: CallState) -> str:
        """Say how an anonymous caller buys a listing with one payment; "" if it is not sold so."""
        if call.pays or not call.is_nobody:
            return ""
        answer = await call.ask(self.market, CATALOGUE[BUY], {"listing_id": order["listing_id"]}, payment=None)
        return "" if answer.refused else ACTIVATE

    def cancel(self, task_id: str, call: CallState) -> pb.Task | None:
        """Reject an order that waits for its payment; None for the id of another task.

        Raises TaskNotCancelableError if a payment came or the task has ended.
        """
        kept = self.orders.get(task_id)
        if kept is not None and not kept.reject():
            raise TaskNotCancelableError(data={"hint": kept.shown.text})
        return None if kept is None else self._task(kept, call, kept.shown)

    async def answer(self, asked: pb.SendMessageRequest, call: CallState) -> pb.Task | pb.Message | None:
        """Answer a message that calls buy_with_x402 or belongs to a kept order; None for others."""
        if not call.pays or call.refusal is not None:
            return None
        order, kept = None, self.orders.get(asked.message.task_id)
        if kept is not None:
            if asked.message.context_id not in ("", kept.context_id):
                raise invalid("contextId is not the task's", "contextId")
            if call.metadata.get(x402.STATUS) == "payment-rejected":
                return self._rejected(kept, call)
            order = kept.order
        elif len(call.wanted) == 1 and call.wanted[0]["tool"] == BUY:
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
        short_id(asked.message.context_id, "contextId")  # because it is kept
        payment = None if payload is None else header(payload)
        mark = "" if payment is None else mark_of(payment)
        given = {name: value for name, value in order.items() if name != WAIT}
        kept = self.orders.find(asked.message.task_id, mark, given)
        closed = self._closed(kept, mark, payment, call)
        if closed is not None:
            return closed
        with self.orders.paying(kept, mark):
            answer = await call.ask(self.market, CATALOGUE[BUY], given, payment=payment)
        closed = self._closed(kept, mark, payment, call)  # another message may have paid or rejected it meanwhile
        if closed is not None:
            return closed
        if not meant and isinstance(answer.refusal, NOT_SOLD_SO):
            return None
        progress, taken = _progress_of(answer, paid=payment is not None), bool(mark) and _may_be_taken(answer)
        if progress is None:
            assert answer.refusal is not None
            if kept is not None and taken:
                self.orders.note(kept, SUBMITTED, taken=True)
            return self.replies.record(asked.message, call, CATALOGUE[BUY], answer, said_of(answer.refusal))
        kept = kept or self.orders.find(asked.message.task_id, mark, given) or self._put(given, progress, asked, call)
        kept.payment = mark or kept.payment
        return self._task(kept, call, self.orders.note(kept, progress, taken=taken))

    def _closed(self, kept: PendingOrder | None, mark: str, payment: str | None, call: CallState) -> pb.Task | None:
        """Return the task of an order that a message cannot change, otherwise None.

        After a payment came or the order has ended, only a message with the same payment goes on with it.
        """
        if kept is None:
            return None
        if kept.last is CANCELED:
            return self._task(kept, call, CANCELED if payment is None else replace(CANCELED, text=UNUSED))
        if payment is not None and mark == kept.payment:
            return None
        if not (kept.is_paid or kept.last.is_final):
            return None
        text = kept.shown.text if payment is None else ANOTHER + kept.shown.text
        return self._task(kept, call, replace(kept.shown, text=text))

    def _put(self, order: Order, first: Progress, asked: pb.SendMessageRequest, call: CallState) -> PendingOrder:
        return self.orders.put(order, first, context_id=asked.message.context_id, ip=call.request.ip)

    def _rejected(self, kept: PendingOrder, call: CallState) -> pb.Task:
        if kept.reject():
            return self._task(kept, call, CANCELED)
        return self._task(kept, call, replace(kept.shown, text=NOT_REJECTED + kept.shown.text))

    def _task(self, kept: PendingOrder, call: CallState, progress: Progress) -> pb.Task:
        now, task_id, context_id = stamp(self.market.world.clock.now()), kept.task_id, kept.context_id
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
            "taskId": task_id,
            "contextId": context_id,
        }
        status = {"state": progress.state, "timestamp": now, "message": message}
        task = {"id": task_id, "contextId": context_id, "status": status, "artifacts": artifacts}
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
    terms = record["required"]
    if not paid:
        due = {x402.STATUS: "payment-required", x402.REQUIRED: terms}
        return Progress("TASK_STATE_INPUT_REQUIRED", due, f"{record['error']}. {HOW_TO_PAY}")
    text = f"{record['error']}. {record['hint']}"
    return Progress("TASK_STATE_INPUT_REQUIRED", _failed(record["error"], terms), text)


def _may_be_taken(answer: Response) -> bool:
    """Check whether a call's payment may be charged, so that no other should be signed."""
    refusal = answer.refusal
    if refusal is None:
        return answer.error is None
    return refusal.retryable or isinstance(refusal, IN_VAIN)


def _refused(refusal: MarketError) -> Progress | None:
    text = said_of(refusal)
    if isinstance(refusal, PaymentRefused) and refusal.terms is not None:
        failed = _failed(refusal.code, refusal.terms | {"error": text})
        if refusal.retryable:  # this payment may still be taken: a client that sees terms signs again
            failed.pop(x402.REQUIRED)
        return Progress("TASK_STATE_INPUT_REQUIRED", failed, text)
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
