"""Pages: cursors bound to who asks for what."""

from collections.abc import Iterable
from typing import TypeVar

from tools.arguments import Arguments
from tools.context import Context, Outside
from tools.errors import InvalidCursor
from tools.errors.base import Json
from tools.records.base import encode
from tools.rules.cursors import BadCursor, cursor_key, read_cursor, write_cursor

T = TypeVar("T")
MOST_PAGE = 1_048_576  # bytes; a page ends early rather than grow beyond it


def filled(records: Iterable[T]) -> list[T]:
    """As many records as one page takes, at least one: each may be large."""
    page, size = list[T](), 0
    for record in records:
        size += len(encode(record))
        if page and size > MOST_PAGE:
            break
        page.append(record)
    return page


def place_of(
    ctx: Context | Outside, operation: str, asked: Arguments, cursor: str | None, owner: str | None = None
) -> Json:
    """Where the page begins; None for the first. InvalidCursor for another list's or, with `owner`, another agent's cursor."""
    if cursor is None:
        return None
    try:
        return read_cursor(cursor_key(ctx.house.pepper), _scope(ctx, operation, asked, owner), cursor)
    except BadCursor as bad:
        raise InvalidCursor(f"cursor: {bad}", param="cursor") from None


def cursor_to(ctx: Context | Outside, operation: str, asked: Arguments, place: Json, owner: str | None = None) -> str:
    return write_cursor(cursor_key(ctx.house.pepper), _scope(ctx, operation, asked, owner), place)


def _scope(ctx: Context | Outside, operation: str, asked: Arguments, owner: str | None) -> Json:
    filters = asked.model_dump(mode="json", exclude={"cursor", "limit", "wait_seconds", "detail"})
    return [operation, ctx.env.value, owner, filters]
