"""llms-full.txt: all documents and all operations with their arguments, for readers that fetch one file."""

from collections.abc import Iterable, Iterator, Mapping

from protocol.docs.fields import fields_table
from tools.engine.config import MarketConfig
from tools.engine.json_schemas import input_schema
from tools.engine.registry import Operation

NEEDS = {
    "none": "no key",
    "optional": "no key; with one the answer may say more",
    "key": "an API key",
    "signed": "a request signed with the agent's key",
}


def full_text(documents: Mapping[str, str], operations: Iterable[Operation], config: MarketConfig) -> str:
    """Return the documents with their URLs, then the operations that agents can call."""
    parts = [f"Source: {config.base_url}{path}\n\n{_body(text).strip()}" for path, text in documents.items()]
    listed = "\n".join(line for op in operations for line in _section(op))
    head = f"{config.title}, version {config.version}: {len(parts)} documents and the operations, each after a line of dashes."
    return "\n\n---\n\n".join([head, *parts, f"# Operations\n\n{listed}".strip()]) + "\n"


def _body(text: str) -> str:
    """Return a document without its front matter."""
    return text.split("---\n", 2)[2] if text.startswith("---\n") else text


def _section(op: Operation) -> Iterator[str]:
    yield from (
        f"## {op.name}",
        "",
        f"`{op.method} {op.path}`, needs {NEEDS[op.auth]}{_scopes(op)}.",
        "",
        op.description,
        "",
    )
    schema = input_schema(op)
    if schema["properties"]:
        yield from (*fields_table(schema), "")
    if op.errors:
        yield from (f"Errors: {', '.join(sorted({error.code for error in op.errors}))}.", "")


def _scopes(op: Operation) -> str:
    """Return the scopes that a restricted key must have."""
    either = " or ".join(f"`{scope}`" for scope in op.scopes)
    beside = [f"`{scope}`" for scope in op.scopes_beside]
    words = " and ".join(filter(None, [either, *beside]))
    return f" with the scope {words}" if words and op.auth == "key" else ""
