"""The operator's exports: an agent's own export, and all tables without secrets or sealed outputs, in one snapshot."""

import json
import re
import sqlite3
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.export import MANIFEST, agent_document, export_agent, export_market, find
from server.settings import BadSettings, Settings, read_settings
from storage.migrate import newest
from storage.rows import metadata
from storage.snapshots import SnapshotStore, open_moment
from storage.store import Store
from storage.table_dump import KEPT_BACK, LEFT_OUT, PAGE
from storage.tables import AgentRow, MemoryRow
from storage.transaction import Tx, Unavailable
from storage.vocabulary import Env
from tests.support.databases import PostgresDatabase, close
from tests.support.exports import exported, full
from tests.support.market import START, TestMarket
from tests.support.trade import Trade
from tools.engine.dispatch import Market
from tools.kernel.canonical_json import canonical

LOOKS_SECRET = re.compile(r"secret|seed|hash|token|header|auth|signature|nonce|private|password|pepper|cipher|body")
HARMLESS = {  # they look like secrets and are not
    ("agents", "auth_epoch"), ("dispute_draws", "eligible_hash"), ("dispute_draws", "related_hash"), ("documents", "hash"), ("identities", "token"),
    ("jobs", "order_hash"), ("messages", "body"), ("settlements", "tx_hash"), ("settlements", "block_hash"),
    ("purchases", "nonce"), ("purchases", "tx_hash"), ("faucet_claims", "tx_hash"),
}  # fmt: skip


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    given = {"signing_seed": "00" * 32, "key_pepper": "22" * 32}
    return read_settings(_env_file=None, database_url=database_url, data_dir=tmp_path / "data", **given)


def read(folder: Path) -> dict[str, list[Any]]:
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in folder.glob("*.jsonl")}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def documents(market: TestMarket, moment: SnapshotStore, *of: tuple[str, Env]) -> list[Any]:
    there = Market(moment, market.market.world, market.market.config)
    return [orjson.loads(b"".join([piece async for piece in agent_document(there, *one)])) for one in of]


async def test_an_agents_document_is_the_one_it_gets_itself(trade: Trade, database_url: str) -> None:
    made = await full(trade)
    moment = await open_moment(database_url)
    taken = await documents(
        trade.market, moment, (made.ada.id, Env.TEST), (made.ada.id, Env.LIVE), (made.bo.id, Env.TEST)
    )
    await close(moment)
    assert taken == [
        await exported(trade.market, made.ada),
        await exported(trade.market, made.ada, on="live"),
        await exported(trade.market, made.bo),
    ]


async def test_a_moment_does_not_move_and_is_not_written_to(trade: Trade, database_url: str) -> None:
    made = await full(trade)
    moment = await open_moment(database_url)
    before = await exported(trade.market, made.ada)
    await trade.market.call("put_memory", by=made.ada, key="notes/later", value=1)
    (then,) = await documents(trade.market, moment, (made.ada.id, Env.TEST))
    assert then == before
    assert await exported(trade.market, made.ada) != before
    with pytest.raises(Unavailable, match="only read"):
        await moment.write(lambda tx: None)
    await close(moment)


async def test_a_moment_lost_with_its_connection_is_not_another(
    postgres_url: str, postgres_database: PostgresDatabase
) -> None:
    moment = await open_moment(postgres_url)
    postgres_database.server.disconnect_all(postgres_database.name)
    for _ in range(2):
        with pytest.raises(Unavailable, match="the moment that was being read"):
            await moment.read(lambda tx: tx.get(AgentRow, "agt_0"))
    await close(moment)


async def test_all_tables_are_written_and_nothing_secret(trade: Trade, settings: Settings, tmp_path: Path) -> None:
    made = await full(trade)
    out = tmp_path / "out"
    told = await export_market(settings, out, trade.market.clock.now())
    rows = read(out)
    assert {*rows} == {*metadata.tables} - {*LEFT_OUT}
    assert {name: len(found) for name, found in rows.items()} == told.rows
    assert json.loads((out / MANIFEST).read_text())["files"].keys() == {f"{name}.jsonl" for name in rows}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}
    assert (modes, stat.S_IMODE(out.stat().st_mode)) == ({0o600}, 0o700)
    text = "".join(path.read_text() for path in out.iterdir())
    assert [secret for secret in made.secrets if secret in text] == []
    assert [one["agent_id"] for one in rows["memories"]] == [made.ada.id]
    assert {made.ada.id, made.bo.id} <= {one["id"] for one in rows["agents"]}
    (job,) = [one for one in rows["jobs"] if one["id"] == made.job["id"]]
    assert (job["created_at"], job["price"], "panel_seed" in job) == (made.job["created_at"], made.job["price"], False)
    assert [one["amount"] for one in rows["settlements"] if one["job_id"] == job["id"]] == [job["price"]]


PUBLIC = "said in the open too"


