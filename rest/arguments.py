"""Converts a request's path, query and body to the arguments of an operation."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from tools.engine.errors import InvalidRequest, MalformedJson
from tools.engine.registry import Operation
from tools.kernel.errors import Json
from tools.kernel.strict_json import BadJson, parse

INTEGER = re.compile(r"-?[0-9]{1,18}")
MAX_FIELDS = 50
WORDS = {"true": True, "false": False}
DRY_RUN = "dry_run"


def arguments_of(op: Operation, path: dict[str, str], query: bytes, body: bytes) -> dict[str, Json]:
    """Return a request's arguments as one object.

    Unknown names are kept, so that Market.call can refuse them by name.
    """
    sent = _sent(op, query, body)
    both = sorted(set(sent) & set(path))
    if both:
        raise InvalidRequest(f"{both[0]} stands in the path already", param=both[0])
    kinds = _kinds(op)
    return {**sent, **{name: kinds.get(name, str)(value) for name, value in path.items()}}


def _sent(op: Operation, query: bytes, body: bytes) -> dict[str, Json]:
    if op.method in ("GET", "HEAD"):
        return _from_query(op, query)
    if op.body_argument is None:
        return _from_body(body)
    beside = _from_query(op, query)
    if op.body_argument in beside:
        raise InvalidRequest(f"{op.body_argument}: is the body, not a query parameter", param=op.body_argument)
    return {**beside, op.body_argument: _from_body(body)}


def is_dry_run(op: Operation, query: bytes) -> bool:
    """Check whether a writing call has ?dry_run=true.

    Any other query is refused if the arguments are sent in the body.
    """
    if not query or op.method in ("GET", "HEAD") or op.body_argument is not None:
        return False
    name, _, value = query.decode("latin-1").partition("=")
    if op.safe or name != DRY_RUN:
        hint = op.input.hints.get(name, "Send arguments in the JSON body.")
        raise InvalidRequest(f"{name[:64]}: unknown query parameter", param=name[:64], hint=hint)
    if value not in WORDS:
        raise InvalidRequest(f"{DRY_RUN}: must be true or false", param=DRY_RUN)
    return WORDS[value]


def _from_body(body: bytes) -> dict[str, Json]:
    if not body.strip():
        return {}
    try:
        parsed = parse(body)
    except BadJson as bad:
        raise MalformedJson(str(bad), param=bad.path or None) from None
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise InvalidRequest("the body must be a JSON object", param="body")
    return parsed


def _from_query(op: Operation, query: bytes) -> dict[str, Json]:
    if not query:
        return {}
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidRequest("the query string is not valid percent-encoded UTF-8", param="query") from None
    kinds, found = _kinds(op), dict[str, Json]()
    for name, value in pairs:
        if name in found:
            raise InvalidRequest(
                f"{name} is given twice", param=name[:64], hint="Send it once; a list is written with commas."
            )
        found[name] = kinds.get(name, str)(value)
    return found


@cache
def _kinds(op: Operation) -> dict[str, Callable[[str], Any]]:
    """Return how to convert each argument's text, by the types that its schema allows."""
    properties = op.input.model_json_schema()["properties"]
    return {name: _reader(schema) for name, schema in properties.items()}


def _reader(schema: dict[str, Any]) -> Callable[[str], Any]:
    allowed = {part.get("type") for part in schema.get("anyOf", [schema])}
    if "integer" in allowed:
        return lambda text: int(text) if INTEGER.fullmatch(text) else text
    if "boolean" in allowed:
        return lambda text: WORDS.get(text, text)
    if "array" in allowed:
        return lambda text: [part.strip() for part in text.split(",") if part.strip()]
    return str
