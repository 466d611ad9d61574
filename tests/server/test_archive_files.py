"""The files of an archive: what verifies, what is refused, full disks, and files of others."""

import errno
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE
from typing import Any

import orjson
import pytest
import zstandard

import server.archive
from server.adapters.clock import SeedSigner
from server.archive_checks import check_archives
from server.archive_files import DATA, MANIFEST, BadArchive, lines_of, set_aside
from server.findings import Findings
from server.verify import verify
from tests.support.archives import Old, aged, archive, dump, manifest_in, names, restore
from tests.support.trade import Trade
from tools.kernel.canonical_json import canonical
from tools.kernel.keys import did_of, jwk_of

pytestmark = pytest.mark.both_databases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
async def old(trade: Trade) -> Old:
    return await aged(trade)


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


async def test_only_their_owner_reads_the_files(old: Old, folder: Path) -> None:
    await archive(old.market, folder)
    assert modes(folder) == [0o700, 0o600, 0o600]


def modes(folder: Path) -> list[int]:
    """Return the permissions of a folder and of the files in it."""
    return [S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())]


@pytest.mark.parametrize("failing", [1, 2])
async def test_a_full_disk_leaves_no_file_and_moves_nothing(
    failing: int, old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file is the data, the second its manifest."""
    before, calls = await dump(old.market.store), list[Path]()

    def full(path: Path) -> None:
        calls.append(path)
        if len(calls) == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("server.atomic_files.sync", full)
        with pytest.raises(OSError, match="No space left"):
            await archive(old.market, folder)
    assert (names(folder), await dump(old.market.store)) == (set(), before)
    assert (await archive(old.market, folder)).jobs == 3


async def test_a_file_that_is_signed_by_another_before_its_rows_are_deleted_is_refused(
    old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other has the same rows, but could have changed receipts and cases."""
    real: Callable[..., Path] = server.archive.write
    before = await dump(old.market.store)

    def write(*given: Any) -> Path:
        manifest = real(*given)
        resigned(manifest, SeedSigner(bytes(range(32))))
        return manifest

    with monkeypatch.context() as patch:
        patch.setattr(server.archive, "write", write)
        with pytest.raises(BadArchive, match="signed by another key"):
            await archive(old.market, folder)
    assert await dump(old.market.store) == before


async def test_a_file_that_another_run_sets_aside_meanwhile_is_no_fault(
    old: Old, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Path] = server.archive.write

    def write(*given: Any) -> Path:
        manifest = real(*given)
        set_aside(folder, manifest.stem)
        return manifest

    with monkeypatch.context() as patch:
        patch.setattr(server.archive, "write", write)
        assert (await archive(old.market, folder)).jobs == 0
    assert (await archive(old.market, folder)).jobs == 3


async def test_an_older_file_is_never_restored_after_a_newer_one(old: Old, folder: Path) -> None:
    market = old.market
    await archive(market, folder)
    await restore(market, folder)
    await market.call("post_message", by=old.buyer, thread_id=old.job["thread_id"], body="Still here?")
    before = await dump(market.store)
    await archive(market, folder)
    for stale in names(folder, ".changed"):
        (folder / stale).rename(folder / stale.removesuffix(".changed"))
    assert len(names(folder, MANIFEST)) == 2
    assert (await archive(market, folder)).jobs == 0
    assert len(names(folder, ".changed")) == 2
    for stale in names(folder, ".changed"):
        (folder / stale).rename(folder / stale.removesuffix(".changed"))
    assert (await restore(market, folder)).jobs == 3
    assert await dump(market.store) == before
