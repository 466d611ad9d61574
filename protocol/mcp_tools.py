"""MCP tools, made from the registry: one per operation, and what their calls answer."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import mcp_types as t
import orjson
from mcp.shared.exceptions import MCPError

from protocol.reserved import IDEMPOTENCY_KEY, KEY_ADVICE, listed_schema, take
from protocol.shapes import Schema, output_schema
from tools.answers import Answer
from tools.context import Approach, Surface
from tools.dispatch import Market
from tools.errors import InvalidRequest, MalformedJson
from tools.errors.base import Json
from tools.registry import Operation
from tools.rules.jsontext import BadJson


class Tools:
    """Operations as tools, in their order, for connections with and without a credential."""

    def __init__(self, market: Market, operations: Iterable[Operation], more: tuple[t.Tool, ...] = ()) -> None:
        self.market, self.brand = market, market.house.brand
        self.operations = {op.name: op for op in operations if Surface.MCP in op.surfaces}
        self.keyed = [*(tool_of(op, keyless=False) for op in self.operations.values()), *more]
        self.keyless = [*(tool_of(op, keyless=True) for op in self.operations.values()), *more]
        self.schemas: dict[str, Schema] = {tool.name: tool.input_schema for tool in self.keyed}

    def listed(self, approach: Approach) -> list[t.Tool]:
        """What this connection is shown: without a credential of its own, the argument that carries one."""
        return self.keyless if approach.keyless else self.keyed

    async def call(
        self,
        name: str,
        given: dict[str, Json],
        approach: Approach,
        bad: BadJson | None = None,
        header_key: str | None = None,
    ) -> t.CallToolResult:
        """Call through the door. An unknown name is a fault of the protocol; every other refusal is a result."""
        op = self.operations.get(name)
        if op is None:
            raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {name[:64]}")
        try:
            if bad is not None:
                raise MalformedJson(bad.message, param=bad.path or None)
            reserved = take(given)
            if header_key is not None and reserved.idempotency_key not in (None, header_key):
                raise InvalidRequest("one call came with two different values", param=IDEMPOTENCY_KEY)
        except (MalformedJson, InvalidRequest) as error:
            return self._result(op, self.market.refuse_stranger(error, approach), approach)
        approach = replace(approach, argument_key=reserved.api_key)
        answer = await self.market.call(op, reserved.arguments, approach, reserved.idempotency_key or header_key)
        return self._result(op, answer, approach)

    def _result(self, op: Operation, answer: Answer, approach: Approach) -> t.CallToolResult:
        """Errors carry no structuredContent: published clients hold it against the output schema and throw."""
        content: list[t.ContentBlock] = [t.TextContent(text=answer.body.decode())]
        if answer.refused:
            return t.CallToolResult(content=content, is_error=True, _meta=self._named({"error": answer.error}))
        told: dict[str, Any] = {"replayed": True} if answer.replayed else {}
        if approach.keyless and (op.shows_secrets or approach.argument_key):
            told["api_key"] = KEY_ADVICE
        if approach.keyless and op.shows_secrets:
            content.append(t.TextContent(text=KEY_ADVICE))
        return t.CallToolResult(
            content=content, structured_content=orjson.loads(answer.body), _meta=self._named(told) if told else None
        )

    def _named(self, told: dict[str, Any]) -> dict[str, Any]:
        """What stands beside a record, under names of ours (MCP, `_meta`: prefix and name)."""
        return {f"{self.brand}/{name}": value for name, value in told.items()}


def tool_of(op: Operation, keyless: bool) -> t.Tool:
    """The tool as it is listed; `keyless`: to a connection that carries no credential."""
    codes = ", ".join(sorted({error.code for error in op.errors}))
    return t.Tool(
        name=op.name,
        title=op.title,
        description=f"{op.description}\n\nErrors: {codes}." if codes else op.description,
        input_schema=listed_schema(op, keyless),
        output_schema=output_schema(op),
        annotations=t.ToolAnnotations(
            read_only_hint=op.safe,
            destructive_hint=op.destructive,
            idempotent_hint=op.idempotent,
            open_world_hint=op.open_world,
        ),
    )
