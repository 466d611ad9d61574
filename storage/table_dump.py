"""Export of whole tables, page by page, and what is never exported."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Table, bindparam, select, tuple_

from storage.query import Query
from storage.rows import JsonText, Row, metadata
from storage.transaction import Tx

PAGE = 500
KEPT_BACK: Mapping[str, frozenset[str]] = {  # columns left out: secrets, and the inputs of panel draws
    "api_keys": frozenset({"hash"}),
    "dispute_draws": frozenset({"eligible", "related"}),
    "jobs": frozenset({"panel_seed"}),
    "purchases": frozenset({"settle_body"}),  # anyone with it can send the payment
    "webhooks": frozenset({"url", "secret", "previous_secret", "headers"}),  # anyone with the url can post to it
}
LEFT_OUT: Mapping[str, str] = {
    "answers": "answers kept for repeated calls, secrets among them",
    "answer_bodies": "answers kept for repeated calls",
    "rate_windows": "counts of calls",
    "signature_uses": "names of signatures that may not come twice",
    "house": "marks of this installation and its secrets",
    "searches": "whose search it was cannot be told",
    "agent_search": "an index, made again from agents",
    "bounty_search": "an index, made again from bounties",
    "listing_search": "an index, made again from listings",
    "unindexed_agents": "work that waits",
    "unmarked_jobs": "work that waits",
    "bounty_matches": "work that waits",
    "payment_searches": "work that waits",
    "webhook_hosts": "leases of seconds",
    "webhook_fanout": "how far deliveries have come",
}


def taken() -> list[type[Row]]:
    """Return the row types of the exported tables, by table name."""
    names = sorted(metadata.tables.keys() - LEFT_OUT.keys())
    return [metadata.tables[name].info["row"] for name in names]


def shown(row: Row) -> dict[str, Any]:
    """Return the exported columns of a row; JSON columns as their stored text."""
    table = row.__table__
    back = KEPT_BACK.get(table.name, frozenset())
    columns = {name: value for name, value in row.__dict__.items() if name not in back}
    json = {name for name, value in columns.items() if value is not None and isinstance(table.c[name].type, JsonText)}
    return columns | {name: orjson.dumps(columns[name]).decode() for name in json}


def next_page(tx: Tx, kind: type[Row], after: Row | None) -> list[Any]:
    """Return the rows after this one, in the order of their keys."""
    place = {} if after is None else {name: after.__dict__[name] for name in kind.__key__}
    return tx.all(_page(kind.__table__, first=after is None), **place)


@cache
def _page(table: Table, first: bool) -> Query[Any]:
    keys = [*table.primary_key]
    page = select(table).order_by(*keys).limit(PAGE)
    place = tuple_(*(bindparam(key.name, type_=key.type) for key in keys))
    return Query(page if first else page.where(tuple_(*keys) > place))
