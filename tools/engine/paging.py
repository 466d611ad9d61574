"""Pagination: a cursor is valid only for the operation, environment, filters and owner it was made for."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tools.engine.arguments import Arguments, Listed
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidCursor
from tools.kernel.cursors import BadCursor, cursor_key, read_cursor, write_cursor
from tools.kernel.errors import Json
from tools.kernel.records import encode

T = TypeVar("T")
R = TypeVar("R")
MAX_PAGE = 1_048_576  # bytes; a page ends before the record that would exceed it


def as_many_as_fit(records: Iterable[T]) -> list[T]:
    """Return the records that fit within MAX_PAGE bytes, at least one."""
    page, size = list[T](), 0
    for record in records:
        size += len(encode(record))
        if page and size > MAX_PAGE:
            break
        page.append(record)
    return page


def page(
    ctx: TxContext | ReadContext,
    operation: str,
    asked: Listed,
    rows_after: Callable[[Any, int], Sequence[R]],
    to_records: Callable[[Sequence[R]], Iterable[T]],
    place_of_row: Callable[[R], Json],
    *,
    first: Json = None,
    owner: str | None = None,
) -> dict[str, Any]:
    """Return `data`, `has_more` and `next_cursor` of one page of a list.

    `rows_after(place, most)` reads the rows behind a place; the first page begins at `first`. `to_records` makes one
    record for each row. A page ends early if its records exceed MAX_PAGE bytes. Raises InvalidCursor.
    """
    place = place_of(ctx, operation, asked, asked.cursor, owner)
    rows = rows_after(first if place is None else place, asked.limit + 1)
    data = as_many_as_fit(to_records(rows[: asked.limit]))
    more = len(rows) > len(data)
    last = place_of_row(rows[len(data) - 1]) if more else None
    return {
        "data": data,
        "has_more": more,
        "next_cursor": cursor_to(ctx, operation, asked, last, owner) if more else None,
    }


def place_of(
    ctx: TxContext | ReadContext, operation: str, asked: Arguments, cursor: str | None, owner: str | None = None
) -> Json:
    """Return where the page begins; None for the first page.

    Raises InvalidCursor for a cursor of another list or, with `owner`, of another agent.
    """
    if cursor is None:
        return None
    try:
        return read_cursor(cursor_key(ctx.config.pepper), _scope(ctx, operation, asked, owner), cursor)
    except BadCursor as bad:
        raise InvalidCursor(f"cursor: {bad}", param="cursor") from None


def cursor_to(
    ctx: TxContext | ReadContext, operation: str, asked: Arguments, place: Json, owner: str | None = None
) -> str:
    return write_cursor(cursor_key(ctx.config.pepper), _scope(ctx, operation, asked, owner), place)


def _scope(ctx: TxContext | ReadContext, operation: str, asked: Arguments, owner: str | None) -> Json:
    filters = asked.model_dump(mode="json", exclude={"cursor", "limit", "wait_seconds", "detail"})
    return [operation, ctx.env.value, owner, filters]


def seen_since(now: datetime, seconds: int | None) -> datetime | None:
    """Return the time since which an agent must have made a call; None if any agent will do."""
    return None if seconds is None else now - timedelta(seconds=seconds)
