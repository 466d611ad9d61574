"""`emporion doctor --recompute`: no differences after trades, and every corrupted value is found."""

import os
import subprocess
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import delete, select, update

from server.adapters.chain import JsonRpcChain
from server.doctor import examine
from server.sandbox.journal import JOURNAL_NAME
from server.settings import read_settings
from storage.open import open_database, serve
from storage.query import Query
from storage.rows import Row, metadata
from storage.store import Store
from storage.tables import JobRow, JobTextRow, OpenRefundRow, SettlementRow, WalletRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.server.adapters.test_facilitator import answers, facilitator
from tests.support.bounties import bounty, propose
from tests.support.commands import run
from tests.support.databases import close
from tests.support.evm import Evm
from tests.support.market import TestMarket
from tests.support.panels import Court, evaluator
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import opened_shop
from tools.engine.ports import Chain
from tools.operator.aggregate_checks import AGGREGATES, PROOFS, SOURCES, Aggregate
from tools.operator.recompute import recompute

pytestmark = pytest.mark.both_databases

SECRETS = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}


async def busy_market(trade: Trade) -> None:
    """Fill every derived table: trades with every end, messages, memory."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    await trade.market.call("request_revision", by=buyer, job_id=job["id"], message="Good day, please.")
    await trade.deliver(seller, job, {"english": "Good day."})
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=4)
    await trade.market.call("post_message", by=seller, thread_id=job["thread_id"], body="Thank you.")
    owing = await trade.failed(seller, buyer)
    returned = await trade.failed(seller, buyer)
    assert (await trade.give_back(seller, buyer, returned))["refund_due"] is False
    assert (await trade.seen(seller, owing))["refund_due"] is True
    said = await trade.market.call("start_thread", by=buyer, to=seller.handle, body="Do you translate poems?")
    await trade.market.call("mark_thread_read", by=seller, thread_id=said["thread"]["id"])
    posted = await bounty(trade, buyer)
    for one in (seller, await trade.agent("Cy")):
        await propose(trade, one, posted)
    await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    await Court.of(trade, seller, buyer, {one.id: one for one in [await evaluator(trade) for _ in range(2)]})
    await trade.market.call("put_memory", by=buyer, key="notes/u", value={"words": ["ü", 1]})
    await trade.market.call("create_schedule", by=buyer, in_seconds=60, payload={"ü": 1})
    await (await opened_shop(trade)).bought()
    await trade.job_at("open", seller, buyer)


async def differing(store: Store) -> dict[str, list[str]]:
    return {drift.aggregate.table: drift.keys async for drift in recompute(store) if drift.keys}


async def test_nothing_differs_after_every_way_a_trade_can_go(trade: Trade) -> None:
    await busy_market(trade)
    assert await differing(trade.market.store) == {}
    kept = [await rows_of(trade.market.store, aggregate) for aggregate in AGGREGATES]
    assert all(kept), "each aggregate had something to compare"


async def test_what_is_spoilt_is_named_whatever_it_is(trade: Trade) -> None:
    await busy_market(trade)
    store, unnoticed = trade.market.store, []
    for aggregate in AGGREGATES:
        for column in aggregate.columns:
            rows = await rows_of(store, aggregate)
            row = next((one for one in rows if getattr(one, column) is not None), rows[0])
            await store.write(lambda tx, a=aggregate, c=column, r=row: spoil(tx, a, c, r))  # type: ignore[misc]
            if name_of(aggregate, row) not in (await differing(store)).get(aggregate.table, []):
                unnoticed.append(f"{aggregate.table}.{column}")
            await store.write(lambda tx, a=aggregate, r=rows: put_back(tx, a, r))  # type: ignore[misc]
            assert await differing(store) == {}
    assert unnoticed == []


async def test_a_job_without_its_clock_or_with_a_late_one_is_named(trade: Trade) -> None:
    """It would never expire, or too late. A clock that is early sets itself right."""
    job = await trade.job_at("open", *await trade.parties())
    store = trade.market.store
    clock = (await store.read(lambda tx: tx.need(JobRow, job["id"]))).clock_at
    assert clock is not None
    found = {}
    for name, at in (("none", None), ("late", clock + timedelta(seconds=1)), ("early", clock - timedelta(seconds=1))):
        await store.write(lambda tx, at=at: tx.change(tx.need(JobRow, job["id"]), clock_at=at))  # type: ignore[misc]
        found[name] = await differing(store)
    assert found == {"none": {"jobs": [job["id"]]}, "late": {"jobs": [job["id"]]}, "early": {}}


async def test_a_row_that_is_missing_is_named(trade: Trade) -> None:
    await busy_market(trade)
    store, unnoticed = trade.market.store, []
    for aggregate in AGGREGATES:
        rows = await rows_of(store, aggregate)
        if aggregate.table in ("job_results", "listing_payers", "mailboxes", "open_refunds", "job_deliveries"):
            await store.write(lambda tx, a=aggregate: tx.run(Query(delete(table_of(a)))))  # type: ignore[misc]
            # deliveries that jobs show and no row has are reported for the job
            place = "jobs" if aggregate.table == "job_deliveries" else aggregate.table
            if name_of(aggregate, rows[0]) not in (await differing(store)).get(place, []):
                unnoticed.append(aggregate.table)
            await store.write(lambda tx, a=aggregate, r=rows: put_back(tx, a, r))  # type: ignore[misc]
    assert unnoticed == []
    assert await differing(store) == {}


@covers("second.account.recomputed")
async def test_an_account_that_acts_before_its_wallet_has_claimed_it_is_named(trade: Trade) -> None:
    account = (await (await opened_shop(trade)).bought())[1]["account"]["agent_id"]
    store = trade.market.store
    assert await differing(store) == {}

    agents = table_of(next(one for one in AGGREGATES if one.table == "agents"))
    active = Query[None](update(agents).where(agents.c.id == account).values(status="active"))
    await store.write(lambda tx: tx.run(active))
    assert await differing(store) == {"x402_accounts": [account]}
    bound = WalletRow(agent_id=account, env="test", address="0x" + "1" * 40, bound_at=trade.market.clock.now())
    await store.write(lambda tx: tx.add(bound))
    assert await differing(store) == {"wallets": [f"{account} test"], "x402_accounts": [account]}


async def test_a_second_page_is_read_too(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pages(monkeypatch)
    await busy_market(trade)
    assert await differing(trade.market.store) == {}
    document = Query[None](update(JobTextRow.__table__).values(text="null"))
    await trade.market.store.write(lambda tx: tx.run(document))
    assert len((await differing(trade.market.store))["job_deliveries"]) == 3


async def test_a_refund_and_then_another_stray_payment_leave_no_drift(trade: Trade) -> None:
    """A refund covers stray payments first; a later stray payment restores the listing's sum."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    for returned_minor in (PRICE + 100_000, None):
        stray = trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)
        await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
        if returned_minor:
            await trade.give_back(seller, buyer, job, returned_minor)
        assert await differing(trade.market.store) == {}


