"""Archives: what moves and what stays, restoring equal rows, changed and hostile files, and races with the market."""

import asyncio
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from sqlalchemy import update

from server.adapters.clock import SeedSigner
from server.archive_checks import check_archives
from server.archive_files import DATA, MANIFEST, BadArchive, lines_of
from server.findings import Findings
from server.settings import BadSettings
from server.verify import verify
from storage.query import Query
from storage.rows import metadata
from storage.tables import ArchiveRow
from tests.support.archives import LONG, MARKS, MOVED, Old, archive, dump, restore
from tests.support.exports import exported
from tests.support.market import TestMarket
from tests.support.statement_counts import statements
from tests.support.trade import Trade
from tests.tools.operator.test_aggregate_checks import differing
from tools.kernel.canonical_json import canonical
from tools.kernel.keys import did_of, jwk_of

pytestmark = pytest.mark.both_databases


def names(folder: Path, ending: str = "") -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.endswith(ending)}


def manifest_in(folder: Path) -> Path:
    """Return the only manifest in a folder."""
    (found,) = names(folder, MANIFEST)
    return folder / found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
async def old(trade: Trade) -> Old:
    made = await Old.made(trade)
    made.grow_old()
    await made.market.workers.purge_old()
    return made


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


# The files: what verifies, and what is refused.


