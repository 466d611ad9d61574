"""The agent that the A2A TCK expects: its behaviour depends on the message id. Production never loads it.

The suite has no key and orders nothing, so this module adds both. A buyer and a seller of the market then act through
`Market.call`. The suite's messages and the market's answers are the same as for any agent.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import orjson
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import a2a_pb2 as pb
from eth_account import Account
from eth_account.messages import encode_defunct
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from protocol.a2a.request_handler import MarketRequestHandler
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.send_message import MessageSender, order_in, texts_of
from protocol.a2a.task_view import View
from protocol.http import replayed, send_response
from server.app import Served, Service
from server.settings import Settings
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.kernel.errors import Json

Record = dict[str, Any]
CARD = "/.well-known/agent-card.json"
OLD_HOST = b"localhost:"  # with this name, the card is in the form for clients of 0.3
OLD_CARD_PATH, OLD_CARD_METHOD = "/a2a/v1/card", b"agent/getAuthenticatedExtendedCard"  # must be refused without a key
KEYS = frozenset((b"authorization", b"x-api-key"))
OFFER = {
    "title": "Whatever the TCK asks for",
    "description": "Does what the message's id says.",
    "category": "testing",
    "max_open_jobs": 1000,
}
FIXED, QUOTED = {"pricing_model": "fixed", "price": 0}, {"pricing_model": "quote"}
PARTS = "tck_parts"  # an output with only this member is shown as these parts
FILE = {"mediaType": "text/plain", "filename": "output.txt"}
MAX_STREAMS = 100  # the suite leaves its streams open
STAYS_SECONDS = 4.0  # twice the time that the suite waits for an event


@dataclass(frozen=True)
class Script:
    """The course of an order: the seller declines it, or delivers an output after some time.

    If `quoted`, it waits for a quote first.
    """

    output: Json = "Hello from TCK"
    seconds: float = 0.0
    declined: bool = False
    quoted: bool = False


SCRIPTS: dict[str, Script] = {
    "tck-complete-task": Script(),
    "tck-artifact-text": Script("Generated text content"),
    "tck-artifact-file-url": Script({PARTS: [{"url": "https://example.com/output.txt", **FILE}]}),
    "tck-artifact-file": Script({PARTS: [{"raw": "dGNr", **FILE}]}),
    "tck-artifact-data": Script({"key": "value", "count": 42}),
    "tck-reject-task": Script(declined=True),
    "tck-stream-001": Script("Stream hello from TCK"),
    "tck-stream-002": Script(),
    "tck-stream-003": Script("Stream task lifecycle"),
    "tck-stream-ordering-001": Script("Ordered output"),
    "tck-stream-artifact-text": Script("Streamed text content"),
    "tck-stream-artifact-file": Script({PARTS: [{"raw": "dGNr", **FILE}]}),
    "test-resubscribe-message-id": Script(seconds=STAYS_SECONDS),
}
ANYTHING_ELSE = Script(quoted=True)  # for tck-input-required and unknown ids
ORDERS = ("job.created", "job.quote_accepted")
ANSWERED = "tck-message-response"
NAMES_ARE_JUDGED = "tck-dm-test"


def script_of(message_id: str) -> Script:
    return next((script for prefix, script in SCRIPTS.items() if message_id.startswith(prefix)), ANYTHING_ELSE)


class Party:
    """An agent of the market, without a key before it has joined."""

    def __init__(self, market: Market, key: str = "") -> None:
        self.market, self.key = market, key

    async def call(self, operation: str, **given: Any) -> Record:
        """Call an operation; return its record. Raises RuntimeError for a refusal."""
        came = CallRequest(Surface.REST, "127.0.0.1", "req_fixture", credential=self.key or None)
        answer = await self.market.call(CATALOGUE[operation], given, came)
        record: Record = orjson.loads(answer.body)
        if answer.refused:
            raise RuntimeError(f"{operation}: {record}")
        return record

    async def joined(self, name: str) -> "Party":
        """Register an agent with a bound wallet."""
        made = await self.call("register_agent", name=name)
        party, wallet = Party(self.market, made["api_keys"]["test"]), Account.create()
        text = f"{self.market.config.brand}:wallet:{made['agent']['id']}:{wallet.address.lower()}"
        signature = "0x" + bytes(wallet.sign_message(encode_defunct(text=text)).signature).hex()
        await party.call("set_wallet_address", address=wallet.address, signature=signature)
        return party


class Seller:
    """Sells the suite's orders, and handles each as its input says."""

    def __init__(self, agent: Party) -> None:
        self.agent = agent

    async def work(self) -> None:
        """Handle all orders as they arrive, until the market closes."""
        heard: dict[str, Any] = {}
        async with asyncio.TaskGroup() as jobs:
            while not self.agent.market.services.notifier.closed:
                page = await self.agent.call("list_events", wait_seconds=25, **heard)
                heard = {"since": page["next_since"]} if page["next_since"] else {}
                for event in page["data"]:
                    if event["type"] in ORDERS:
                        jobs.create_task(self.play(event["data"]["job_id"]))

    async def play(self, job_id: str) -> None:
        """Take the seller's next step of a job. A job that the buyer has cancelled is skipped."""
        with suppress(RuntimeError):
            job = await self.agent.call("get_job", job_id=job_id)
            script = script_of(job["input"]["message_id"])
            if script.declined:
                await self.agent.call("decline_job", job_id=job_id, reason="rejected")
            elif job["status"] == "quote_requested":
                await self.agent.call("quote_job", job_id=job_id, price=0)
            else:
                await self._deliver(job, script)

    async def _deliver(self, job: Record, script: Script) -> None:
        if job["status"] == "open":
            await self.agent.call("accept_job", job_id=job["id"])
        await asyncio.sleep(script.seconds)
        await self.agent.call("deliver_job", job_id=job["id"], output=script.output)


