"""A listing's figures: every closed job, refund and rating changes the sums, which always match the rows."""

import importlib
import random  # noqa: TID251 - seeded: the same jobs can be had again
from datetime import timedelta
from itertools import zip_longest
from typing import Any

import orjson
import pytest
from eth_account import Account
from sqlalchemy import bindparam, delete, select, text, update

from storage.query import Query
from storage.store import Store
from storage.tables import JobResultRow, JobRow, ListingPayerRow, ListingRow, ReviewRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import FINISHED, SettlementKind, SettlementStatus
from tests.support.market import TestMarket
from tests.support.storage_orders import NOW, job
from tests.support.trade import OFFER, binding
from tools.jobs.contributions import count_waiting
from tools.jobs.snapshot import load
from tools.listings.stats import drifted_listings, has_drifted, recount, result_in
from tools.listings.stats_rules import (
    ListingTotals,
    Result,
    apply_change,
    buyers_by,
    tallied,
    wallet_moves,
    wallet_of_most,
)

pytestmark = pytest.mark.both_databases

RULES: Any = importlib.import_module("storage.migrations.versions.0003_figures")
SINCE: Any = importlib.import_module("storage.migrations.versions.0020_recounting")
NOTHING: Any = importlib.import_module("storage.migrations.versions.0031_nothing_for_nothing")
results_of: Query[Any] = Query(select(JobResultRow).where(JobResultRow.listing_id == bindparam("listing_id")))
payers_of: Query[Any] = Query(select(ListingPayerRow).where(ListingPayerRow.listing_id == bindparam("listing_id")))
ENDS = (
    {"status": "completed", "closed_as": "buyer_accepted"},
    {"status": "completed", "closed_as": "review_timeout"},
    {"status": "resolved", "closed_as": "verdict", "outcome": "seller"},
    {"status": "resolved", "closed_as": "verdict", "outcome": "split"},
    {"status": "resolved", "closed_as": "verdict", "outcome": "buyer"},
    {"status": "cancelled", "closed_as": "seller_failed"},
    {"status": "cancelled", "closed_as": "buyer_walked_away"},
)


async def a_listing(store: Store) -> str:
    market = TestMarket(store)
    seller = await market.register("Sela")
    seller.wallet = Account.create()
    await market.call("set_wallet_address", by=seller, address=seller.wallet.address, signature=binding(seller))
    made = await market.call("create_listing", by=seller, **OFFER | {"price": 0})
    return str(made["id"])


def transfer(job_id: str, number: int, kind: str, status: str, amount: int, wallet: str) -> SettlementRow:
    return SettlementRow(
        id=f"stl_{job_id}_{number}", env="test", job_id=job_id, kind=SettlementKind(kind), status=SettlementStatus(status),
        payer_agent_id="agt_b", payee_agent_id="agt_s", payer_address=wallet, pay_to="0xseller", amount=amount,
        expected_amount=amount, network="eip155:84532", asset="0xusdc", tx_hash=f"0x{job_id}{number}".lower(), block_number=1,
        block_hash="0x", block_time=NOW, settled_at=NOW, created_at=NOW,
    )  # fmt: skip


def close(tx: Tx, listing_id: str, number: int, dice: random.Random) -> JobRow:
    """Insert a closed job with a random end, paid by a random wallet in up to two transfers."""
    made = job(f"job_{number}")
    taken = timedelta(
        seconds=dice.choice([0, 5, 5, 60, dice.randrange(90_000)]), microseconds=dice.randrange(1_000_000)
    )
    timed = {} if dice.random() < 0.1 else {"accepted_at": NOW, "delivered_at": NOW + taken}
    given = {"listing_id": listing_id, "payment": "on_delivery", "env": dice.choice(["test", "live"])}
    row = tx.add(JobRow(**made.__dict__ | given | timed | dice.choice(ENDS)))
    for part in range(dice.choice([0, 1, 1, 2])):
        status = dice.choice(["settled", "settled", "settled", "partial", "orphaned"])
        wallet = dice.choice(["0xA", "0xb", "0xC", "0xd"])
        tx.add(transfer(row.id, part, "payment", status, dice.choice([4_000, 9_999, 10_000, 250_000]), wallet))
    recount(tx, row, load(tx, row).settlements)
    return row


