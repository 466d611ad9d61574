"""Batches of a timed step: a bounded number of due rows in one unit of work, in the order in which they fell due."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

import structlog

from tools.context import Context
from tools.ports import Env

BATCH = 50
Place = tuple[datetime, str]  # the due time and the id a batch ended with

log = structlog.get_logger("emporion.steps")


class Due(Protocol):
    """A row with an id, in an environment."""

    @property
    def id(self) -> str: ...
    @property
    def env(self) -> str: ...


Row = TypeVar("Row", bound=Due)


def each_alone(
    ctx: Context, rows: Sequence[Row], do: Callable[[Context, Row], int], due_at: Callable[[Row], datetime | None]
) -> tuple[int, Place | None]:
    """Do it to each row: what was done in all, and where the next batch begins (None: no more are due).

    A row it fails on is undone alone and logged; the rest go on.
    """
    done = 0
    for row in rows:
        with ctx.tx.alone() as kept:
            done += do(replace(ctx, env=Env(row.env)), row)
        if kept.error is not None:
            log.error("a row failed", step=do.__name__, id=row.id, error=repr(kept.error))
    last = due_at(rows[-1]) if len(rows) == BATCH else None
    return done, None if last is None else (last, rows[-1].id)
