"""Pagination: a cursor is valid only for the operation, environment, filters and owner it was made for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, TypeVar

from storage.query import Query
from tools.engine.arguments import Listed
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
    ctx: TxContext,
    asked: Listed,
    rows_of: Query[R] | Callable[[Any, int], Sequence[R]],
    to_records: Callable[[Sequence[R]], Iterable[T]],
    *,
    first: Json = None,
    key: Callable[[R], Json] = attrgetter("id"),
    at: str = "before",
    public: bool = False,
    where: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return `data`, `has_more` and `next_cursor` of one page of a list.

    `rows_of` is a query that takes `where`, a limit and the place `at` which the page begins, or a function of the place
    and the limit. The first page begins at `first`, and `key` is the place of a row. `to_records` makes one record for
    each row. A page ends early if its records exceed MAX_PAGE bytes. Unless it is `public`, a cursor is valid for its
    agent only. Raises InvalidCursor.
    """
    owner = None if public else ctx.agent
    place, most = place_of(ctx, asked, owner), asked.limit + 1
    place = first if place is None else place
    if isinstance(rows_of, Query):
        rows: Sequence[R] = ctx.tx.all(rows_of, **(where or {}), **{at: place}, limit=most)
    else:
        rows = rows_of(place, most)
    data = as_many_as_fit(to_records(rows[: asked.limit]))
    more = len(rows) > len(data)
    cursor = cursor_to(ctx, asked, key(rows[len(data) - 1]), owner) if more else None
    return {"data": data, "has_more": more, "next_cursor": cursor}


def place_of(ctx: TxContext | ReadContext, asked: Listed, owner: str | None = None) -> Json:
    """Return where the page begins; None for the first page.

    Raises InvalidCursor for a cursor of another list or, with `owner`, of another agent.
    """
    if asked.cursor is None:
        return None
    try:
        return read_cursor(cursor_key(ctx.config.pepper), _scope(ctx, asked, owner), asked.cursor)
    except BadCursor as bad:
        raise InvalidCursor(f"cursor: {bad}", param="cursor") from None


def cursor_to(ctx: TxContext | ReadContext, asked: Listed, place: Json, owner: str | None = None) -> str:
    return write_cursor(cursor_key(ctx.config.pepper), _scope(ctx, asked, owner), place)


def _scope(ctx: TxContext | ReadContext, asked: Listed, owner: str | None) -> Json:
    filters = asked.model_dump(mode="json", exclude={"cursor", "limit", "wait_seconds", "detail"})
    return [ctx.operation, ctx.env.value, owner, filters]


def seen_since(now: datetime, seconds: int | None) -> datetime | None:
    """Return the time since which an agent must have made a call; None if any agent will do."""
    return None if seconds is None else now - timedelta(seconds=seconds)
