"""Pagination, with opaque signed cursors that never expire.

A cursor is valid only for the operation, environment, filters and owner it was made for.
"""

import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, TypeVar

import orjson

from storage.query import Query
from storage.transaction import Tx
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
PART = 20  # records that are made in one turn, in about three milliseconds
MAX_PAGE = 1_048_576  # bytes; a page ends before the record that would exceed it


class Fitting(Generic[T]):
    """The records of one page as JSON: at least one, and at most MAX_PAGE bytes.

    With `shows`, the records for which it is false are left out. `looked_at` counts these too.
    """

    def __init__(self, shows: Callable[[T], bool] | None = None) -> None:
        self.shows, self.page, self.size, self.looked_at = shows, list[Json](), 0, 0

    def extend(self, records: Iterable[T]) -> bool:
        """Add records; return False if one did not fit, so that the page is full."""
        for record in records:
            if self.shows is None or self.shows(record):
                body = encode(record)
                self.size += len(body)
                if self.page and self.size > MAX_PAGE:
                    return False
                self.page.append(spliced(body))
            self.looked_at += 1
        return True


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
    fitting = Fitting(shows)
    fitting.extend(to_records(rows[: asked.limit]))
    return page_of(ctx, asked, fitting, [key(row) for row in rows], owner)


@dataclass(frozen=True, slots=True)
class PageRows(Generic[T]):
    """The rows of a page: the places of all of them, and the records that it may show.

    Making the records needs no transaction. `shows` is that of `page`.
    """

    keys: list[Json]
    records: Iterator[T]
    shows: Callable[[T], bool] | None = None


async def page_in_turns(read_ctx: ReadContext, asked: Listed, look: Callable[[Tx], PageRows[Any]]) -> dict[str, Any]:
    """Return the same as `page`, made in parts that do not block the event loop."""
    found = await read_ctx.lagging.scan(look)
    fitting = Fitting(found.shows)
    for _ in range(0, min(len(found.keys), asked.limit), PART):
        async with read_ctx.services.loop_turns:
            if not fitting.extend(islice(found.records, PART)):
                break
    return page_of(read_ctx, asked, fitting, found.keys, read_ctx.caller.agent)


def page_of(
    ctx: TxContext | ReadContext, asked: Listed, fitting: Fitting[Any], keys: Sequence[Json], owner: str | None
) -> dict[str, Any]:
    """Return `data`, `has_more` and `next_cursor` of a page.

    `keys` are the places of all rows that were found.
    """
    more = len(keys) > fitting.looked_at
    cursor = cursor_to(ctx, asked, keys[fitting.looked_at - 1], owner) if more else None
    return {"data": fitting.page, "has_more": more, "next_cursor": cursor}


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
