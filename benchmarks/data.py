"""The data of every case: a seeded market of agents, keys, wallets, listings and events, written in bulk."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from hashlib import sha256
from itertools import islice

import orjson
from eth_keys.datatypes import PrivateKey

from benchmarks.search_scale import listings as generated
from server.adapters.clock import SystemClock
from storage.database import Database
from storage.events import newest_of_all
from storage.listing_search import Indexed, index_listings
from storage.migrate import upgrade
from storage.open import open_database
from storage.tables import AgentRow, DocumentRow, FanoutRow, KeyRow, ListingRow, SettlementRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env, SettlementKind, SettlementStatus
from tools.agents.logic import index_waiting
from tools.engine.documents import document
from tools.kernel.ids import new_id
from tools.kernel.keys import api_key, key_hash, key_prefix
from tools.listings.records import ListingStats

AGENTS, EVENTS_EACH, EARLIER_PAYMENTS = 1_000, 50, 3
BUSY_AGENTS = 100  # the first ones, which have about a hundred jobs each where a case asks for them
LISTINGS = 10_000
PEPPER = bytes(range(32))
CHUNK = 1_000
BORN = SystemClock().now() - timedelta(days=1)  # older data is deleted at some time
INPUT = {
    "type": "object",
    "required": ["text", "language"],
    "additionalProperties": False,
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 600_000},
        "language": {"type": "string", "enum": ["de", "en", "fr", "ja", "zh"]},
        "number": {"type": "integer", "minimum": 0},
    },
}
OUTPUT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "maxLength": 600_000}}}
EXAMPLE = {"text": "Please put this into English, keep names as they are.", "language": "en", "number": 1}


@dataclass(frozen=True, slots=True)
class Trader:
    """An agent with its key for the environment of the benchmarks."""

    id: str
    key: str

    @property
    def wallet(self) -> PrivateKey:
        """The private key of its wallet."""
        return PrivateKey(sha256(self.id.encode()).digest())


@dataclass(frozen=True, slots=True)
class Seeded:
    """The written data. The listings are those of `ENV`, each sold by `sellers[listing]`."""

    traders: tuple[Trader, ...]
    listing_ids: tuple[str, ...]
    sellers: dict[str, Trader]


ENV = Env.LIVE


def seed(url: str, pepper: bytes, listings: int) -> Seeded:
    """Fill an empty database with the same market every time."""
    database = open_database(url)
    upgrade(database)
    tx = database.writing()
    traders = tuple(_trader(number) for number in range(AGENTS))
    listed = list(_listings(traders, listings))
    with _unit(database, tx):
        for number, trader in enumerate(traders):
            _write_trader(tx, number, trader, key_hash(pepper, trader.key))
            _write_events(tx, traders, number)
        for schema in (INPUT, OUTPUT):
            made = document(schema, "schema")
            tx.insert_if_absent(DocumentRow(hash=made.hash, text=made.text.decode()))
    batches = iter(listed)
    while batch := list(islice(batches, CHUNK)):
        with _unit(database, tx):
            for indexed in batch:
                tx.add(indexed.listing)
            index_listings(tx, batch)
    with _unit(database, tx, piped=False):
        _catch_up(tx)
    if not tx.is_sqlite:
        tx.cursor.execute("SET lock_timeout = 0; SET statement_timeout = 0")
        tx.cursor.execute("VACUUM ANALYZE")
    database.close()
    by_id = {trader.id: trader for trader in traders}
    mine = [indexed.listing for indexed in listed if indexed.listing.env == ENV]
    return Seeded(traders, tuple(row.id for row in mine), {row.id: by_id[row.seller_id] for row in mine})


@contextmanager
def _unit(database: Database, tx: Tx, piped: bool = True) -> Iterator[None]:
    """Commit what the block writes.

    If it is `piped`, PostgreSQL answers its statements together.
    """
    database.control(tx, database.begin)
    tx.begin()
    with nullcontext() if tx.is_sqlite or not piped else tx.cursor.connection.pipeline():
        yield
    database.finish(tx)


def _catch_up(tx: Tx) -> None:
    """Do the pending work of the market's workers, so that it does not disturb the measurements."""
    tx.add(FanoutRow(name="events", event_number=tx.one(newest_of_all) or 0, at=BORN))
    while index_waiting(tx):
        pass


