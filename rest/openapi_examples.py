"""The examples of openapi.json: one recorded call of each operation, from examples.json.

tests/support/recorded_examples.py writes the file.
"""

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from tools.engine.json_schemas import Schema
from tools.engine.registry import Operation

FILE = Path(__file__).with_name("examples.json")


@cache
def recorded() -> dict[str, Any]:
    """Return the arguments and the answer of each recorded call, by operation."""
    found: dict[str, Any] = orjson.loads(FILE.read_bytes())
    return found


def body_examples(op: Operation) -> Schema:
    """Return the member `examples` of a body.

    The examples that the registry declares replace the recorded one.
    """
    called = recorded().get(op.name)
    sent = op.examples or ([called["arguments"]] if called else [])
    bodies = [
        one.get(op.body_argument)
        if op.body_argument is not None
        else {name: value for name, value in one.items() if name not in op.path_names}
        for one in sent
    ]
    named = {f"example{at}": {"value": body} for at, body in enumerate(bodies, 1)}
    return {"examples": named} if named else {}


def answer_example(name: str) -> Schema:
    """Return the member `example` of an answer."""
    called = recorded().get(name)
    return {"example": called["answer"]} if called else {}