@pytest.fixture
async def closed_market(database_url: str, chain_process: Evm) -> str:
    """The URL of a database with trades, which no process has open."""
    store = serve(open_database(database_url))
    chains: dict[Env, Chain] = {}
    market = TestMarket(store, chains)
    reader = JsonRpcChain(chain_process.url, chain_process.chain_id, monotonic=market.clock.monotonic)
    chains[Env.TEST] = reader
    market.clock.at = datetime.fromtimestamp(chain_process.now() + 1, market.clock.at.tzinfo)
    await busy_market(Trade(market, chain_process))
    await reader.close()
    await close(store)
    return database_url


async def test_the_doctor_recomputes_when_asked_and_says_what_differs(
    closed_market: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = read_settings(_env_file=None, database_url=closed_market, data_dir=tmp_path / "data", **SECRETS)
    assert await examine(settings, recomputing=True) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "recomputed: " in line]
    assert lines == [
        f"ok    recomputed: {one.table} ({', '.join(one.columns)}): 0 differ" for one in (*AGGREGATES, *PROOFS)
    ]
    named = await spoil_mailbox(closed_market)
    assert await examine(settings) == 0, "the cheap check looks at listings alone"
    capsys.readouterr()
    assert await examine(settings, recomputing=True) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert wrong == [f"WRONG recomputed: mailboxes (unread): 1 differ: {named}"]


async def test_the_command_line_recomputes_and_ends_with_1_where_something_differs(
    closed_market: str, tmp_path: Path
) -> None:
    named = await spoil_mailbox(closed_market)
    ended = doctor(closed_market, tmp_path / "data")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert f"WRONG recomputed: mailboxes (unread): 1 differ: {named}" in ended.stdout.splitlines()


