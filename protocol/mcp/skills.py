"""The market's skill over MCP (the extension io.modelcontextprotocol/skills, SEP-2640): listed, read and verified.

Hosts of modern protocol versions load it before they call tools. Older sessions read the same files as resources.
"""

from typing import Any

import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from protocol.discovery.skills import MARKDOWN, File, Skill
from protocol.mcp.request import Request

EXTENSION = "io.modelcontextprotocol/skills"
TTL_MS = 300_000


class ListParams(t.RequestParams):
    """The parameters of skills/list; every skill is on the first page."""

    cursor: str | None = Field(None, max_length=1000)


class GetParams(t.RequestParams):
    """The parameters of skills/get."""

    uri: str = Field(max_length=1000)


class Skills:
    """The methods of the extension, and the skill's files as resources."""

    def __init__(self, skill: Skill) -> None:
        self.skill = skill

    def install(self, server: Server[Any]) -> None:
        """Add the two methods, and declare the extension."""
        server.extensions[EXTENSION] = {}
        server.add_request_handler("skills/list", ListParams, self._list)
        server.add_request_handler("skills/get", GetParams, self._get)

    async def _list(self, request: Request, asked: ListParams) -> dict[str, Any]:
        _require_modern(request)
        if asked.cursor is not None:
            raise MCPError(t.INVALID_PARAMS, "Invalid cursor")
        return _complete(skills=[self.skill.entry()])

    async def _get(self, request: Request, asked: GetParams) -> dict[str, Any]:
        _require_modern(request)
        if asked.uri != self.skill.main.uri:
            raise MCPError(t.INVALID_PARAMS, "Skill not found", data={"uri": asked.uri})
        return _complete(skill=self.skill.entry())

    def resources(self) -> list[t.Resource]:
        """Return the files for the list of resources; SKILL.md has the name of the skill."""
        return [self._resource(file) for file in self.skill.files]

    def _resource(self, file: File) -> t.Resource:
        name, about = file.path, f"A reference of the skill {self.skill.frontmatter['name']}."
        if file is self.skill.main:
            name, about = self.skill.frontmatter["name"], self.skill.frontmatter["description"]
        return t.Resource(uri=file.uri, name=name, description=about, mime_type=MARKDOWN, size=len(file.body))

    def read(self, uri: str) -> t.ReadResourceResult | None:
        """Return a file of the skill; None for another URI."""
        file = next((one for one in self.skill.files if one.uri == uri), None)
        if file is None:
            return None
        content = t.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=file.body.decode())
        return t.ReadResourceResult(contents=[content])


def _require_modern(request: Request) -> None:
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(t.METHOD_NOT_FOUND, "Method not found", data=request.method)


def _complete(**found: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": TTL_MS, "cacheScope": "public", **found}
