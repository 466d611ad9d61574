"""Archives: what moves and what stays, restoring equal rows, and races with the market."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import update

from server.archive_checks import check_archives
from server.archive_files import MANIFEST, BadArchive
from server.findings import Findings
from server.settings import BadSettings
from storage.query import Query
from storage.rows import metadata
from storage.tables import ArchiveRow
from tests.support.archives import LONG, MARKS, MOVED, Old, aged, archive, dump, names, restore
from tests.support.exports import exported
from tests.support.market import TestMarket
from tests.support.statement_counts import statements
from tests.support.trade import Trade
from tests.tools.operator.test_aggregate_checks import differing

pytestmark = pytest.mark.both_databases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
async def old(trade: Trade) -> Old:
    return await aged(trade)


async def test_texts_move_into_a_file_and_every_figure_and_receipt_stays(old: Old, folder: Path) -> None:
    market, buyer = old.market, old.buyer

    async def shown() -> list[Any]:
        job = {"job_id": old.job["id"]}
        agent = {"agent_id": old.seller.id}
        calls = [("get_receipt", job), ("get_reputation", agent), ("list_reviews", agent), ("list_settlements", {})]
        return [await market.call(name, by=buyer, **given) for name, given in calls]

    kept, before = await shown(), await dump(market.store)
    moved = await archive(market, folder)
    after = await dump(market.store)
    assert (moved.jobs, moved.files, moved.too_large) == (3, 1, ())
    assert {name for name in before if before[name] != after[name]} == {*MOVED, *MARKS, "agent_storage"}
    assert await differing(market.store) == {}
    assert await shown() == kept

    job = await old.trade.seen(buyer, old.job)
    marks = ("output_hash", "output_salt", "output_commitment")
    assert [job[name] for name in ("input", "output", "status")] == [None, None, "completed"]
    assert [job[name] for name in marks] == [kept[0]["receipt"]["job"][name] for name in marks]
    assert job["archived_at"] is not None
    assert (await old.trade.seen(buyer, old.owing))["archived_at"] is None


async def test_a_restored_archive_brings_back_equal_rows(old: Old, folder: Path) -> None:
    before = await dump(old.market.store)
    assert (await archive(old.market, folder)).jobs == 3
    assert (await archive(old.market, folder)).jobs == 0
    assert (await restore(old.market, folder)).jobs == 3
    assert await dump(old.market.store) == before
    assert (await restore(old.market, folder)).jobs == 0
    assert await dump(old.market.store) == before
    assert await differing(old.market.store) == {}


async def test_one_job_is_restored_with_the_jobs_of_its_file(old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    with pytest.raises(BadSettings, match="is not archived"):
        await restore(old.market, folder, old.owing["id"])
    assert (await restore(old.market, folder, old.job["id"])).files == 1
    assert (await old.trade.seen(old.buyer, old.job))["output"] == {"english": "Good day."}


async def test_a_restored_job_is_archived_again_from_the_same_file_unless_it_changed(old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    await restore(old.market, folder)
    files = names(folder)
    assert (await archive(old.market, folder)).jobs == 3
    assert names(folder) == files
    await restore(old.market, folder)
    await old.market.call("post_message", by=old.buyer, thread_id=old.job["thread_id"], body="Still here?")
    before = await dump(old.market.store)
    assert (await archive(old.market, folder)).jobs == 3
    assert names(folder, ".changed") == {f"{name}.changed" for name in files}
    await restore(old.market, folder)
    assert await dump(old.market.store) == before


async def test_what_is_young_or_owes_or_is_not_over_stays(trade: Trade, folder: Path) -> None:
    made = await Old.made(trade)
    made.grow_old(LONG - 2 * 86_400)
    with pytest.raises(BadSettings, match="180 days"):
        await archive(made.market, folder, made.market.clock.now())
    assert (await archive(made.market, folder)).jobs == 0
    made.grow_old(2 * 86_400)
    running = await trade.job_at("in_progress", made.seller, made.buyer)
    await archive(made.market, folder)
    for job in (made.owing, running):
        assert (await trade.seen(made.buyer, job))["input"] == {"text": "guten Tag"}
    await trade.give_back(made.seller, made.buyer, made.owing)
    assert (await archive(made.market, folder)).jobs == 1
    assert (await trade.seen(made.buyer, made.owing))["archived_at"]
    assert await differing(made.market.store) == {}


async def test_an_archived_job_takes_a_refund_and_an_export_leaves_its_texts_out(old: Old, folder: Path) -> None:
    before = await exported(old.market, old.buyer)
    await archive(old.market, folder)
    sent = old.trade.evm.transfer(old.seller.wallet, old.buyer.wallet, 10_000)
    given = {"job_id": old.job["id"], "transaction": sent, "note": "A gift."}
    assert (await old.market.call("refund_job", by=old.seller, **given))["refund"]["status"] == "settled"
    after = await exported(old.market, old.buyer)
    (job,) = [one for one in after["jobs"]["data"] if one["job"]["id"] == old.job["id"]]
    assert (job["deliveries"], job["events"]) == ([], [])
    assert len(after["jobs"]["data"]) == len(before["jobs"]["data"])
    assert await differing(old.market.store) == {}
    await restore(old.market, folder)
    assert await differing(old.market.store) == {}


async def test_a_late_transfer_to_an_archived_job_is_owed_back_and_no_transaction_counts_twice(
    trade: Trade, folder: Path
) -> None:
    market, (seller, buyer) = trade.market, await trade.parties()
    done = await trade.job_at("completed", seller, buyer)
    expired = await trade.job_at("delivered", seller, buyer)
    terms = await market.call("pay_job", by=buyer, job_id=expired["id"])
    for _ in range(2):  # it expires; 30 days later its output is deleted
        market.pass_seconds(LONG / 2)
        await market.workers.sweep()
        await market.workers.purge_old()
    market.pass_seconds(LONG)
    assert (await archive(market, folder)).jobs == 2
    spent = done["payment"]["settlement"]["transaction"]
    late = trade.evm.transfer(buyer.wallet, terms["pay_to"], terms["amount"])
    refused = [
        await market.refusal("pay_job", by=buyer, job_id=expired["id"], transaction=one) for one in (spent, late, late)
    ]
    assert [error["code"] for error in refused] == ["transaction_already_used", "job_not_payable", "job_not_payable"]
    assert (await market.call("get_job", by=buyer, job_id=expired["id"]))["refund_due"]
    given_back = await trade.give_back(seller, buyer, expired, terms["amount"])
    assert (given_back["refund_due"], given_back["archived_at"] is None) == (False, False)
    assert await differing(market.store) == {}
    assert (await restore(market, folder)).jobs == 2
    assert await differing(market.store) == {}


async def test_jobs_of_deleted_agents_come_back_and_every_figure_stays(old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    for agent in (old.buyer, old.seller):
        await old.market.call("delete_me", by=agent, confirm=agent.handle)
    await old.market.workers.close_deleted_accounts()
    assert await differing(old.market.store) == {}
    assert (await restore(old.market, folder)).jobs == 3
    assert await differing(old.market.store) == {}


async def test_a_page_of_archived_jobs_takes_as_many_statements_as_one_of_them(trade: Trade, folder: Path) -> None:
    market, (seller, buyer) = trade.market, await trade.parties()
    listing = await trade.listing(seller, price=0)
    for _ in range(5):
        job = await trade.order(buyer, listing)
        await market.call("decline_job", by=seller, job_id=job["id"])
    market.pass_seconds(LONG)
    await market.workers.purge_old()
    assert (await archive(market, folder)).jobs == 5
    count, taken = statements(market.store), dict[int, int]()
    for limit in (4, 1, 4):  # the first call also reads the key
        before = next(count)
        page = await market.call("list_jobs", by=seller, limit=limit)
        taken[limit] = next(count) - before
        assert [one["archived_at"] is None for one in page["data"]] == [False] * limit
    count.close()
    assert taken[1] == taken[4]


async def test_the_doctor_compares_the_archive_with_the_rows_that_stayed(
    old: Old, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    market = old.market
    await archive(market, folder)
    before = await dump(market.store)

    async def said(folder: Path | None) -> tuple[int, str]:
        findings = Findings()
        await check_archives(market.store, folder, findings)
        return findings.exit_code, capsys.readouterr().out

    assert await said(None) == (0, "ok    archive: 3 jobs in 1 files, not read; --with-archive FOLDER reads them\n")
    assert await said(folder) == (0, "ok    archive: 3 jobs in 1 files, of which 0 are wrong\n")
    assert await dump(market.store) == before
    deliveries, threads = metadata.tables["job_deliveries"], metadata.tables["threads"]
    first = update(deliveries).where(deliveries.c.job_id == old.job["id"], deliveries.c.revision == 0)
    thread = update(threads).where(threads.c.job_id == old.job["id"])
    for spoilt in (Query[None](first.values(output_bytes=1)), Query[None](thread.values(message_count=99))):
        await market.store.write(lambda tx, s=spoilt: tx.run(s))  # type: ignore[misc]
        assert await differing(market.store) == {}
        code, text = await said(folder)
        assert (code, spoilt.statement.table.name in text) == (1, True)


# Beside a market that is used.


async def test_a_job_that_changes_after_its_file_was_written_stays_whole(
    old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is posted when the file is on the disk and its rows are not deleted yet."""
    real = old.market.store.write

    async def write(work: Any, name: str = "unit") -> Any:
        if name == "archive":
            monkeypatch.setattr(old.market.store, "write", real)
            await old.market.call("post_message", by=old.seller, thread_id=old.job["thread_id"], body="One more.")
        return await real(work, name)

    monkeypatch.setattr(old.market.store, "write", write)
    assert (await archive(old.market, folder)).jobs == 0
    assert len(names(folder, ".changed")) == 2
    assert (await old.trade.seen(old.buyer, old.job))["archived_at"] is None
    assert await differing(old.market.store) == {}
    assert (await archive(old.market, folder)).jobs == 3


