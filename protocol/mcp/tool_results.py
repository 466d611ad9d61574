"""Results of tool calls over MCP: a record becomes text for a model."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import mcp_types as t
import orjson

from protocol.brief import in_brief
from protocol.mcp.resources import link_to
from protocol.mcp.wording import Wording
from protocol.untrusted_markers import UntrustedMarkers, places_in, places_in_error
from tools.engine.idempotency import Response
from tools.engine.registry import Operation
from tools.kernel.errors import Json

KEPT, MAX_BYTES = 1_024, 4 * 1024  # cached results, and the maximum size of a record in bytes


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: a record as a model reads it, brief or full, with its JSON in `body`.

    Errors carry no record, because published clients validate it against the output schema and throw.
    """

    texts: tuple[str, ...]
    meta: dict[str, Any] | None = None
    record: dict[str, Json] | None = None
    body: bytes = b""
    links: tuple[t.ResourceLink, ...] = ()
    # the fast path's JSON, by protocol version
    frames: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_error(self) -> bool:
        return self.record is None

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
        shown = self.fences.show(told, record, places_in(op, record), caller)
        links = tuple(link_to(place, wording) for place in brief.uris)
        beside = self.named(untrusted=shown.untrusted, left_out=brief.left_out)
        return ToolResult((shown.text,), beside or None, record, told, links)
