"""Operations as agents find them: what each is for, and what it takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.records.base import Json, Page
from tools.records.words import Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation: an MCP tool, an A2A skill and a route of that name."""

    object: Literal["tool"] = "tool"
    name: Annotated[str, Field(description="of the MCP tool and the A2A skill")]
    title: Ours[str]
    toolset: str
    summary: Ours[str]
    description: Ours[str]
    auth: Annotated[Literal["none", "optional", "key", "signed"], Field(description="key: or a signed request")]
    read_only: bool
    surfaces: Annotated[list[str], Field(description="mcp, a2a, rest: where it can be called")]
    method: str
    path: str
    input_schema: Annotated[Ours[dict[str, Json]], Field(description="JSON Schema of its arguments")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage(Page[Tool]):
    """What was found, the best first."""