@pytest.mark.parametrize("places", [("one", "other"), ("one", "one")], ids=["two folders", "one folder"])
async def test_two_runs_and_readers_at_once_archive_each_job_once(
    places: tuple[str, str], old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.operator.archives.PART_JOBS", 1)
    market, thread = old.market, {"thread_id": old.job["thread_id"]}
    before = await dump(market.store)
    stop = asyncio.Event()

    async def read() -> set[Any]:
        seen = set()
        while not stop.is_set():
            job = await old.trade.seen(old.buyer, old.job)
            answer = await market.answer("list_messages", thread, key=old.buyer.keys["test"])
            seen.add((job["output"] is None, job["archived_at"] is None))
            assert answer.refused or len(orjson.loads(answer.body)["data"]) == 2
            await asyncio.sleep(0)
        return seen

    readers = [asyncio.create_task(read()) for _ in range(4)]
    await asyncio.gather(*(archive(market, folder / place) for place in places))
    stop.set()
    assert set().union(*await asyncio.gather(*readers)) <= {(False, True), (True, False)}
    archived = await market.store.read(lambda tx: tx.all(Query(metadata.tables["archived_jobs"].select())))
    assert len(archived) == len({row.job_id for row in archived}) == 3
    for one in {folder / place for place in places}:
        kept = {row.name for row in await market.store.read(lambda tx: tx.all(ARCHIVES))}
        await restore_some(market, one, kept)
    assert texts(await dump(market.store)) == texts(before)


ARCHIVES: Query[ArchiveRow] = Query(metadata.tables["archives"].select())


async def restore_some(market: TestMarket, folder: Path, archived: set[str]) -> None:
    """Restore what this folder has; the other archives are in another one."""
    has_all = archived <= {name.removesuffix(MANIFEST) for name in names(folder, MANIFEST)}
    if has_all:
        await restore(market, folder)
    else:
        with pytest.raises(BadArchive, match="does not have"):
            await restore(market, folder)


def texts(rows: Any) -> Any:
    return {name: rows[name] for name in (*MOVED, *MARKS)}


async def test_a_job_larger_than_a_file_may_be_stays(old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.operator.archives.MAX_JOB_BYTES", 100)
    moved = await archive(old.market, folder)
    assert moved.jobs == 3 - len(moved.too_large)
    assert old.job["id"] in moved.too_large
    assert (await old.trade.seen(old.buyer, old.job))["archived_at"] is None