class Guided(MessageSender):
    """Adds the listing to the suite's messages, and the acceptance of a quote."""

    def __init__(self, production: MessageSender, fixed: str, quoted: str) -> None:
        super().__init__(production.tasks, production.replies, production.pushes)
        self.fixed, self.quoted = fixed, quoted

    async def send(self, asked: pb.SendMessageRequest, call: CallState, wait: bool = True) -> pb.Task | pb.Message:
        message = asked.message
        if call.idempotency_key is None:
            call.idempotency_key = uuid4().hex  # the suite sends the same ids again for other tasks
        if message.message_id.startswith(ANSWERED):
            return self.replies.message(message, call, b"{}", "Direct message response")
        if message.task_id and not script_of(message.message_id).quoted:
            call.data.append({"action": "accept_quote"})
        elif not message.task_id and not call.wanted and order_in("", call.data) is None:
            listing = self.quoted if script_of(message.message_id).quoted else self.fixed
            told = {"message_id": message.message_id, "text": texts_of(message)}
            call.data.append({"listing_id": listing, "input": told})
        return await super().send(asked, call, wait)


class Shown(View):
    """Shows files in outputs, which the suite expects and the market lacks.

    It also hides data with names.
    """

    def task(self, task: Record) -> Record:
        """Return the task, without data if the suite would judge its names.

        DM-SERIAL-001 requires camelCase of each name in the answer, even of records in data.
        """
        made = super().task(task)
        return _without_data(made) if str(task["message_id"]).startswith(NAMES_ARE_JUDGED) else made

    def parts(self, output: Json) -> list[Json]:
        if isinstance(output, dict) and list(output) == [PARTS]:
            return list(output[PARTS])
        return super().parts(output)


class TckService(Service):
    """The real market for the suite. Its review period is zero, so a delivered job is complete."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        windows = {env: replace(one, review_seconds=0) for env, one in self.config.windows.items()}
        limits = replace(self.config.limits, streams_per_key=MAX_STREAMS, streams_per_agent=MAX_STREAMS)
        self.config = replace(self.config, windows=windows, limits=limits)
        self.key, self.old_card = b"", b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = dict(scope["headers"])
            if scope["path"] == CARD and sent.get(b"host", b"").startswith(OLD_HOST):
                await send_response(send, 200, self.old_card)
                return
            if scope["path"].startswith("/a2a") and KEYS.isdisjoint(sent):
                body = await Request(scope, receive).body()
                receive = replayed(body, receive)
                if scope["path"] != OLD_CARD_PATH and OLD_CARD_METHOD not in body:
                    scope = {**scope, "headers": [*scope["headers"], (b"x-api-key", self.key)]}
        await super().__call__(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Served]:
        async with super().running() as served:
            anybody = Party(served.market)
            buyer, seller = await anybody.joined("TCK"), await anybody.joined("Seller")
            listings = [(await seller.call("create_listing", **OFFER, **terms))["id"] for terms in (FIXED, QUOTED)]
            self.key = buyer.key.encode()
            self.prepare(served.a2a.desk, *listings)
            working = asyncio.create_task(Seller(seller).work())
            try:
                yield served
            finally:
                working.cancel()
                await asyncio.wait([working])

    def prepare(self, desk: MarketRequestHandler, fixed: str, quoted: str) -> None:
        desk.tasks.view = Shown(desk.tasks.view.brand, desk.tasks.view.forms)
        desk.sending = Guided(desk.sending, fixed, quoted)
        card = pb.AgentCard()
        card.CopyFrom(desk.card)
        for interface in card.supported_interfaces:
            interface.protocol_version = "0.3"
        self.old_card = orjson.dumps(agent_card_to_dict(card))


def _without_data(value: Json) -> Any:
    if isinstance(value, list):
        return [_without_data(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "data" in value:
        return {"text": orjson.dumps(value["data"]).decode()}
    return {name: _without_data(one) for name, one in value.items()}
