"""Batches for workers: a bounded number of due rows in one unit of work, in the order of their due times."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

import structlog

from storage.vocabulary import Env
from tools.engine.context import TxContext

BATCH = 50
Place = tuple[datetime, str]  # the due time and the id of a batch's last row

log = structlog.get_logger("emporion.steps")


class Due(Protocol):
    """A row with an id, in an environment."""

    @property
    def id(self) -> str: ...
    @property
    def env(self) -> str: ...


Row = TypeVar("Row", bound=Due)


def each_alone(
    ctx: TxContext, rows: Sequence[Row], do: Callable[[TxContext, Row], int], due_at: Callable[[Row], datetime | None]
) -> tuple[int, Place | None]:
    """Call `do` for each row; return the sum of its results and where the next batch begins.

    The second value is None if no more rows are due. If a row fails, only its changes are undone and the error is
    logged.
    """
    done = 0
    for row in rows:
        with ctx.tx.alone() as kept:
            done += do(replace(ctx, env=Env(row.env)), row)
        if kept.error is not None:
            log.error("a row failed", step=do.__name__, id=row.id, error=repr(kept.error))
    last = due_at(rows[-1]) if len(rows) == BATCH else None
    return done, None if last is None else (last, rows[-1].id)
