"""What a tool call is answered with over MCP, from a record to a model's text, and as the SDK's runner frames it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import mcp_types as t
import orjson
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from protocol.brief import in_brief
from protocol.fence import Fences, places_in, places_in_error
from protocol.mcp_resources import link_to
from tools.answers import Answer
from tools.errors.base import Json
from tools.registry import Operation

METHOD, COMPLETE = "tools/call", "complete"
KEPT, MOST_BYTES = 1_024, 4 * 1024  # results that are kept as they were said, and of each record so much


@dataclass(frozen=True, slots=True)
class Told:
    """A record as a model reads it. `body` is its JSON, brief or full."""

    record: dict[str, Json]
    body: bytes
    links: tuple[t.ResourceLink, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a call. Errors carry no record: published clients hold it against the output schema and throw."""

    texts: tuple[str, ...]
    meta: dict[str, Any] | None = None
    told: Told | None = None
    frames: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)  # by version, as they were made

    @property
    def is_error(self) -> bool:
        return self.told is None

    def with_more(self, texts: tuple[str, ...], beside: dict[str, Any]) -> "Said":
        """The same, and what is said of this call alone."""
        return Said((*self.texts, *texts), {**(self.meta or {}), **beside}, self.told)

    def result(self) -> t.CallToolResult:
        """The same as the SDK takes it."""
        texts = [t.TextContent(text=text) for text in self.texts]
        links = [] if self.told is None else self.told.links
        content: list[t.ContentBlock] = [*texts[:1], *links, *texts[1:]]
        record = None if self.told is None else self.told.record
        return t.CallToolResult(content=content, structured_content=record, is_error=self.is_error, _meta=self.meta)

    def framed(self, version: str, identity: Mapping[str, Any]) -> bytes:
        """Its JSON in this version of the protocol. `identity`: what the server says of itself where results carry it."""
        frame = self.frames.get(version)
        if frame is None:
            frame = self.frames[version] = orjson.dumps(self._frame(version, identity))
        return frame

    def _frame(self, version: str, identity: Mapping[str, Any]) -> dict[str, Any]:
        modern = version in MODERN_PROTOCOL_VERSIONS
        frame = self._linked(version) if self.told is not None and self.told.links else self._plain(modern)
        if self.told is not None:
            frame["structuredContent"] = orjson.Fragment(self.told.body)
        if modern:
            frame["_meta"] = {**frame.get("_meta", {}), SERVER_INFO_META_KEY: identity}
        return frame

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
    """Makes records into results. What was said last is kept: agents read the same listings."""

    def __init__(self, fences: Fences, brand: str) -> None:
        self.fences, self.brand, self._kept = fences, brand, lru_cache(KEPT)(self._told)

    def tell(self, op: Operation, body: bytes, detail: str | None) -> Said:
        """The record `body` that this operation answered, as it was asked to be told; the same for whoever is answered with it."""
        kept = len(body) <= MOST_BYTES and not op.shows_secrets
        return self._kept(op, body, detail) if kept else self._told(op, body, detail)

    def refuse(self, answer: Answer) -> Said:
        shown = self.fences.show(answer.body, orjson.loads(answer.body), places_in_error(answer.refusal))
        return Said((shown.text,), self.named(error=answer.error, untrusted=shown.untrusted))

    def named(self, **beside: Any) -> dict[str, Any]:
        """What stands beside a record, under names of ours (MCP, `_meta`: prefix and name); places are JSON Pointers."""
        told = {name: [*value] if isinstance(value, tuple) else value for name, value in beside.items() if value != ()}
        return {f"{self.brand}/{name}": value for name, value in told.items()}

    def _told(self, op: Operation, body: bytes, detail: str | None) -> Said:
        brief = in_brief(op, body, detail)
        shown = self.fences.show(brief.body, brief.record, places_in(op, brief.record))
        links = tuple(map(link_to, brief.uris))
        beside = self.named(untrusted=shown.untrusted, left_out=brief.left_out)
        return Said((shown.text,), beside or None, Told(brief.record, brief.body, links))
