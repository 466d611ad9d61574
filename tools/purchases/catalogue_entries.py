"""The listings that one x402 payment buys, as catalogues of x402 show them: the set, and its version."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from storage.purchases import sold_at_once
from storage.tables import ListingRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.documents import text_of
from tools.engine.ports import World
from tools.kernel.money import MAX_PRICE
from tools.kernel.records import Json
from tools.listings.validation import UnitBasis

MAX_SERVICES = 100  # that catalogues and GET /v1/x402 show
MAX_UNITS = 1_000_000
MONEY = {Env.LIVE: "real money", Env.TEST: "test money"}

Version = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A listing that is sold so. Prices are in minor units, alike unless it is sold per unit."""

    listing_id: str
    title: str
    min_price: int
    max_price: int
    input_schema: Json
    output_schema: Json


def env_of_catalogue(world: World) -> Env | None:
    """Return the environment of catalogues: live if it can be sold there, otherwise test."""
    sold = [env for env in (Env.LIVE, Env.TEST) if env in world.facilitators and env in world.chains]
    return sold[0] if sold else None


def sold_now(tx: Tx, env: Env) -> list[ListingRow]:
    """Return the listings on sale whose seller has a wallet."""
    rows = tx.all(sold_at_once, env=env, limit=MAX_SERVICES)
    payable = {seller for seller in {row.seller_id for row in rows} if tx.get(WalletRow, seller, env) is not None}
    return [row for row in rows if row.seller_id in payable]


def version_of(rows: Iterable[ListingRow]) -> Version:
    """Return what changes with the set and with each listing in it."""
    return tuple((row.id, row.version) for row in rows)


def entries(tx: Tx, rows: Iterable[ListingRow]) -> list[Entry]:
    return [_entry(tx, row) for row in rows]


def _entry(tx: Tx, row: ListingRow) -> Entry:
    price, units = row.price or 0, 1
    if row.unit_name is not None:
        basis = None if row.unit_basis is None else UnitBasis.model_validate_json(row.unit_basis)
        units = (basis.max if basis is not None else None) or MAX_UNITS
    schemas = [orjson.loads(text_of(tx, one) or "{}") for one in (row.input_schema, row.output_schema)]
    return Entry(row.id, row.title, price, max(price, min(price * units, MAX_PRICE)), *schemas)
