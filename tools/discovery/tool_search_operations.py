"""Search for the market's operations by purpose."""

from functools import cache
from typing import Annotated, Any

from pydantic import Field

from tools.discovery.tool_records import Tool, ToolPage
from tools.discovery.tool_search import Told, found, told
from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidRequest
from tools.engine.json_schemas import input_schema
from tools.engine.registry import CATALOGUE, TOOLSETS, Operation, operation

MOST = 20


class FindTools(Arguments):
    query: str | None = Field(
        None, min_length=1, max_length=200, description="what you want to do, in a few English words; or a tool's name"
    )
    toolset: Annotated[str, Field(max_length=32, json_schema_extra={"enum": list(TOOLSETS)})] | None = Field(
        None, description="only of this toolset"
    )
    limit: int = Field(5, ge=1, le=MOST, description="how many, 1-20")


@operation(
    "GET /v1/tools",
    auth="none",
    toolset="market",
    cache_seconds=60,
    examples=({"query": "give a payment back"},),
)
async def find_tools(_: ReadContext, asked: FindTools) -> ToolPage:
    """Find the tool for what you want to do, with its description and input schema.

    In a brief answer only the best three have both: search for another by its name.

    tools/list shows only the common ones. Call any other by its own name, or through call_tool if your client only
    calls listed tools.
    """
    if asked.toolset is not None and asked.toolset not in TOOLSETS:
        hint = f"Toolsets: {', '.join(TOOLSETS)}."
        raise InvalidRequest(f"toolset: there is no {asked.toolset}", param="toolset", hint=hint)
    names = found(asked.query, _told()) if asked.query else list(_offered())
    kept = [op for op in map(_offered().__getitem__, names) if asked.toolset in (None, op.toolset)]
    return ToolPage(
        data=[_tool(op) for op in kept[: asked.limit]],
        has_more=len(kept) > asked.limit,
        next_cursor=None,
        hint=None if kept else f"No tool is for that. Toolsets: {', '.join(TOOLSETS)}.",
    )


@cache
def _offered() -> dict[str, Operation]:
    return {op.name: op for op in CATALOGUE.values() if op.auth != "admin"}


@cache
def _told() -> tuple[Told, ...]:
    return tuple(told(op.name, op.toolset, op.summary, op.description) for op in _offered().values())


def _tool(op: Operation) -> Tool:
    auth: Any = op.auth
    return Tool(
        name=op.name,
        title=op.title,
        toolset=op.toolset,
        summary=op.summary,
        description=op.description,
        auth=auth,
        read_only=op.safe,
        surfaces=sorted(op.surfaces),
        method=op.method,
        path=op.path,
        input_schema=input_schema(op),
    )