async def test_an_archive_verifies_offline_with_its_receipts_outputs_and_cases(
    old: Old, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await archive(old.market, folder)
    now, own = old.market.clock.now(), did_of(old.market.market.world.signer.public_key)
    assert verify(folder, now, own) == 0
    said = capsys.readouterr().out
    assert [said.count(f"VALID   {kind} ") for kind in ("archive", "receipt", "job")] == [1, 3, 2]
    manifest = manifest_in(folder)
    _, lines = lines_of(manifest, now)
    cases = [told["dispute"] for line in lines if (told := orjson.loads(line)).get("dispute")]
    (case,) = cases
    assert (case["id"], case["case"]["job"]["output"]) == (old.court.dispute_id, {"english": "good day"})
    assert case["tally"]["seller"] == 2

    assert verify(folder, now, "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH") == 1
    retired = folder / "retired"
    retired.write_bytes(orjson.dumps({"keys": [{"did": own, "retired_at": "2026-11-27T00:00:00.000Z"}]}))
    assert verify(folder, now, None, retired) == 1


def resigned(manifest: Path, signer: SeedSigner, **changes: Any) -> None:
    """Change a manifest and sign it again."""
    body = orjson.loads(manifest.read_bytes())["archive"] | changes
    public = signer.public_key
    signature = {"kid": jwk_of(public)["kid"], "did": did_of(public), "sig": signer.sign(canonical(body)).hex()}
    manifest.write_bytes(orjson.dumps({"archive": body, "signature": signature}))


def replaced(manifest: Path, signer: SeedSigner, data: bytes, **changes: Any) -> None:
    """Replace the file of a manifest, and sign it again."""
    manifest.with_suffix(DATA).write_bytes(data)
    resigned(manifest, signer, sha256=sha256(data).hexdigest(), bytes=len(data), **changes)


def bomb(size: int) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(bytes(size))


def with_lines(raw: bytes) -> Any:
    """Return a change of the file to these lines, which the market's key has signed."""
    data = zstandard.ZstdCompressor(level=3).compress(raw)
    return lambda manifest, signer: replaced(manifest, signer, data, unpacked_bytes=len(raw))


def flipped(manifest: Path, _: SeedSigner) -> None:
    file = manifest.with_suffix(DATA)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def elsewhere(manifest: Path, _: SeedSigner) -> None:
    file = manifest.with_suffix(DATA)
    outside = file.with_name("outside")
    file.rename(outside)
    file.symlink_to(outside)


def huge(manifest: Path, _: SeedSigner) -> None:
    os.truncate(manifest, 1024 * 1024)


CHANGES: dict[str, Any] = {
    "flipped": (flipped, "not the file that its manifest was signed for"),
    "gone": (lambda manifest, _: manifest.with_suffix(DATA).unlink(), "missing"),
    "elsewhere": (elsewhere, "not a plain file"),
    "huge": (huge, "more than"),
    "no JSON": (lambda manifest, _: manifest.write_bytes(b"{"), "not the manifest"),
    "unsigned": (
        lambda manifest, _: manifest.write_bytes(manifest.read_bytes().replace(b'"jobs": 3', b'"jobs": 4')),
        "signature does not match",
    ),
    "path": (lambda manifest, signer: resigned(manifest, signer, name="../../etc/passwd"), "not the manifest of arc_"),
    "version": (lambda manifest, signer: resigned(manifest, signer, version=2), "not the manifest of arc_"),
    "bomb": (lambda manifest, signer: replaced(manifest, signer, bomb(1 << 28), unpacked_bytes=1000), "unpack to 1000"),
    "large": (lambda manifest, signer: replaced(manifest, signer, bomb(1 << 20), unpacked_bytes=1 << 40), "between 0"),
    "no zstd": (lambda manifest, signer: replaced(manifest, signer, b"x" * 99), "nknown frame"),
    "no lines": (with_lines(b"\0" * 9), "unexpected character"),
    "empty lines": (with_lines(b"\n" * (1 << 20)), "zero-length"),
    "long line": (with_lines(b"[" + b"[]," * (3 << 20) + b"[]]\n"), "a line of"),
    "list": (with_lines(b"[]\n"), "no attribute"),
    "other table": (with_lines(b'{"table":"jobs","row":{"part":"output/0","job_id":[],"text":1}}\n'), "another table"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_file_is_refused_and_nothing_of_it_is_restored(
    change: str, old: Old, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await archive(old.market, folder)
    before, manifest = await dump(old.market.store), manifest_in(folder)
    act, why = CHANGES[change]
    act(manifest, old.market.market.world.signer)
    with pytest.raises(BadArchive, match=f"{why}|not the file that was archived"):
        await restore(old.market, folder)
    assert await dump(old.market.store) == before
    assert verify(folder, old.market.clock.now()) == 1
    assert re.search(why, capsys.readouterr().out)
    findings = Findings()
    await check_archives(old.market.store, folder, findings)
    assert findings.exit_code == 1


@pytest.mark.parametrize("own", [True, False])
async def test_a_file_with_other_rows_is_not_restored_even_if_it_is_signed(own: bool, old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    manifest = manifest_in(folder)
    _, lines = lines_of(manifest, old.market.clock.now())
    raw = b"".join(line.replace(b"Thank you.", b"Never paid") + b"\n" for line in lines)
    signer = SeedSigner(bytes(32) if own else bytes(range(32)))
    replaced(manifest, signer, zstandard.ZstdCompressor().compress(raw), unpacked_bytes=len(raw))
    with pytest.raises(BadArchive, match="not the file that was archived"):
        await restore(old.market, folder)


async def test_files_of_another_market_are_left_alone(old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    await restore(old.market, folder)
    manifest = manifest_in(folder)
    resigned(manifest, SeedSigner(bytes(range(32))))
    kept = manifest.read_bytes()
    assert (await archive(old.market, folder)).files == 1
    assert manifest.read_bytes() == kept
    assert len(names(folder, MANIFEST)) == 2


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


async def test_two_runs_and_readers_at_once_archive_each_job_once(
    old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
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
    await asyncio.gather(*(archive(market, folder / str(n)) for n in range(2)))
    stop.set()
    assert set().union(*await asyncio.gather(*readers)) <= {(False, True), (True, False)}
    archived = await market.store.read(lambda tx: tx.all(Query(metadata.tables["archived_jobs"].select())))
    assert len(archived) == len({row.job_id for row in archived}) == 3
    for one in [folder / "0", folder / "1"]:
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
