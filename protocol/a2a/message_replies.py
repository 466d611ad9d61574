"""Calls of operations over A2A: a data part {tool, arguments} is answered with one Message. Nothing is stored."""

from collections.abc import Collection
from dataclasses import dataclass

import orjson
from a2a.types import a2a_pb2 as pb

from protocol.a2a.agent_card import example_of
from protocol.a2a.errors import invalid
from protocol.a2a.sdk_bodies import CallState
from protocol.brief import briefly, in_brief
from protocol.reserved_arguments import DRY_RUN_TOLD, TEST_KEY_LIMITS
from tools.discovery.tool_search import nearest
from tools.engine.caller import Surface
from tools.engine.dispatch import Market
from tools.engine.idempotency import Response
from tools.engine.registry import Operation
from tools.kernel.errors import Json, MarketError

KEY_ADVICE = (
    "To use an API key permanently, send it as the X-API-Key header of every request. Until then pass it as api_key in the "
    f"message's metadata, and only there. Only a test key belongs there. {TEST_KEY_LIMITS}"
)


@dataclass(frozen=True, slots=True)
class RenderedReply:
    """The response to a call: its JSON document, metadata under the market's names, and a text."""

    document: bytes
    metadata: dict[str, Json]
    text: str


class MessageReplies:
    """The renderer of messages from the responses of operations."""

    def __init__(self, market: Market, operations: Collection[Operation]) -> None:
        self.market = market
        self.operations = {op.name: op for op in operations if Surface.A2A in op.surfaces}
        self.rest_only = {op.name: op.rest_only_reason for op in operations if Surface.A2A not in op.surfaces}
        self.help, self.tools = _help(self.operations), _tools(self.operations)

    async def answer(self, message: pb.Message, call: CallState) -> pb.Message:
        """Answer a call; without one, return a help text and the list of tools."""
        wanted = call.wanted
        if not wanted and call.refusal is None:
            return self.message(message, call, self.tools, self.help)
        if len(wanted) > 1:
            raise invalid("one message makes one call: send one data part {tool, arguments}", "parts")
        if call.refusal is not None:
            return self.message(message, call, self.market.refuse_anonymous(call.refusal, call.request).body)
        return self._made(message, call, await self.called(*self.call_of(wanted[0]), call))

    async def called(self, op: Operation, arguments: dict[str, Json], call: CallState) -> RenderedReply:
        """Call an operation and return its record or error."""
        given = briefly(op, arguments, call.detail)
        unpaid = {} if op.paid_rate is None else {"payment": None}  # a payment comes in the metadata, once activated
        return self._shown(op, await call.ask(self.market, op, given, call.idempotency_key, **unpaid), call)

    def record(self, asked: pb.Message, call: CallState, op: Operation, answer: Response, text: str = "") -> pb.Message:
        """Return an operation's response as a message, after an explaining text."""
        return self._made(asked, call, self._shown(op, answer, call), text)

    def _made(self, asked: pb.Message, call: CallState, shown: RenderedReply, text: str = "") -> pb.Message:
        made = self.message(asked, call, shown.document, "\n".join(filter(None, (text, shown.text))))
        made.metadata.update(shown.metadata)
        return made

    def _shown(self, op: Operation, answer: Response, call: CallState) -> RenderedReply:
        """Return the response at the requested level of detail, with its metadata."""
        document = answer.body if answer.refused else in_brief(op, answer.body, call.detail).body
        is_anonymous = call.request.is_anonymous and not answer.refused
        advised = is_anonymous and (op.shows_secrets or call.request.argument_key is not None)
        told = {"replayed": answer.replayed, "dryRun": answer.dry_run, "apiKey": advised and KEY_ADVICE}
        beside = {f"{self.market.config.brand}/{name}": value for name, value in told.items() if value}
        return RenderedReply(document, beside, DRY_RUN_TOLD if answer.dry_run else "")

    def call_of(self, wanted: dict[str, Json]) -> tuple[Operation, dict[str, Json]]:
        unknown = sorted(wanted.keys() - {"tool", "arguments"})
        if unknown:
            raise invalid(f"unknown member {unknown[0][:64]} beside tool and arguments", "parts")
        arguments = wanted.get("arguments")
        if not isinstance(arguments, dict | None):
            raise invalid("arguments must be an object", "arguments")
        return self._operation(wanted["tool"]), arguments or {}

    def _operation(self, name: Json) -> Operation:
        if not isinstance(name, str):
            raise invalid("tool must be the name of a tool", "tool")
        op = self.operations.get(name)
        if op is not None:
            return op
        if name in self.rest_only:
            raise invalid(f"{name} is served over REST only: {self.rest_only[name]}", "tool")
        near = nearest(name, self.operations)
        hint = f"Did you mean {near}?" if near else f"Tools: {', '.join(self.operations)}."
        raise invalid(f"Unknown tool: {name[:64]}", "tool", hint)

    def message(self, asked: pb.Message, call: CallState, document: bytes, text: str = "") -> pb.Message:
        identity = self.market.world.dice.random_bytes(16).hex()
        made = pb.Message(message_id=identity, role=pb.Role.ROLE_AGENT, context_id=asked.context_id)
        if text:
            made.parts.add(text=text, media_type="text/plain")
        part = made.parts.add(media_type="application/json")
        part.data.struct_value.update(call.documents.hold(document))
        return made


def said_of(error: MarketError) -> str:
    return f"{error.message}. {error.hint}".strip()


def _help(operations: dict[str, Operation]) -> str:
    example = orjson.dumps(example_of(next(iter(operations.values())))).decode() if operations else "{}"
    return (
        f"This market answers calls. Send a message with one data part, for example {example}. "
        'To hire an agent, send the data part {"listing_id": "lst_…", "input": {…}}, or a text that names a listing and the '
        "input: the answer is a task. Messages with its taskId go to the other party, pay, or take the next step. "
        "Pass an API key as the header Authorization: Bearer or X-API-Key, or as api_key in the message's metadata; "
        "an Idempotency-Key header, or idempotency_key in the metadata, makes a repeat safe; dry_run there shows what a call would do, "
        "detail: brief shortens the answer. A call's arguments and an order take these members too. "
        f"Tools: {', '.join(operations)}."
    )


def _tools(operations: dict[str, Operation]) -> bytes:
    tools = [
        {"tool": op.name, "summary": op.summary, "needs_key": op.auth == "key", "example": example_of(op)}
        for op in operations.values()
    ]
    return orjson.dumps({"object": "tools", "tools": tools})