def refund(tx: Tx, row: JobRow, dice: random.Random) -> None:
    tx.add(transfer(row.id, 9, "refund", "settled", dice.choice([1, 9_999, 250_000]), "0xseller"))
    recount(tx, row, load(tx, row).settlements)


def rate(tx: Tx, row: JobRow, dice: random.Random) -> None:
    rating = dice.randrange(1, 6)
    common = {"env": row.env, "listing_id": row.listing_id, "comment": None, "job_value": 0, "machine_generated": False}
    for role in ("buyer", "seller"):  # the seller's rating is of the buyer
        tx.add(ReviewRow(job_id=row.id, reviewer_id=role, id=f"rev_{row.id}_{role}", subject_id="agt_s", role=role,
                         rating=rating, content_warnings="[]", created_at=NOW, **common))  # fmt: skip
    recount(tx, row, load(tx, row).settlements)


@pytest.mark.parametrize("seed", range(3))
async def test_r8_the_sums_are_always_what_the_rows_come_to(store: Store, seed: int) -> None:
    dice = random.Random(seed)
    listing_id = await a_listing(store)
    for number in range(40):

        def happens(tx: Tx, number: int = number) -> bool:
            row = close(tx, listing_id, number, dice)
            if dice.random() < 0.4:
                refund(tx, row, dice)
            if dice.random() < 0.5 and row.status in FINISHED:
                rate(tx, row, dice)
            return has_drifted(tx, listing_id)

        assert not await store.write(happens), number

    def counted_again(tx: Tx) -> bool:
        before = tx.get(ListingRow, listing_id)
        for number in range(40):
            row = tx.get(JobRow, f"job_{number}")
            assert row is not None
            recount(tx, row, load(tx, row).settlements)
        return before == tx.get(ListingRow, listing_id)

    assert await store.write(counted_again), "counting a job twice changes nothing"


async def test_a_lost_count_is_found(store: Store) -> None:
    listing_id = await a_listing(store)

    def lose(tx: Tx) -> None:
        row = tx.get(ListingRow, listing_id)
        assert row is not None
        tx.change(row, rating_sum=1)

    await store.write(lose)
    assert await drifted_listings(store) == [listing_id]


async def test_what_it_costs_to_count_does_not_grow(store: Store) -> None:
    """The thirtieth job needs as many statements as the third and reads no other job's rows."""
    listing_id, costs = await a_listing(store), dict[int, int]()
    dice = random.Random(7)
    for number in range(30):

        def happens(tx: Tx, number: int = number) -> int:
            row = tx.add(JobRow(**job(f"job_{number}").__dict__ | {"listing_id": listing_id, "accepted_at": NOW,
                                "delivered_at": NOW + timedelta(seconds=number), **ENDS[0]}))  # fmt: skip
            tx.add(transfer(row.id, 1, "payment", "settled", 20_000, dice.choice(["0xa", "0xb"])))
            before = tx.statements
            recount(tx, row, load(tx, row).settlements)
            return tx.statements - before

        costs[number] = await store.write(happens)
    assert costs[29] <= costs[2] <= 14, costs


def show_what_was_counted(tx: Tx, listing_id: str) -> None:
    """Give the listing the figures computed from its stored results and payers."""
    row = tx.get(ListingRow, listing_id)
    assert row is not None
    results = tx.all(results_of, listing_id=listing_id)
    paid = [one.paid_minor for one in results]
    wallets = [one.paid_minor for one in tx.all(payers_of, listing_id=listing_id)]
    counted = {
        "volume_usdc": sum(paid),
        "jobs_paid": sum(one >= 10_000 for one in paid),
        "distinct_buyers": sum(one >= 10_000 for one in wallets),
        "rating_count": sum(one.rating is not None for one in results),
        "jobs_completed": sum(one.completed for one in results),
        "unpaid_reviews": 0,
    }
    tx.change(row, stats=orjson.dumps(orjson.loads(row.stats) | counted).decode())


