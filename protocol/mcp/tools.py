"""MCP tools, made from the registry: one per operation, and the results of their calls."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import mcp_types as t
import orjson
from mcp.shared.exceptions import MCPError

from protocol.brief import FULL, as_text, briefly, in_brief, schema_of
from protocol.mcp.payments import receipt_in, terms_in
from protocol.mcp.resources import link_to
from protocol.mcp.toolsets import CALL, USUAL, View, shown
from protocol.mcp.wording import Wording
from protocol.reserved_arguments import (
    DRY_RUN_TOLD,
    IDEMPOTENCY_KEY,
    KEY_ADVICE,
    PROPERTIES,
    RESERVED_TOLD,
    extract,
    listed_schema,
    reserved_properties,
)
from protocol.untrusted_markers import UntrustedMarkers, places_in, places_in_error
from tools.discovery.tool_search import nearest
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import Forbidden, InvalidRequest, MalformedJson
from tools.engine.idempotency import Response
from tools.engine.json_schemas import Schema
from tools.engine.registry import CATALOGUE, Operation
from tools.kernel.errors import Json, MarketError
from tools.kernel.strict_json import BadJson

KEPT_VIEWS = 32  # views whose lists and wording are cached
KEPT, MAX_BYTES = 1_024, 4 * 1024  # cached results, and the maximum size of a record in bytes


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a tool; `repeat` is the Idempotency-Key header, `view` the tools of the address.

    `payment` is the x402 payment in its `_meta`, in the form of HTTP's header.
    """

    name: str
    arguments: dict[str, Json]
    repeat: str | None = None
    view: View = USUAL
    payment: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: a record as a model reads it, with its JSON in `body`.

    Errors carry no record, because published clients validate it against the output schema and throw. The terms of an
    x402 payment are the exception (`unpaid`); their tool has no output schema.
    """

    texts: tuple[str, ...]
    meta: dict[str, Any] | None = None
    record: dict[str, Json] | None = None
    body: bytes = b""
    links: tuple[t.ResourceLink, ...] = ()
    unpaid: bool = False
    # the fast path's JSON, by protocol version
    frames: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_error(self) -> bool:
        return self.record is None or self.unpaid

    def with_more(self, texts: tuple[str, ...], beside: dict[str, Any]) -> "ToolResult":
        """Return the result with additions for this call only."""
        return replace(self, texts=(*self.texts, *texts), meta={**(self.meta or {}), **beside}, frames={})

    def result(self) -> t.CallToolResult:
        """Return the result as the SDK's type."""
        texts = [t.TextContent(text=text) for text in self.texts]
        content: list[t.ContentBlock] = [*texts[:1], *self.links, *texts[1:]]
        return t.CallToolResult(
            content=content, structured_content=self.record, is_error=self.is_error, _meta=self.meta
        )


class ResultRenderer:
    """The renderer of records. It caches recent results, because agents read the same listings."""

    def __init__(self, fences: UntrustedMarkers, brand: str) -> None:
        self.fences, self.brand, self._kept = fences, brand, lru_cache(KEPT)(self._told)

    def render(
        self, op: Operation, body: bytes, detail: str | None, wording: Wording, caller: str | None
    ) -> ToolResult:
        """Render a record at the requested level of detail.

        All callers that the record does not name share the result. A caller that it names may have written text in it.
        """
        kept = len(body) <= MAX_BYTES and not op.shows_secrets
        named = caller if caller is not None and caller.encode() in body else None
        return (self._kept if kept else self._told)(op, body, detail, wording, named)

    def render_error(self, answer: Response, wording: Wording) -> ToolResult:
        record = wording.refusal(orjson.loads(answer.body))
        shown = self.fences.show(orjson.dumps(record), record, places_in_error(answer.refusal))
        return ToolResult((shown.text,), self.named(error=record["error"], untrusted=shown.untrusted))

    def render_terms(self, terms: dict[str, Any], answer: Response) -> ToolResult:
        """Render the terms of an x402 payment: bare JSON, without marks and never in brief."""
        body = orjson.dumps(terms)
        beside = self.named(error=answer.error) if answer.refusal is not None else None
        return ToolResult((body.decode(),), beside, terms, body, unpaid=True)

    def named(self, **beside: Any) -> dict[str, Any]:
        """Return metadata under the market's names (MCP, `_meta`: prefix and name).

        Places are JSON Pointers.
        """
        told = {name: [*value] if isinstance(value, tuple) else value for name, value in beside.items() if value != ()}
        return {f"{self.brand}/{name}": value for name, value in told.items()}

    def _told(self, op: Operation, body: bytes, detail: str | None, wording: Wording, caller: str | None) -> ToolResult:
        brief = in_brief(op, body, detail)
        record = wording.record(op, brief.record)
        told = brief.body if record is brief.record else orjson.dumps(record)
        read = record if detail == FULL else as_text(op, record)
        text = told if read == record else orjson.dumps(read)
        shown = self.fences.show(text, read, places_in(op, record), caller)
        links = tuple(link_to(place, wording) for place in brief.uris)
        beside = self.named(untrusted=shown.untrusted, left_out=brief.left_out)
        return ToolResult((shown.text,), beside or None, record, told, links)


