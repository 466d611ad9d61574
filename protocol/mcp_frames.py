"""Results of tools/call as the SDK's runner frames them, without walking again what is JSON already."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp_types import SERVER_INFO_META_KEY, CallToolResult, TextContent
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

METHOD = "tools/call"


def framed(result: CallToolResult, version: str, identity: Mapping[str, Any]) -> bytes:
    """The JSON of a result in this version; `identity`: what the server says of itself where results carry it."""
    modern = version in MODERN_PROTOCOL_VERSIONS
    frame = _plain(result, modern) or _serialized(result, version)
    if result.structured_content is not None:
        frame["structuredContent"] = result.structured_content
    if modern:
        frame["_meta"] = {**frame.get("_meta", {}), SERVER_INFO_META_KEY: identity}
    return orjson.dumps(frame)


def _plain(result: CallToolResult, modern: bool) -> dict[str, Any] | None:
    """The frame of a result that is texts and nothing else, as nearly all are: every version writes these alike."""
    texts = []
    for part in result.content:
        if type(part) is not TextContent or part.annotations is not None or part.meta is not None:
            return None
        texts.append({"type": "text", "text": part.text})
    frame: dict[str, Any] = {} if result.meta is None else {"_meta": result.meta}
    if modern:
        frame["resultType"] = result.result_type
    return {**frame, "content": texts, "isError": result.is_error}


def _serialized(result: CallToolResult, version: str) -> dict[str, Any]:
    said = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"structured_content"})
    return serialize_server_result(METHOD, version, said)
