"""SendMessage about a job: a message orders, writes to the other party, pays, or takes the next step.

Each is one operation, chosen by the content of the message. The answer is the task, or a Message with the reason why
not.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import orjson
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError, TaskNotCancelableError, UnsupportedOperationError

from protocol.a2a import payment as x402
from protocol.a2a.agent_endpoint import AgentEndpoints
from protocol.a2a.errors import invalid, not_shown, short_id
from protocol.a2a.message_replies import MessageReplies, said_of
from protocol.a2a.pending_orders import Order
from protocol.a2a.purchases import WAIT, Purchases
from protocol.a2a.push_notifications import Pushes
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.task_view import FINAL, STATES
from protocol.a2a.tasks import Tasks, history_limit
from storage.vocabulary import Env
from tools.engine.arguments import MAX_WAITED
from tools.engine.caller import A2aMessageRef
from tools.engine.errors import InputSchemaMismatch, InvalidRequest, RateLimited, Unauthenticated
from tools.engine.idempotency import Response
from tools.engine.registry import CATALOGUE, Operation
from tools.jobs.errors import InvalidTransition
from tools.kernel.errors import Json, MarketError
from tools.kernel.ids import Prefix
from tools.kernel.search_terms import MAX_QUERY_CHARACTERS

WAITED_SECONDS = 20
LISTING_ID = re.compile(rf"{Prefix.LISTING}[0-9A-HJKMNP-TV-Z]{{26}}")
ALIASES = {"revise": "request_revision"}
WORDS = ("message", "reason", "comment", "body")  # the arguments that take the message's text
NO_WORDS = "See the data."
HIRING = 'To hire, send one data part {{"listing_id": "{listing}", "input": {{…}}}}; '
REGISTERING = (
    'it needs an API key: call {"tool": "register_agent", "arguments": {"name": "<your name>"}}, then send the same message '
    "with the key as the X-API-Key header, or as api_key in the message's metadata."
)
FITTING = (
    "The listings in the data part fit your words best. To order one, send its how_to_order.body_example, adapted, as one data "
    'part: {"listing_id": "<its id>", "input": {…}}. For anything else ask '
    '{"tool": "find_tools", "arguments": {"query": "<what you want to do>"}}.'
)
OFFERED = 3  # listings in the answer to words
SOLD = "the data part beside this shows what this agent sells."
READING = 'its input must fit the input_schema that {{"tool": "get_listing", "arguments": {{"listing_id": "{listing}"}}}} shows.'


Answer = pb.Task | pb.Message


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """The operation that a message asks for."""

    operation: Operation
    arguments: dict[str, Json]
    relayed: bool = False  # it contains an authorization for somebody else to send


class MessageSender:
    """The handler of messages about jobs."""

    def __init__(self, tasks: Tasks, replies: MessageReplies, pushes: Pushes) -> None:
        self.shops, self.pushes = AgentEndpoints(tasks.market), pushes
        self.tasks, self.replies, self.market = tasks, replies, tasks.market
        self.purchases = Purchases(tasks, replies)
        self.actions = {op.action: op for op in replies.operations.values() if op.action}

    async def send(self, asked: pb.SendMessageRequest, call: CallState, wait: bool = True) -> Answer:
        """Answer a message: to its task's job, as an order of a listing, or as a call of a tool."""
        message = asked.message
        bought = await self.purchases.answer(asked, call)
        if bought is not None:
            return bought
        if message.task_id:
            return await self._to_task(asked, call, wait)
        if call.wanted or call.refusal:
            return await self.replies.answer(message, call)
        order = order_in(texts_of(message), call.data)
        if call.seller is not None:
            return await self._in_shop(order, asked, call, wait)
        if order is None:
            return await self._offers(message, call) or await self.replies.answer(message, call)
        return await self._hire(order, asked, call, wait)

    async def _offers(self, message: pb.Message, call: CallState) -> pb.Message | None:
        """Answer words without a listing with the three listings that fit best; None if none fits."""
        search, words = CATALOGUE["search_listings"], texts_of(message)[:MAX_QUERY_CHARACTERS]
        own: dict[str, Json] = {"q": words, "limit": OFFERED}  # a key has its environment; without one it is live
        for given in (own, own | {"env": Env.TEST.value}) if call.is_nobody else (own,):
            if not words:
                break
            answer = await call.ask(self.market, search, given)
            if not answer.refused and orjson.loads(answer.body)["data"]:
                return self.replies.record(message, call, search, answer, FITTING)
        return None

    async def _in_shop(self, order: Order | None, asked: pb.SendMessageRequest, call: CallState, wait: bool) -> Answer:
        """Handle an order at an agent's own endpoint, for one of its listings.

        If the message names no listing and the agent has only one, that one is ordered.
        """
        if order is not None:
            if refused := await self.shops.check(order["listing_id"], call):
                return self._unhired(refused, order, asked, call)
            return await self._hire(order, asked, call, wait)
        offered = await self.shops.offered(call)
        if offered.refused:
            return self._unhired(offered, {"listing_id": None}, asked, call)
        sold = orjson.loads(offered.body)["data"]
        words, given = texts_of(asked.message), next((one for one in call.data if "input" in one), None)
        if len(sold) == 1 and (words or given):
            only = {"listing_id": sold[0]["id"], **(given or {"input": _input_in(words)})}
            return await self._hire(only, asked, call, wait)
        return self.replies.message(asked.message, call, offered.body, HIRING.format(listing="lst_…") + SOLD)

    async def cancel(self, params: pb.CancelTaskRequest, call: CallState) -> pb.Task:
        """Cancel a job or an order that waits for its payment.

        Raises TaskNotCancelableError if its caller can no longer cancel it.
        """
        rejected = self.purchases.cancel(params.id, call)
        if rejected is not None:
            return rejected
        await self.tasks.read(params.id, call, 0)
        answer = await call.ask(self.market, CATALOGUE["cancel_job"], {"job_id": params.id})
        if isinstance(answer.refusal, InvalidTransition):
            raise TaskNotCancelableError(data={"hint": answer.refusal.hint, **answer.refusal.details})
        if answer.refusal is not None:
            raise not_shown(answer.refusal)
        return self.tasks.shown(await self.tasks.read(params.id, call), call, None)

    async def _hire(self, order: Order, asked: pb.SendMessageRequest, call: CallState, wait: bool) -> Answer:
        bought = await self.purchases.sell(order, asked, call)
        if bought is not None:
            return bought
        message, (order, seconds) = asked.message, _waited(order)
        letter = A2aMessageRef(
            short_id(message.message_id, "messageId"), short_id(message.context_id, "contextId") or None
        )
        answer = await call.ask(self.market, CATALOGUE["create_job"], order, _key(message, call), letter=letter)
        if isinstance(answer.refusal, Unauthenticated):
            return self._unhired(answer, order, asked, call, await self.purchases.advice(order, call))
        if answer.refusal is not None:
            return self._unhired(answer, order, asked, call)
        if answer.dry_run:
            return self.replies.record(message, call, CATALOGUE["create_job"], answer)
        job_id = orjson.loads(answer.body)["id"]
        try:
            await self.pushes.begin(job_id, asked, call)
            return await self._task(job_id, asked, call, seconds if wait else 0)
        except A2AError as unseen:  # the job exists: with only the error, the caller would order again
            hint = (unseen.data or {}).get("hint", "")
            told = f"The job was ordered, and this is it. {unseen.message}. {hint}".strip()
            return self.replies.record(message, call, CATALOGUE["create_job"], answer, told)

    def _unhired(
        self, answer: Response, order: Order, asked: pb.SendMessageRequest, call: CallState, advice: str = ""
    ) -> pb.Message:
        assert answer.refusal is not None
        told = f"{_why_unhired(answer.refusal, order, stranger=call.is_nobody)} {advice}".strip()
        return self.replies.record(asked.message, call, CATALOGUE["create_job"], answer, told)

    async def _to_task(self, asked: pb.SendMessageRequest, call: CallState, wait: bool) -> Answer:
        message = asked.message
        record = await self.tasks.read(message.task_id, call, 0)
        if message.context_id not in ("", record["context_id"]):
            raise invalid("contextId is not the task's", "contextId")
        if call.wanted or call.refusal:
            return await self.replies.answer(message, call)
        step = self._step(message, call, record)
        await self.pushes.begin(message.task_id, asked, call)
        relayed = {"payment": ""} if step.relayed else {}
        answer = await call.ask(self.market, step.operation, step.arguments, _key(message, call), **relayed)
        if step.operation.action == "pay" and answer.refusal is not None:
            return await self._unpaid(step, answer, asked, call)
        if answer.refused or answer.dry_run or answer.error is not None:
            told = "" if answer.refusal is None else said_of(answer.refusal)
            return self.replies.record(message, call, step.operation, answer, told)
        waits = wait and record["job"]["role"] == "buyer"
        is_talk = step.operation.action == "message"
        return await self._task(message.task_id, asked, call, WAITED_SECONDS if waits else 0, is_talk=is_talk)

    async def _task(
        self, job_id: str, asked: pb.SendMessageRequest, call: CallState, seconds: int, *, is_talk: bool = False
    ) -> pb.Task:
        """Return the task once it has ended or its buyer must act, at most `seconds` later.

        With `is_talk` it first tells that the message went to the other party.
        """
        seconds = 0 if asked.configuration.return_immediately else seconds
        most = history_limit(asked.configuration)
        try:
            record = await self.tasks.read(job_id, call, most, seconds)
        except RateLimited:  # too many calls wait already; the request itself has been carried out
            record = await self.tasks.read(job_id, call, most)
        told = self.tasks.view.where_words_went(record, texts_of(asked.message)) if is_talk else ""
        return self.tasks.shown(record, call, most, told=(None, [{"text": told}]) if told else None)

    async def _unpaid(
        self, step: RequestedCall, answer: Response, asked: pb.SendMessageRequest, call: CallState
    ) -> pb.Task:
        """Return the current task and the reason why the payment does not count."""
        assert answer.refusal is not None
        record = await self.tasks.read(asked.message.task_id, call)
        payment = x402.refused(record, str(step.arguments.get("transaction", "")), answer.refusal)
        told = [{"text": said_of(answer.refusal)}, {"data": orjson.loads(answer.body), "mediaType": "application/json"}]
        most = history_limit(asked.configuration)
        return self.tasks.shown(record, call, most, told=(payment, told))

    def _step(self, message: pb.Message, call: CallState, record: dict[str, Json]) -> RequestedCall:
        """Return the step a message asks for: a payment, an action, or a message to the other party."""
        job, data = record["job"], call.data
        transaction, mine = x402.transaction_in(call.metadata), {"job_id": job["id"]}
        if transaction is not None:
            paid = {"transaction": transaction} if transaction else {}
            return RequestedCall(self.actions["pay"], mine | paid, relayed=not transaction)
        if call.metadata.get(x402.STATUS) == "payment-rejected":
            return RequestedCall(self.actions["cancel"], mine)
        words = texts_of(message)
        asked = next((found for found in data if "action" in found or "transaction" in found), None)
        if asked is not None:
            return self._action(asked, words, job)
        if STATES[job["status"]] in FINAL:
            raise UnsupportedOperationError(message=f"the task has ended: the job is {job['status']}")
        if not words and not data:
            raise invalid("the message has neither text nor data", "parts")
        beside = {"data": data[0] if len(data) == 1 else data} if data else {}
        message_to = {"thread_id": job["thread_id"], "body": words or NO_WORDS, **beside}
        return RequestedCall(self.actions["message"], message_to)

    def _action(self, asked: dict[str, Json], words: str, job: dict[str, Json]) -> RequestedCall:
        name = asked.get("action", "pay")
        op = self.actions.get(ALIASES.get(name, name)) if isinstance(name, str) else None
        if op is None:
            now = ", ".join(job["available_actions"]) or "none"
            raise invalid("there is no such action", "action", f"Actions you can take now: {now}.")
        given = {key: value for key, value in asked.items() if key != "action"}
        own = {"thread_id": job["thread_id"], "dispute_id": job["dispute_id"], "job_id": job["id"]}
        place = {name: value for name, value in own.items() if name in op.input.model_fields and value is not None}
        field = next((one for one in WORDS if one in op.input.model_fields and one not in given), None)
        beside = {field: words} if field and words else {}
        return RequestedCall(op, {**beside, **given, **place})


