"""Every next step a test reads is a call: a registered tool, all it needs, nothing it does not take, values it would take."""

from collections.abc import Iterator
from typing import Any

from tools.arguments import read_arguments
from tools.catalogue import CATALOGUE


def check_steps(record: Any) -> None:
    """AssertionError for a step that could not be followed as it stands, save for what is in <…>."""
    for step in _steps(record):
        name, given = step.get("tool"), step.get("arguments") or {}
        if name is None:
            continue
        fields = CATALOGUE[name].input.model_fields
        needed = {one for one, field in fields.items() if field.is_required()}
        assert needed <= given.keys() <= fields.keys(), f"{name} takes {sorted(fields)}, the step says {given}"
        if not any(isinstance(one, str) and one.startswith("<") for one in given.values()):
            read_arguments(CATALOGUE[name].input, given)


def _steps(record: Any) -> Iterator[Any]:
    if isinstance(record, dict):
        yield from record.get("next_steps") or () if isinstance(record.get("next_steps"), list) else ()
        for value in record.values():
            yield from _steps(value)
    elif isinstance(record, list):
        for value in record:
            yield from _steps(value)
