"""Dry runs: an operation runs whole, its answer is made, and then everything it wrote is undone. Secrets are left out of it."""

from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

from storage.unit import Tx
from tools.answers import Answer
from tools.records.base import SHOWN_ONCE

NOT_MADE = "not made in a dry run"


class Rehearsed(Exception):
    """Ends the unit of work of a dry run, so that its store undoes it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("a dry run")
        self.answer = answer


def rehearse(tx: Tx, unit: Any) -> None:
    raise Rehearsed(replace(unit(tx), rehearsed=True))


def without_secrets(record: Any) -> Any:
    """The record with words in the place of what would be shown once."""
    if not is_dataclass(record) or isinstance(record, type):
        return record
    secret = secrets_of(type(record))
    changed = {
        one.name: NOT_MADE if one.name in secret else without_secrets(getattr(record, one.name))
        for one in fields(record)
        if one.init
    }
    return replace(record, **changed)


@cache
def secrets_of(kind: type) -> frozenset[str]:
    """The fields of a record that hold what is shown once."""
    hints = get_type_hints(kind, include_extras=True)
    return frozenset(name for name, hint in hints.items() if SHOWN_ONCE in getattr(hint, "__metadata__", ()))