class Tools:
    """Operations as tools, in their order, for connections with and without a credential."""

    def __init__(self, market: Market, operations: Iterable[Operation]) -> None:
        self.market = market
        self.telling = ResultRenderer(UntrustedMarkers(market.config.pepper), market.config.brand)
        operations = tuple(operations)
        self.operations = {op.name: op for op in operations if Surface.MCP in op.surfaces}
        self.elsewhere = {op.name: f"{op.method} {op.path}" for op in operations if Surface.MCP not in op.surfaces}
        self.toolsets = frozenset(op.toolset for op in self.operations.values())
        self.names = frozenset({CALL, *self.operations})
        self.wording, self._shown = lru_cache(KEPT_VIEWS)(self._wording), lru_cache(KEPT_VIEWS)(self._view_of)
        self.input_schema = lru_cache(len(self.names))(self._input_schema)

    def _tool_of(self, op: Operation, is_anonymous: bool) -> t.Tool:
        tool = tool_of(op, is_anonymous)
        if op.deprecated is None:
            return tool
        return tool.model_copy(update={"meta": self.telling.named(deprecated=op.deprecated.record)})

    def _input_schema(self, name: str) -> Schema | None:
        """Return the input schema of a tool; None for an unknown one."""
        if name == CALL:
            return call_tool(is_anonymous=False).input_schema
        return listed_schema(self.operations[name], is_anonymous=False) if name in self.operations else None

    def listed(self, call_request: CallRequest, view: View) -> list[t.Tool]:
        """Return the tools for this connection; without a credential, they take an `api_key`."""
        return self._shown(view, call_request.is_anonymous)

    def _view_of(self, view: View, is_anonymous: bool) -> list[t.Tool]:
        wording = self.wording(view)
        return [
            call_tool(is_anonymous, wording.hidden)
            if name == CALL
            else wording.tool(self._tool_of(self.operations[name], is_anonymous))
            for name in shown(view, self.operations.values())
        ]

    def _wording(self, view: View) -> Wording:
        return Wording(frozenset(self.operations).difference(shown(view, self.operations.values())))

    async def call(self, called: Called, call_request: CallRequest, bad: BadJson | None = None) -> ToolResult:
        """Call an operation; an unknown name raises MCPError, every other refusal is a result."""
        wording = self.wording(called.view)
        if called.name not in self.names:
            instead = wording.text(self._instead(called.name))
            raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {called.name[:64]}. {instead}")
        op = self.operations.get(called.name)
        try:
            if bad is not None:
                raise MalformedJson(bad.message, param=bad.path or None)
            op, given = (op, called.arguments) if op else self._unwrapped(called.arguments)
            if called.view.readonly and not op.safe:
                raise Forbidden(
                    f"{op.name} changes something, and this address is for reading", hint="Call it at /mcp."
                )
            reserved = extract(given)
            if called.repeat is not None and reserved.idempotency_key not in (None, called.repeat):
                raise InvalidRequest("one call came with two different values", param=IDEMPOTENCY_KEY)
        except MarketError as error:
            return self.as_tool_result(op, self.market.refuse_anonymous(error, call_request), call_request, wording)
        if reserved.api_key is not None or reserved.dry_run:
            call_request = replace(call_request, argument_key=reserved.api_key, dry_run=reserved.dry_run)
        if called.payment is not None or op.paid_rate is not None:  # a purchase takes none from HTTP's headers here
            call_request = replace(call_request, payment=called.payment)
        arguments = briefly(op, reserved.arguments, reserved.detail)
        answer = await self.market.call(op, arguments, call_request, reserved.idempotency_key or called.repeat)
        return self.as_tool_result(op, answer, call_request, wording, reserved.detail)

    def _unwrapped(self, given: dict[str, Json]) -> tuple[Operation, dict[str, Json]]:
        """Return the operation that call_tool names, and its arguments.

        Reserved arguments may be beside them or among them.
        """
        outer = extract(given)
        name, arguments = outer.arguments.pop("name", None), outer.arguments.pop("arguments", None) or {}
        if outer.arguments:
            unknown = min(outer.arguments)[:64]
            raise InvalidRequest(f"{unknown}: unknown field", param=unknown, hint="It belongs into `arguments`.")
        if not isinstance(arguments, dict):
            raise InvalidRequest("arguments: must be an object", param="arguments")
        beside = {word: given[word] for word in PROPERTIES if given.get(word) not in (None, False)}
        for word, value in beside.items():
            if arguments.get(word, value) != value:
                raise InvalidRequest("one call came with two different values", param=word)
        return self._named_operation(name), arguments | beside

    def _named_operation(self, name: Json) -> Operation:
        op = self.operations.get(name) if isinstance(name, str) else None
        if op is None:
            raise InvalidRequest("name: there is no tool of that name", param="name", hint=self._instead(str(name)))
        return op

    def _instead(self, name: str) -> str:
        """Return a hint about tools to call in place of an unknown one."""
        if name in self.elsewhere:
            return f"It is served over HTTP only: {self.elsewhere[name]}."
        near = nearest(name, self.operations)
        return f"Did you mean {near}? find_tools names others." if near else "find_tools names them."

    def as_tool_result(
        self,
        op: Operation | None,
        answer: Response,
        call_request: CallRequest,
        wording: Wording,
        detail: str | None = None,
    ) -> ToolResult:
        """Return a response as a result."""
        pays = op is not None and op.paid_rate is not None
        if pays and (terms := terms_in(answer)) is not None:
            return self.telling.render_terms(terms, answer)
        if answer.refusal is not None or op is None:
            return self.telling.render_error(answer, wording)
        said = self.telling.render(op, answer.body, detail, wording, answer.caller_id)
        advised = call_request.is_anonymous
        beside: dict[str, Any] = {"replayed": True} if answer.replayed else {"dry_run": True} if answer.dry_run else {}
        if advised and (op.shows_secrets or call_request.argument_key):
            beside["api_key"] = KEY_ADVICE
        receipt = receipt_in(answer.body) if pays else {}
        if not beside and not receipt:
            return said
        # models seldom read `_meta`
        more = {DRY_RUN_TOLD: answer.dry_run, KEY_ADVICE: advised and op.shows_secrets}
        return said.with_more(
            tuple(text for text, holds in more.items() if holds), self.telling.named(**beside) | receipt
        )


