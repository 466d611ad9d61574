"""The sandbox's journal after a kill, a full disk, damage or a change of version."""

import errno
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.sandbox import journal as journals
from server.sandbox.evm import DevChain
from server.sandbox.genesis import contracts_hash
from server.sandbox.journal import (
    Header,
    Journal,
    JournalDamaged,
    JournalInUse,
    JournalUnwritable,
    Sealed,
    delete_journal,
)
from server.sandbox.methods import RpcError, answer
from server.sandbox.restore import open_chain

SOMEBODY = "0x" + "11" * 20
BEGINNING = 1_800_000_000
FRESH = Header(84532, BEGINNING, "abc")
BLOCKS = [Sealed(number, BEGINNING + number, (b"\x02" * number, b"\x03"), bytes([number]) * 32) for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_LOCK_WAIT_IN_SECONDS", 0.0)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The file of a journal with three blocks."""
    book = Journal(tmp_path, FRESH)
    for block in BLOCKS:
        book.append(block)
    book.close()
    return book.path


def read(directory: Path, fresh: Header = FRESH) -> tuple[Header, list[Sealed]]:
    book = Journal(directory, fresh)
    try:
        return book.header, list(book.blocks())
    finally:
        book.close()


def opened(directory: Path) -> tuple[DevChain, Journal]:
    return open_chain(directory, 84532, lambda: BEGINNING)


@pytest.fixture
def traded(tmp_path: Path) -> Path:
    """The file of a real chain with three blocks."""
    chain, book = opened(tmp_path)
    for amount in (1, 2, 3):
        answer(chain, "dev_faucet", [SOMEBODY, amount])
    book.close()
    return book.path


def test_what_was_written_is_read_and_the_first_header_stays(written: Path) -> None:
    assert read(written.parent, FRESH._replace(genesis_time=BEGINNING + 99)) == (FRESH, BLOCKS)
    assert written.stat().st_mode & 0o777 == 0o600


def test_every_cut_of_the_last_line_leaves_the_blocks_before_it(written: Path) -> None:
    content = written.read_bytes()
    start = content[:-1].rindex(b"\n") + 1
    for size in range(start, len(content)):
        written.write_bytes(content[:size])
        assert read(written.parent) == (FRESH, BLOCKS[:2])
        assert written.read_bytes() == content[:start]


def test_a_header_cut_short_begins_anew(written: Path) -> None:
    written.write_bytes(written.read_bytes()[:20])
    later = FRESH._replace(genesis_time=BEGINNING + 5)
    assert read(written.parent, later) == (later, [])


@pytest.mark.parametrize("line, change", [(2, b""), (2, b"{}\n"), (2, b"[1]\n"), (3, b"\xff\n"), (2, None)])
def test_damage_before_the_end_stops_the_start_and_names_the_reset(
    written: Path, line: int, change: bytes | None
) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line] if change is None else change
    written.write_bytes(b"".join(lines))
    with pytest.raises(JournalDamaged, match="`emporion sandbox reset`"):
        read(written.parent)


@pytest.mark.parametrize(
    "field, value",
    [("format", 2), ("chain_id", 8453), ("contracts", "other"), ("genesis_time", None), ("genesis_time", -1)],
)
def test_a_journal_of_another_version_or_chain_stops_the_start(written: Path, field: str, value: Any) -> None:
    header, rest = written.read_bytes().split(b"\n", 1)
    written.write_bytes(orjson.dumps(orjson.loads(header) | {field: value}) + b"\n" + rest)
    with written.open("ab") as file:
        file.write(b"a torn line, which is not ours to cut")
    before = written.read_bytes()
    with pytest.raises(JournalDamaged, match="`emporion sandbox reset`"):
        read(written.parent)
    assert written.read_bytes() == before


def test_a_garbled_header_stops_the_start(written: Path) -> None:
    written.write_bytes(b"what?\n" + written.read_bytes())
    with pytest.raises(JournalDamaged, match="not a journal of format 1; `emporion sandbox reset`"):
        read(written.parent)


def test_one_process_at_a_time_has_the_journal(tmp_path: Path) -> None:
    first = Journal(tmp_path, FRESH)
    with pytest.raises(JournalInUse, match="another sandbox is running"):
        Journal(tmp_path, FRESH)
    with pytest.raises(JournalInUse):
        delete_journal(tmp_path)
    first.close()
    delete_journal(tmp_path)
    assert not first.path.exists()
    delete_journal(tmp_path / "missing")


def test_a_line_is_on_disk_before_the_block_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, book = opened(tmp_path)
    synced: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append((len(book.path.read_bytes().splitlines()), chain.number)))
    answer(chain, "dev_gas", [SOMEBODY])
    book.close()
    assert (synced, chain.number) == ([(2, 0)], 1)


def test_a_full_disk_refuses_the_transaction_and_leaves_chain_and_journal_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, book = opened(tmp_path)
    answer(chain, "dev_gas", [SOMEBODY])
    before = book.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RpcError, match="could not be written: No space left on device") as problem:
            answer(chain, "dev_gas", [SOMEBODY])
    assert (problem.value.code, chain.number, book.path.read_bytes()) == (-32603, 1, before)
    answer(chain, "dev_gas", [SOMEBODY])
    book.close()
    again, book = opened(tmp_path)
    book.close()
    assert (again.number, answer(again, "eth_getBalance", [SOMEBODY])) == (2, hex(2 * 10**18))


def test_a_journal_that_cannot_be_repaired_takes_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Journal(tmp_path, FRESH)

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(JournalUnwritable, match="Input/output error"):
            book.append(BLOCKS[0])
    with pytest.raises(JournalUnwritable, match="restart the sandbox"):
        book.append(BLOCKS[0])
    book.close()


def test_a_chain_comes_back_and_goes_on_where_it_was(traded: Path) -> None:
    first, book = opened(traded.parent)
    book.close()
    second, book = opened(traded.parent)
    answer(second, "dev_faucet", [SOMEBODY, 4])
    book.close()
    third, book = opened(traded.parent)
    book.close()
    assert (first.number, second.number, third.number) == (3, 4, 4)
    assert third.head == second.head
    assert third.header(3) == first.head


def test_a_changed_transaction_or_time_is_noticed_at_the_start(traded: Path) -> None:
    content = traded.read_bytes()
    lines = [orjson.loads(line) for line in content.splitlines()]
    changes: list[tuple[str, Any]] = [
        ("timestamp", lines[2]["timestamp"] + 0.0),
        ("timestamp", lines[2]["timestamp"] - 1),
        ("hash", lines[1]["hash"]),
        ("transactions", lines[1]["transactions"]),
        ("transactions", []),
        ("transactions", ["0x00"]),
        ("transactions", ["zz"]),
        ("transactions", [lines[2]["transactions"][0][:-2] + "00"]),
    ]
    for field, value in changes:
        damaged = [*lines[:2], lines[2] | {field: value}, *lines[3:]]
        traded.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in damaged))
        with pytest.raises(JournalDamaged, match="`emporion sandbox reset`"):
            opened(traded.parent)
    traded.write_bytes(content)
    chain, book = opened(traded.parent)
    book.close()
    assert chain.number == 3


def test_the_journal_names_the_contracts_it_was_made_with(traded: Path) -> None:
    header = orjson.loads(traded.read_bytes().splitlines()[0])
    assert header == {"format": 1, "chain_id": 84532, "genesis_time": BEGINNING, "contracts": contracts_hash()}