def _trader(number: int) -> Trader:
    entropy = sha256(b"trader %d" % number).digest()
    return Trader(new_id("agt_", BORN, entropy[:10]), api_key(ENV, entropy + entropy[:8]))


def _write_trader(tx: Tx, number: int, trader: Trader, hashed: str) -> None:
    tx.add(
        AgentRow(
            id=trader.id,
            handle=f"trader-{number}",
            name=f"Trader {number}",
            description=None,
            capabilities=[],
            tags=[],
            public_key=sha256(trader.id.encode()).hexdigest(),
            endpoints={},
            framework=None,
            metadata_json=None,
            referred_by=None,
            created_at=BORN,
        )
    )
    tx.add(
        KeyRow(
            id=new_id("key_", BORN, number.to_bytes(10)),
            agent_id=trader.id,
            env=ENV,
            hash=hashed,
            prefix=key_prefix(trader.key),
            name=None,
            scopes=["*"],
            created_at=BORN,
        )
    )
    address = trader.wallet.public_key.to_checksum_address()
    tx.add(WalletRow(agent_id=trader.id, env=ENV, address=address, bound_at=BORN))
    for payment in range(EARLIER_PAYMENTS):
        tx.add(_payment(number * EARLIER_PAYMENTS + payment, trader, f"agt_of_long_ago_{payment}", address))


def _payment(number: int, trader: Trader, payee: str, address: str) -> SettlementRow:
    """Return an old payment; payments to several sellers lift the limits of newcomers."""
    return SettlementRow(
        id=new_id("stl_", BORN, number.to_bytes(10)),
        env=ENV,
        job_id=f"job_of_long_ago_{number}",
        kind=SettlementKind.PAYMENT,
        status=SettlementStatus.SETTLED,
        payer_agent_id=trader.id,
        payee_agent_id=payee,
        payer_address=address,
        pay_to=address,
        amount=10_000,
        expected_amount=10_000,
        network="eip155:8453",
        asset=address,
        tx_hash=f"0x{number:064x}",
        block_number=1,
        block_hash="0x1",
        block_time=BORN,
        settled_at=BORN,
        created_at=BORN,
    )


def _write_events(tx: Tx, traders: tuple[Trader, ...], number: int) -> None:
    seller, buyer = traders[number], traders[(number + 1) % AGENTS]
    for place in range(EVENTS_EACH):
        data = _event(new_id("job_", BORN, (number * EVENTS_EACH + place).to_bytes(10)), buyer, seller)
        tx.emit(seller.id, ENV, "job.created", data, BORN + timedelta(seconds=place))


def _event(job: str, buyer: Trader, seller: Trader) -> str:
    told = {
        "job_id": job,
        "status": "open",
        "title": "Translation of a letter",
        "buyer_id": buyer.id,
        "seller_id": seller.id,
        "price": 250_000,
        "currency": "USDC",
        "payment": "on_delivery",
        "payment_status": "not_due",
        "paid": False,
        "refund_due": False,
        "thread_id": job.replace("job_", "thr_"),
        "pay_by": None,
        "accept_by": "2026-01-01T01:00:00.000Z",
    }
    return orjson.dumps(told).decode()


def _listings(traders: tuple[Trader, ...], count: int) -> Iterator[Indexed]:
    """Yield the listings of the search benchmark with our sellers, schemas and an example.

    Each is 2 KB as a record.
    """
    texts = {"input_schema": document(INPUT, "").hash, "output_schema": document(OUTPUT, "").hash}
    for number, indexed in enumerate(generated(count)):
        told = indexed.listing.__dict__ | texts
        told |= {
            "seller_id": traders[number % len(traders)].id,
            "price": 250_000,
            "pricing_model": "fixed",
            "unit_name": None,
            "payment": "on_delivery",
            "example_input": json.dumps(EXAMPLE),
            "max_open_jobs": 1_000,
            "stats": orjson.dumps(asdict(ListingStats(rating_avg=indexed.rating))).decode(),
        }
        yield replace(indexed, listing=ListingRow(**told))