@cache
def tool_of(op: Operation, is_anonymous: bool) -> t.Tool:
    """Return the tool for the list; `is_anonymous` is for connections without a credential.

    Callers share the tool and must not change it.
    """
    return t.Tool(
        name=op.name,
        title=op.title,
        description=op.description,
        input_schema=listed_schema(op, is_anonymous),
        output_schema=None if op.paid_rate else answer_schema(op),  # the terms of x402 would not fit it
        annotations=t.ToolAnnotations(
            read_only_hint=op.safe,
            destructive_hint=op.destructive,
            idempotent_hint=op.idempotent,
            open_world_hint=op.open_world,
        ),
    )


def answer_schema(op: Operation) -> Schema:
    """Return the output schema; a write that answers what a read answers has a short one.

    Ten tools answer a job, and its whole schema would be repeated for each of them.
    """
    schema, reader = schema_of(op), None if op.safe else _reader_of(op)
    if reader is None:
        return schema
    members = {name: {"type": one["type"]} if "type" in one else {} for name, one in schema["properties"].items()}
    members["object"] = schema["properties"]["object"]
    told = f"{schema.get('description', '')} The output schema of {reader} describes it.".strip()
    return {"type": "object", "description": told, "properties": members, "required": schema["required"]}


def _reader_of(op: Operation) -> str | None:
    """Return the name of a read that answers the same record, perhaps with fewer members."""
    reads = (one for one in CATALOGUE.values() if one.safe and len(one.output) == 1 and "{" in one.path)
    return next((one.name for one in reads if one.output[0] in op.output[0].__mro__ and len(op.output) == 1), None)


def call_tool(is_anonymous: bool, unlisted: Iterable[str] = ()) -> t.Tool:
    """Return the tool that calls any other; its description names the unlisted ones."""
    properties: Schema = {
        "name": {"type": "string", "maxLength": 64, "description": "a tool's name, from find_tools"},
        "arguments": {"type": "object", "description": "its arguments, as its input_schema says"},
    }
    return t.Tool(
        name=CALL,
        title="Call tool",
        description="Call any tool by its name, also an unlisted one. find_tools says what it takes. The answer "
        f"is that tool's. {RESERVED_TOLD}\n\nOther tools: {', '.join(sorted(unlisted))}.",
        input_schema={
            "type": "object",
            "additionalProperties": False,
            "properties": properties | reserved_properties(is_anonymous=is_anonymous, repeats=True, cuts=True),
            "required": ["name"],
        },
        output_schema={"type": "object"},
        annotations=t.ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    )