# --- the content of a message ----------------------------------------------------------------------------------------


def texts_of(message: pb.Message) -> str:
    return "\n".join(part.text for part in message.parts if part.HasField("text")).strip()


def order_in(words: str, data: Iterable[dict[str, Json]]) -> Order | None:
    """Return the order in a message's data or text; None if neither names a listing."""
    orders = [found for found in data if "listing_id" in found]
    if len(orders) > 1:
        raise invalid("one message makes one order: send one data part {listing_id, input}", "parts")
    if orders:
        return orders[0]
    named = sorted(set(LISTING_ID.findall(words)))
    if len(named) != 1:
        return None
    given = _input_in(words.replace(named[0], ""))
    if given == {"text": ""}:
        hint = (HIRING + READING).format(listing=named[0])
        raise invalid("a text that names a listing and nothing else is no order: say what is to be done", "parts", hint)
    return {"listing_id": named[0], "input": given}


def _input_in(words: str) -> Json:
    """Return the JSON object in a text, or the text itself as `text`."""
    begins, ends = words.find("{"), words.rfind("}")
    if 0 <= begins < ends:
        try:
            found = orjson.loads(words[begins : ends + 1])
        except orjson.JSONDecodeError:
            found = None
        if isinstance(found, dict):
            return found
    return {"text": words.strip(" \t\r\n:,;.-–—")}


def _waited(order: Order) -> tuple[Order, int]:
    """Separate the order from its `wait_seconds`, which callers know from the tool `hire`."""
    seconds = order.get(WAIT)
    order = {name: value for name, value in order.items() if name != WAIT}
    if seconds is None:
        return order, WAITED_SECONDS
    if type(seconds) is not int or not 0 <= seconds <= MAX_WAITED:
        raise invalid(f"{WAIT}: must be a whole number, 0-{MAX_WAITED}", WAIT)
    return order, seconds


def _why_unhired(error: MarketError, order: Order, *, stranger: bool) -> str:
    listing = order["listing_id"][:64] if isinstance(order["listing_id"], str) else "lst_…"
    told = f"Nobody was hired: {said_of(error)}"
    if stranger:
        return f"{told} {HIRING.format(listing=listing)}{REGISTERING}"
    if isinstance(error, (InputSchemaMismatch, InvalidRequest)):
        return f"{told} {HIRING.format(listing=listing)}{READING.format(listing=listing)}"
    return told


def _key(message: pb.Message, call: CallState) -> str:
    """Return the idempotency key; a message that is sent twice counts once."""
    return call.idempotency_key or "a2a:" + sha256(message.message_id.encode()).hexdigest()
