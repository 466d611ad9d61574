"""The sandbox chain's journal: one line per block, on disk before the block is visible to clients.

It imports nothing of the chain, so the market's process can use it too.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import orjson

from server.atomic_files import sync

JOURNAL_NAME: Final = "sandbox-chain.jsonl"
LOCK_NAME: Final = "sandbox-chain.lock"
FORMAT: Final = 1
RESET_HINT: Final = "`emporion sandbox reset` discards the sandbox's chain together with its database"
_LOCK_WAIT_IN_SECONDS: Final = 5.0
_LOCK_POLL_IN_SECONDS: Final = 0.05


class JournalDamaged(Exception):
    """The journal cannot be replayed; the message says why and names the reset command."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}; {RESET_HINT}")


class JournalInUse(Exception):
    """Another sandbox uses the same directory."""


class JournalUnwritable(Exception):
    """A block could not be written to disk, so it was not made."""


class Header(NamedTuple):
    """The first line: chain id, time of block 0 in Unix seconds, and the hash of the contracts."""

    chain_id: int
    genesis_time: int
    contracts: str


class Sealed(NamedTuple):
    """A recorded block: its number, its time in Unix seconds, its raw transactions and its hash."""

    number: int
    timestamp: int
    transactions: tuple[bytes, ...]
    hash: bytes


class Journal:
    """An open journal, locked by one process."""

    def __init__(self, directory: Path, fresh: Header) -> None:
        """Open the journal of a directory, or begin one with `fresh`. A missing directory is made.

        A last line that a crash cut short is dropped: no client has seen its block. Raises JournalDamaged for another
        format, chain or contracts, and JournalInUse if another process has it open.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / JOURNAL_NAME
        with ExitStack() as held:
            held.enter_context(_locked(directory / LOCK_NAME))
            # Unbuffered: after a failed write, nothing may remain that a later flush would write after the repaired end.
            opened = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            self._file = held.enter_context(os.fdopen(opened, "r+b", buffering=0))
            self._size = self._file.read().rfind(b"\n") + 1
            self.header = self._checked(fresh) if self._size else fresh
            self._cut()
            if not self._size:
                self._begin()
            self._held = held.pop_all()
        self._usable = True

    def close(self) -> None:
        """Close the file and release the lock."""
        self._held.close()

    def blocks(self) -> Iterator[Sealed]:
        """Yield the recorded blocks; raises JournalDamaged at a line that is not the next block."""
        with self.path.open("rb") as lines:
            next(lines)
            for number, line in enumerate(lines, 1):
                sealed = _sealed(line)
                if sealed is None or sealed.number != number:
                    raise JournalDamaged(self.path, f"line {number + 1} is not block {number}")
                yield sealed

    def append(self, sealed: Sealed) -> None:
        """Write a block to disk; raises JournalUnwritable, after which the file is unchanged."""
        line = {
            "number": sealed.number,
            "timestamp": sealed.timestamp,
            "transactions": ["0x" + one.hex() for one in sealed.transactions],
            "hash": "0x" + sealed.hash.hex(),
        }
        if not self._usable:
            raise JournalUnwritable(f"{self.path} could not be repaired after a failed write; restart the sandbox")
        try:
            self._write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as problem:
            try:
                self._cut()
            except OSError:
                self._usable = False
            raise JournalUnwritable(f"{self.path} could not be written: {problem.strerror}") from problem

    def _write(self, line: bytes) -> None:
        written = 0
        while written < len(line):  # a nearly full disk writes a part first and refuses the rest
            written += self._file.write(line[written:])
        os.fsync(self._file.fileno())
        self._size += len(line)

    def _cut(self) -> None:
        os.ftruncate(self._file.fileno(), self._size)
        self._file.seek(self._size)

    def _begin(self) -> None:
        self._write(orjson.dumps({"format": FORMAT, **self.header._asdict()}, option=orjson.OPT_APPEND_NEWLINE))
        sync(self.path.parent)

    def _checked(self, fresh: Header) -> Header:
        with self.path.open("rb") as lines:
            found = _object(next(lines))
        if found.get("format") != FORMAT:
            raise JournalDamaged(self.path, f"it is not a journal of format {FORMAT}")
        if found.get("chain_id") != fresh.chain_id:
            raise JournalDamaged(self.path, f"it is of another chain than {fresh.chain_id}")
        if found.get("contracts") != fresh.contracts:
            raise JournalDamaged(self.path, "it was made with another version of the sandbox's contracts")
        genesis_time = found.get("genesis_time")
        if not isinstance(genesis_time, int) or genesis_time < 0:
            raise JournalDamaged(self.path, "it does not say when the chain began")
        return fresh._replace(genesis_time=genesis_time)


def delete_journal(directory: Path) -> None:
    """Delete the chain of a directory. Raises JournalInUse while a sandbox runs on it."""
    if not directory.is_dir():
        return
    with _locked(directory / LOCK_NAME):
        (directory / JOURNAL_NAME).unlink(missing_ok=True)


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _sealed(line: bytes) -> Sealed | None:
    found = _object(line)
    try:
        number, timestamp, raw = found["number"], found["timestamp"], found["transactions"]
        transactions = tuple(bytes.fromhex(one.removeprefix("0x")) for one in raw)
        block_hash = bytes.fromhex(found["hash"].removeprefix("0x"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    numbers = isinstance(number, int) and isinstance(timestamp, int)
    return Sealed(number, timestamp, transactions, block_hash) if numbers else None


def _locked(path: Path) -> BinaryIO:
    """Lock a file until it is closed; raises JournalInUse after _LOCK_WAIT_IN_SECONDS.

    It waits because the sandbox of a killed market takes a moment to end.
    """
    file = path.open("ab")
    deadline = time.monotonic() + _LOCK_WAIT_IN_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except OSError:
            if time.monotonic() > deadline:
                file.close()
                raise JournalInUse(
                    f"another sandbox is running on {path.parent}; stop it, or use another DATA_DIR"
                ) from None
            time.sleep(_LOCK_POLL_IN_SECONDS)
