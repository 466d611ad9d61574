"""Dry runs: an operation runs and its answer is made; then its unit of work is rolled back.

The answer shows no secret, and nothing that only the real call may reveal: a dry run costs nothing and leaves no trace.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

from storage.store import Store
from storage.transaction import Tx
from tools.engine.idempotency import Response
from tools.kernel.records import REVEALED, SHOWN_ONCE

NOT_MADE = "not made in a dry run"


class DryRunRollback(Exception):
    """Raised to roll back the unit of work of a dry run; it carries the answer."""

    def __init__(self, answer: Response) -> None:
        super().__init__("a dry run")
        self.answer = answer


async def rolled_back(store: Store, unit: Callable[[Tx], Response], name: str) -> Response:
    """Run a unit of work, roll it back and return its response."""

    def run(tx: Tx) -> None:
        raise DryRunRollback(replace(unit(tx), dry_run=True))

    try:
        await store.write(run, name)
    except DryRunRollback as done:
        return done.answer
    raise AssertionError("a dry run was committed")


def without_secrets(record: Any) -> Any:
    """Replace secrets by a placeholder, and leave out what only the real call may reveal."""
    if isinstance(record, list):
        return [without_secrets(one) for one in record]
    if not is_dataclass(record) or isinstance(record, type):
        return record
    hidden = hidden_in(type(record))
    changed = {
        one.name: hidden[one.name] if one.name in hidden else without_secrets(getattr(record, one.name))
        for one in fields(record)
        if one.init
    }
    return replace(record, **changed)


@cache
def hidden_in(kind: type) -> dict[str, str | None]:
    """Return what a dry run shows in place of a record's hidden fields."""
    hints = get_type_hints(kind, include_extras=True)
    marks = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    secret = {name: NOT_MADE for name, found in marks.items() if SHOWN_ONCE in found}
    return {name: None for name, found in marks.items() if REVEALED in found} | secret
