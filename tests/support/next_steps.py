"""Checks that each next step, action and example order in an answer can be followed."""

from collections.abc import Iterator
from typing import Any

from rest.routes import Router
from tools.catalogue import CATALOGUE
from tools.engine.arguments import read_arguments

ACTIONS = {op.action for op in CATALOGUE.values() if op.action}
WRITTEN = ("input", "output", "output_preview", "metadata", "payload", "value", "data")  # by agents, if it is an object


def check_steps(record: Any) -> None:
    """Check each next step, action and example order; raises AssertionError.

    Placeholders in <…> are allowed.
    """
    for name, value in _members(record):
        if name == "next_steps" and isinstance(value, list):
            for step in value:
                _check(step)
        elif name == "available_actions" and isinstance(value, list):
            assert set(value) <= ACTIONS, value
        elif name in ("how_to_order", "how_to_propose") and isinstance(value, dict):
            _leads(value["method"], value["path"], value["body_example"])


def _check(step: dict[str, Any]) -> None:
    name, given = step.get("tool"), step.get("arguments") or {}
    if name is None:
        return
    op = CATALOGUE[name]
    fields = op.input.model_fields
    needed = {one for one, field in fields.items() if field.is_required()}
    assert needed <= given.keys() <= fields.keys(), f"{name} takes {sorted(fields)}, the step says {given}"
    assert (step["method"], step["action"]) == (op.method, op.action or name), step
    assert "<" in step["path"] or Router([op]).find(_parts(step["path"])), step
    if not any(isinstance(one, str) and one.startswith("<") for one in given.values()):
        read_arguments(op.input, given)


def _leads(method: str, path: str, body: dict[str, Any]) -> None:
    (op,) = [one for one in CATALOGUE.values() if one.method == method and Router([one]).find(_parts(path))]
    assert body.keys() <= op.input.model_fields.keys(), (path, body)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").split("/"))


def _members(record: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of a record, except those inside objects that agents wrote."""
    if isinstance(record, dict):
        for name, value in record.items():
            if name not in WRITTEN or not isinstance(value, dict):
                yield name, value
                yield from _members(value)
    elif isinstance(record, list):
        for value in record:
            yield from _members(value)
