"""Pagination, with opaque signed cursors that never expire.

A cursor is valid only for the operation, environment, filters and owner it was made for.
"""

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import orjson

from storage.query import Query
from tools.engine.arguments import Listed
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidCursor
from tools.kernel.base64url import base64url, from_base64url
from tools.kernel.errors import Json
from tools.kernel.records import encode, spliced
from tools.kernel.search_terms import query_terms

T = TypeVar("T")
R = TypeVar("R")
TAG_BYTES = 16
FIRST_HIT = -1  # a key before that of every hit
MAX_PAGE = 1_048_576  # bytes; a page ends before the record that would exceed it


def as_many_as_fit(records: Iterable[T], shows: Callable[[T], bool] | None = None) -> tuple[list[Json], int]:
    """Return the records that fit within MAX_PAGE bytes, at least one, as JSON.

    Also return how many were looked at. With `shows`, the records for which it is false are left out.
    """
    page, size, looked_at = list[Json](), 0, 0
    for record in records:
        if shows is None or shows(record):
            body = encode(record)
            size += len(body)
            if page and size > MAX_PAGE:
                break
            page.append(spliced(body))
        looked_at += 1
    return page, looked_at


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
    shows: Callable[[T], bool] | None = None,
) -> dict[str, Any]:
    """Return `data`, `has_more` and `next_cursor` of one page of a list.

    `rows_of` is a query that takes `where`, a limit and the place `at` which the page begins, or a function of the place
    and the limit. The first page begins at `first`, and `key` is the place of a row. `to_records` makes one record for
    each row; those for which `shows` is false are left out. `data` is JSON text already. A page ends early if its
    records exceed MAX_PAGE bytes. Unless it is `public`, a cursor is valid for its agent only. Raises InvalidCursor.
    """
    owner = None if public else ctx.agent
    place, most = place_of(ctx, asked, owner), asked.limit + 1
    place = first if place is None else place
    if isinstance(rows_of, Query):
        rows: Sequence[R] = ctx.tx.all(rows_of, **(where or {}), **{at: place}, limit=most)
    else:
        rows = rows_of(place, most)
    data, looked_at = as_many_as_fit(to_records(rows[: asked.limit]), shows)
    more = len(rows) > looked_at
    cursor = cursor_to(ctx, asked, key(rows[looked_at - 1]), owner) if more else None
    return {"data": data, "has_more": more, "next_cursor": cursor}


def place_of(ctx: TxContext | ReadContext, asked: Listed, owner: str | None = None) -> Json:
    """Return where the page begins; None for the first page.

    Raises InvalidCursor for a cursor of another list or, with `owner`, of another agent.
    """
    if asked.cursor is None:
        return None
    try:
        body = from_base64url(asked.cursor)[TAG_BYTES:]
    except ValueError:
        raise InvalidCursor("cursor: not a cursor", param="cursor") from None
    if not hmac.compare_digest(_signed(ctx, asked, owner, body), asked.cursor):
        raise InvalidCursor("cursor: changed, or of another list", param="cursor")
    return orjson.loads(body)


def cursor_to(ctx: TxContext | ReadContext, asked: Listed, place: Json, owner: str | None = None) -> str:
    return _signed(ctx, asked, owner, orjson.dumps(place))


def _signed(ctx: TxContext | ReadContext, asked: Listed, owner: str | None, body: bytes) -> str:
    """Write a cursor of this list, whose body is the place as JSON."""
    filters = asked.model_dump(mode="json", exclude={"cursor", "limit", "wait_seconds", "detail"})
    scope = orjson.dumps([ctx.operation, ctx.env.value, owner, filters], option=orjson.OPT_SORT_KEYS)
    return base64url(hmac.digest(_key(ctx.config.pepper), scope + b"\n" + body, "sha256")[:TAG_BYTES] + body)


@lru_cache(1)
def _key(pepper: bytes) -> bytes:
    return hmac.digest(pepper, b"emporion:cursor", "sha256")


def seen_since(now: datetime, seconds: int | None) -> datetime | None:
    """Return the time since which an agent must have made a call; None if any agent will do."""
    return None if seconds is None else now - timedelta(seconds=seconds)


def search_place(q: str | None, place: Json) -> dict[str, Any] | None:
    """Return the terms of a search and where its page begins.

    None if the words have only signs, because nothing matches them.
    """
    terms = query_terms(q or "")
    if q and not terms:
        return None
    after, any_terms = place or (FIRST_HIT, False)
    return {"terms": terms, "any_terms": any_terms, "after": after}