async def test_the_migrations_count_what_is_there_already(store: Store) -> None:
    """Revision 0003 counts by its own rules; later ones recount by today's rules."""
    dice = random.Random(11)
    listing_id = await a_listing(store)

    def happens(tx: Tx) -> None:
        for number in range(60):
            row = close(tx, listing_id, number, dice)
            if number % 3 == 0:
                refund(tx, row, dice)
            if number % 2 == 0 and row.status in FINISHED:
                rate(tx, row, dice)

    def kept(tx: Tx) -> tuple[dict[str, Any], dict[str, int], tuple[int, int]]:
        row = tx.get(ListingRow, listing_id)
        assert row is not None
        found = [one for one in tx.all(results_of, listing_id=listing_id) if result_in(one) != Result()]
        results = {one.job_id: {**one.__dict__, "version": 1} for one in found}
        payers = tx.all(payers_of, listing_id=listing_id)
        wallets = {one.wallet: one.paid_minor for one in payers if one.paid_minor}
        return results, wallets, (row.rating_sum, row.timed_jobs)

    def count_anew(tx: Tx) -> None:
        tx.run(Query(delete(JobResultRow.__table__)))
        tx.run(Query(delete(ListingPayerRow.__table__)))
        tx.run(Query(update(ListingRow.__table__).values(rating_sum=0, timed_jobs=0)))
        for words in (RULES.RESULTS, RULES.PAYERS, RULES.SUMS, SINCE.UNMARKED, NOTHING.RATINGS, NOTHING.UNMARKED):
            tx.cursor.execute(text(words).text)
        show_what_was_counted(tx, listing_id)

    await store.write(happens)
    before = await store.read(kept)
    await store.write(count_anew)
    assert await store.read(kept) != before
    while await store.write(lambda tx: count_waiting(tx, NOW)):
        pass
    assert await store.read(kept) == before
    assert await drifted_listings(store) == []


def test_a_job_counts_for_the_wallet_that_paid_most_of_it() -> None:
    assert wallet_of_most([]) is None
    assert wallet_of_most([("0xA", 3), ("0xB", 2), ("0xb", 2)]) == "0xb"
    assert wallet_of_most([("0xB", 1), ("0xA", 2), ("0xB", 1)]) == "0xb", "of equals the earlier"


def test_a_wallet_counts_while_its_net_payments_reach_the_least_amount() -> None:
    assert [buyers_by(*pair) for pair in ((0, 9_999), (9_999, 10_000), (10_000, 9_999), (10_000, 1 << 40))] == [
        0,
        1,
        -1,
        0,
    ]
    old, new = Result(True, paid_minor=5, payer="a"), Result(True, paid_minor=7, payer="b")
    assert wallet_moves(old, new) == [("a", -5), ("b", 7)]
    assert wallet_moves(new, new) == []
    assert apply_change(tallied([old]), old, Result(), 0) == ListingTotals()


@pytest.mark.parametrize(
    ("paid", "wallets", "ratings", "graduated"),
    [
        (5, 3, [], True),
        (4, 3, [], False),
        (5, 2, [], False),
        (5, 3, [4, 3], True),
        (5, 3, [4, 3, 3], False),
    ],
)
def test_a_listing_graduates(paid: int, wallets: int, ratings: list[int], graduated: bool) -> None:
    results = [
        Result(True, paid_minor=10_000, payer=f"0x{number % wallets}", rating=rating)
        for number, rating in zip_longest(range(paid), ratings)
    ]
    assert tallied(results).graduated is graduated
    assert orjson.loads(orjson.dumps(tallied(results)))["distinct_buyers"] == wallets
