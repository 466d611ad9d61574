"""Pages: cursors bound to who asks for what."""

from tools.arguments import Arguments
from tools.context import Context, Outside
from tools.errors import InvalidCursor
from tools.errors.base import Json
from tools.rules.cursors import BadCursor, cursor_key, read_cursor, write_cursor


def place_of(ctx: Context | Outside, operation: str, asked: Arguments, cursor: str | None) -> Json:
    """Where the page begins; None for the first page. InvalidCursor for another list's cursor."""
    if cursor is None:
        return None
    try:
        return read_cursor(cursor_key(ctx.house.pepper), _scope(ctx, operation, asked), cursor)
    except BadCursor as bad:
        raise InvalidCursor(f"cursor: {bad}", param="cursor") from None


def cursor_to(ctx: Context | Outside, operation: str, asked: Arguments, place: Json) -> str:
    return write_cursor(cursor_key(ctx.house.pepper), _scope(ctx, operation, asked), place)


def _scope(ctx: Context | Outside, operation: str, asked: Arguments) -> Json:
    filters = asked.model_dump(mode="json", exclude={"cursor", "limit", "wait_seconds", "detail"})
    return [operation, ctx.env.value, filters]