async def test_sealed_words_are_left_out_until_they_are_paid_for(
    trade: Trade, settings: Settings, tmp_path: Path
) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    jobs = [await trade.order(buyer, listing) for _ in range(2)]
    for job, words in zip(jobs, ("nobody has paid for this", PUBLIC), strict=True):
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await trade.deliver(seller, job, {"english": words})
    told = {"budget_max": 1000, "category": "text", "input": {"english": PUBLIC}}
    await trade.market.call("create_bounty", by=buyer, title="Correct this", description="It is English.", **told)
    now = trade.market.clock.now()
    await export_market(settings, tmp_path / "sealed", now)
    rows = read(tmp_path / "sealed")
    assert "nobody has paid for this" not in json.dumps(rows)
    assert {one["part"] for one in rows["job_texts"]} == {"input"}
    assert PUBLIC in json.dumps(rows["documents"]), "the bounty shows the words to everybody"
    delivered = [sha256(canonical({"english": words})).hexdigest() for words in ("nobody has paid for this", PUBLIC)]
    for row in (*rows["jobs"], *rows["job_deliveries"]):
        assert (row["output"], row["output_salt"], row["output_bytes"]) == (None, None, 1024)
    assert not any(one in json.dumps([rows["jobs"], rows["job_deliveries"], rows["events"]]) for one in delivered)
    await trade.pay(buyer, jobs[0])
    await export_market(settings, tmp_path / "paid", now)
    assert "nobody has paid for this" in json.dumps(read(tmp_path / "paid")["job_texts"])


async def test_pages_hold_every_row_once(store: Store, settings: Settings, tmp_path: Path) -> None:
    def fill(tx: Tx) -> None:
        for number in range(2 * PAGE + 1):
            tx.emit(f"agt_{number % 7}", "test", "x", "{}", START)
            row = MemoryRow(
                agent_id=f"agt_{number % 7}", env="test", key=f"k/{number}", version=1, size=1, expires_at=None,
                created_at=START, updated_at=START, value="1",
            )  # fmt: skip
            tx.add(row)

    await store.write(fill)
    told = await export_market(settings, tmp_path / "out", START)
    rows = read(tmp_path / "out")
    assert (told.rows["events"], told.rows["memories"]) == (2 * PAGE + 1, 2 * PAGE + 1)
    assert len({one["id"] for one in rows["events"]}) == 2 * PAGE + 1
    assert len({(one["agent_id"], one["key"]) for one in rows["memories"]}) == 2 * PAGE + 1


async def test_what_cannot_be_exported_is_said_and_nothing_is_written_over(
    market: TestMarket, settings: Settings, tmp_path: Path
) -> None:
    ada = await market.register("Ada")
    there = tmp_path / "there"
    there.mkdir()
    (there / "mine.txt").write_text("kept")
    with pytest.raises(BadSettings, match="is not empty"):
        await export_market(settings, there, START)
    with pytest.raises(BadSettings, match="not the one this database was made with"):
        await export_agent(settings, ada.id, Env.TEST, tmp_path / "ada.json", START)
    moment = await open_moment(settings.database)
    with pytest.raises(BadSettings, match="there is no such agent"):
        await find(moment, "nobody")
    assert (await find(moment, ada.handle)).id == ada.id
    await close(moment)
    await market.as_operator("set_agent_status", agent_id=ada.id, status="suspended")
    moment = await open_moment(settings.database)
    (suspended,) = await documents(market, moment, (ada.id, Env.TEST))
    await close(moment)
    assert suspended["profile"]["data"]["id"] == ada.id
    await market.as_operator("set_agent_status", agent_id=ada.id, status="deleted")
    moment = await open_moment(settings.database)
    with pytest.raises(BadSettings, match="has left"):
        await find(moment, ada.id)
    await close(moment)
    assert names(there) == {"mine.txt"}
    assert "ada.json" not in names(tmp_path)


async def test_tables_of_another_version_are_not_read(store: Store, settings: Settings, tmp_path: Path) -> None:
    await store.write(lambda tx: tx.cursor.execute("UPDATE alembic_version SET version_num = '0001'"))
    try:
        with pytest.raises(Unavailable, match=r"\(0001\) are not those of this version"):
            await export_market(settings, tmp_path / "out", START)
    finally:
        await store.write(lambda tx: tx.cursor.execute(f"UPDATE alembic_version SET version_num = '{newest()}'"))
    assert not (tmp_path / "out").exists()
    nothing = tmp_path / "nothing.db"
    sqlite3.connect(nothing).close()
    with pytest.raises(Unavailable, match="none"):
        await open_moment(f"sqlite:///{nothing}")


def test_each_column_that_looks_like_a_secret_is_kept_back_or_known_to_be_none() -> None:
    assert {*LEFT_OUT} | {*KEPT_BACK} <= {*metadata.tables}
    assert not {*LEFT_OUT} & {*KEPT_BACK}
    taken = [table for table in metadata.sorted_tables if table.name not in LEFT_OUT]
    left = {(table.name, column.name): column for table in taken for column in table.c}
    kept = {(name, column) for name, columns in KEPT_BACK.items() for column in columns}
    assert kept <= {*left}
    assert {key for key, column in left.items() if LOOKS_SECRET.search(column.name)} - kept == HARMLESS
    assert not {key for key, column in left.items() if column.type.python_type is bytes} - kept
