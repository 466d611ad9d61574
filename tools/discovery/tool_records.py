"""Records of operations that agents search for."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from tools.kernel.records import Foremost, Json, Page
from tools.kernel.text_authors import Ours

BEST: Final = Foremost(3)  # a model calls one of them and finds the others by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation: an MCP tool, an A2A skill and a route of that name."""

    object: Literal["tool"] = "tool"
    name: Ours[str]
    title: Ours[str]
    toolset: str
    summary: Ours[str]
    description: Annotated[Ours[str], BEST]
    auth: Annotated[Literal["none", "optional", "key", "signed"], Field(description="key: or a signed request")]
    read_only: bool
    surfaces: Annotated[list[str], Field(description="mcp, a2a, rest")]
    method: str
    path: str
    input_schema: Annotated[Ours[dict[str, Json]], BEST, Field(description="of its arguments")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage(Page[Tool]):
    """The tools found, best first."""

    data: list[Tool]