def doctor(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    given = {"EMPORION_DATABASE_URL": url, "EMPORION_DATA_DIR": str(folder)}
    given |= {f"EMPORION_{name.upper()}": value for name, value in SECRETS.items()}
    return run(["doctor", "--recompute"], clean | given)


async def spoil_mailbox(url: str) -> str:
    """Corrupt a count of unread messages; return the mailbox's name in the doctor's report."""
    store = serve(open_database(url))
    mailboxes = next(one for one in AGGREGATES if one.table == "mailboxes")
    rows = await rows_of(store, mailboxes)
    await store.write(lambda tx: spoil(tx, mailboxes, "unread", rows[0]))
    await close(store)
    return name_of(mailboxes, rows[0])


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check one id in each snapshot."""
    for source in SOURCES:
        monkeypatch.setattr(source, "page", 1)


def table_of(aggregate: Aggregate) -> Any:
    return metadata.tables[aggregate.table]


async def rows_of(store: Store, aggregate: Aggregate) -> Sequence[Row]:
    """Return the rows of an aggregate's table: those with the most values first, refunds last."""
    found: list[Row] = await store.read(lambda tx: tx.all(Query(select(table_of(aggregate)))))

    def fullness(row: Row) -> tuple[bool, int]:
        values = row.__dict__
        return values.get("kind") != "refund", sum(value not in (None, 0, "", False) for value in values.values())

    return sorted(found, key=fullness, reverse=True)


def name_of(aggregate: Aggregate, row: Row) -> str:
    """Return a row's name in the doctor's report."""
    values = [str(row.__dict__[column]) for column in row.__key__]
    return values[0] if aggregate.table == "job_deliveries" else " ".join(values)


def spoil(tx: Any, aggregate: Aggregate, column: str, row: Row) -> None:
    """Change one column of a row; delete the row if it has only its key."""
    table = table_of(aggregate)
    here = [table.c[key] == row.__dict__[key] for key in row.__key__]
    if aggregate.table == OpenRefundRow.__table__.name:
        tx.run(Query(delete(table).where(*here)))
    else:
        tx.run(Query(update(table).where(*here).values({column: other(row.__dict__[column])})))


def put_back(tx: Any, aggregate: Aggregate, rows: Sequence[Row]) -> None:
    tx.run(Query(delete(table_of(aggregate))))
    for row in rows:
        tx.add(row)


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1000
    if isinstance(value, datetime):
        return value + timedelta(seconds=1)
    if isinstance(value, str) and value.startswith("{"):
        return orjson.dumps(orjson.loads(value) | {"jobs_failed": 99}).decode()
    return f"{value or ''}x"


async def test_the_doctor_of_a_sandboxs_folder_says_who_brings_its_chain(
    closed_market: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = read_settings(_env_file=None, database_url=closed_market, data_dir=tmp_path / "data", **SECRETS)
    for said in ("payments there answer 502", "`emporion serve --sandbox` brings its own, which is kept here"):
        assert await examine(settings) == 0
        assert f"ok    chain test: not set; {said}" in capsys.readouterr().out.splitlines()
        settings.data_dir.mkdir(exist_ok=True)
        (settings.data_dir / JOURNAL_NAME).touch()


async def test_the_doctor_asks_the_facilitators_that_are_named(
    closed_market: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"database_url": closed_market, "data_dir": tmp_path / "data"}
    kinds = b'{"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:84532"}]}'
    async with facilitator(answers(kinds)) as one:
        both = {"test_facilitator_url": one.url, "live_facilitator_url": one.url}
        assert await examine(read_settings(_env_file=None, **named, **both, **SECRETS)) == 1
        lines = capsys.readouterr().out.splitlines()
    assert "ok    facilitator test: settles on eip155:84532" in lines
    assert "WRONG facilitator live: does not say that it settles on eip155:8453" in lines
    assert (
        await examine(read_settings(_env_file=None, **named, test_facilitator_url="http://127.0.0.1:9", **SECRETS)) == 1
    )
    assert "WRONG facilitator test: does not answer GET /supported (ConnectError)" in capsys.readouterr().out


@covers("second.old_transfer.proven")
async def test_a_transfer_that_is_older_than_what_it_pays_is_named(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    paid = await trade.job_at("completed", seller, buyer)
    given_back = await trade.failed(seller, buyer)
    await trade.give_back(seller, buyer, given_back)
    store = trade.market.store
    rows = {(row.job_id, row.kind.value): row for row in await settlements_in(store)}
    payment, refund = rows[paid["id"], "payment"], rows[given_back["id"], "refund"]
    refunded = rows[given_back["id"], "payment"]
    assert await differing(store) == {}
    job = await store.read(lambda tx: tx.get(JobRow, paid["id"]))
    assert job.block_time_at_order is not None
    early = job.block_time_at_order - timedelta(seconds=3)
    wrong = (
        (payment, {"block_time": early}),
        (payment, {"block_number": job.head_at_order}),
        (refund, {"block_number": refunded.block_number}),
    )
    for row, changes in wrong:
        await store.write(lambda tx, r=row, c=changes: tx.change(tx.get(SettlementRow, r.id), **c))
        assert await differing(store) == {"settlements": [row.id]}, changes
        whole = {name: getattr(row, name) for name in ("block_time", "block_number")}
        await store.write(lambda tx, r=row, w=whole: tx.change(tx.get(SettlementRow, r.id), **w))


async def settlements_in(store: Store) -> Sequence[SettlementRow]:
    return await store.read(lambda tx: tx.all(Query(select(SettlementRow))))
