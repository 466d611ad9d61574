"""What a tool call is answered with over MCP, from a record to a model's text, and as the SDK's runner frames it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mcp_types as t
import orjson
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from protocol.brief import in_brief
from protocol.fence import Fences, places_in
from protocol.mcp_resources import link_to
from tools.errors.base import Json
from tools.registry import Operation

METHOD, COMPLETE = "tools/call", "complete"
KEPT, MOST_BYTES = 2_048, 4 * 1024  # records that are kept as they were told, and of each so much


@dataclass(frozen=True, slots=True)
class Told:
    """A record as a model reads it, which is the same for whoever is answered with it. `body` is its JSON, brief or full."""

    text: str
    record: dict[str, Json]
    body: bytes
    untrusted: tuple[str, ...]
    left_out: tuple[str, ...]
    links: tuple[t.ResourceLink, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a call. Errors carry no record: published clients hold it against the output schema and throw."""

    texts: tuple[str, ...]
    meta: dict[str, Any] | None = None
    told: Told | None = None

    @property
    def is_error(self) -> bool:
        return self.told is None

    def result(self) -> t.CallToolResult:
        """The same as the SDK takes it."""
        texts = [t.TextContent(text=text) for text in self.texts]
        links = [] if self.told is None else self.told.links
        content: list[t.ContentBlock] = [*texts[:1], *links, *texts[1:]]
        record = None if self.told is None else self.told.record
        return t.CallToolResult(content=content, structured_content=record, is_error=self.is_error, _meta=self.meta)

    def framed(self, version: str, identity: Mapping[str, Any]) -> bytes:
        """Its JSON in this version of the protocol. `identity`: what the server says of itself where results carry it."""
        modern = version in MODERN_PROTOCOL_VERSIONS
        frame = self._linked(version) if self.told is not None and self.told.links else self._plain(modern)
        if self.told is not None:
            frame["structuredContent"] = orjson.Fragment(self.told.body)
        if modern:
            frame["_meta"] = {**frame.get("_meta", {}), SERVER_INFO_META_KEY: identity}
        return orjson.dumps(frame)

    def _plain(self, modern: bool) -> dict[str, Any]:
        """Of texts alone, which every version writes alike."""
        frame: dict[str, Any] = {
            "content": [{"type": "text", "text": text} for text in self.texts],
            "isError": self.is_error,
        }
        if modern:
            frame["resultType"] = COMPLETE
        return frame if self.meta is None else {**frame, "_meta": self.meta}

    def _linked(self, version: str) -> dict[str, Any]:
        said = self.result().model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"structured_content"})
        return serialize_server_result(METHOD, version, said)


class Telling:
    """Makes records into texts. What was told last is kept: agents read the same listings."""

    def __init__(self, fences: Fences) -> None:
        self.fences, self._kept = fences, lru_cache(KEPT)(self._told)

    def tell(self, op: Operation, body: bytes, detail: str | None) -> Told:
        """The record `body` that this operation answered, as it was asked to be told."""
        return self._kept(op, body, detail) if len(body) <= MOST_BYTES else self._told(op, body, detail)

    def _told(self, op: Operation, body: bytes, detail: str | None) -> Told:
        brief = in_brief(op, body, detail)
        shown = self.fences.show(brief.body, brief.record, places_in(op, brief.record))
        links = tuple(map(link_to, brief.uris))
        return Told(shown.text, brief.record, brief.body, shown.untrusted, brief.left_out, links)
