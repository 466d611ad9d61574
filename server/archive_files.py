"""The files of an archive: `arc_….jsonl.zst` with the jobs, and beside it `arc_….json`, its signed manifest.

A file counts only once it has a manifest; both are on the disk by then. Files come back from other disks and other
people, so nothing in them is believed before its hash. Sizes, names and the number of bytes that are unpacked have
limits.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import zstandard

from server.atomic_files import sync, write_file
from server.settings import BadSettings
from tools.jobs.signed_documents import Checked, Retired, all_checked
from tools.kernel.ids import Prefix, is_id
from tools.kernel.records import Json
from tools.operator.archives import Part, parsed

DATA, MANIFEST, STALE = ".jsonl.zst", ".json", ".changed"
MAX_MANIFEST, MAX_PACKED, MAX_UNPACKED = 65_536, 128 * 1024 * 1024, 256 * 1024 * 1024  # bytes
MAX_LINE = 8 * 1024 * 1024  # bytes, because a line of JSON takes many times as much memory once it is parsed
MAX_WINDOW = 8 * 1024 * 1024  # bytes of memory that a file may ask the decompressor for
LEVEL = 10


class BadArchive(BadSettings):
    """A file is missing, was changed, or is not an archive."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A new file before it is written: its bytes, and its manifest without the signature."""

    name: str
    data: bytes
    manifest: dict[str, Json]


def pack(name: str, made_at: str, lines: Sequence[bytes], jobs: int, platform: dict[str, Json]) -> Packed:
    """Compress the lines of some jobs, and describe them in a manifest."""
    raw = b"".join(line + b"\n" for line in lines)
    if len(raw) > MAX_UNPACKED or max(map(len, lines)) >= MAX_LINE:
        raise BadArchive(f"{name}: {len(raw)} bytes, more than can be read again")
    data = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(raw)
    tables = Counter(str(told["table"]) for told in map(orjson.loads, lines) if "table" in told)
    manifest: dict[str, Json] = {
        "object": "archive",
        "version": 1,
        "name": name,
        "platform": platform,
        "made_at": made_at,
        "sha256": sha256(data).hexdigest(),
        "bytes": len(data),
        "unpacked_bytes": len(raw),
        "jobs": jobs,
        "rows": dict(sorted(tables.items())),
    }
    return Packed(name, data, manifest)


def write(folder: Path, packed: Packed, signature: Any) -> Path:
    """Write a file, then its manifest, to the disk; return the path of the manifest.

    Raises OSError and leaves neither behind if the disk is full.
    """
    data = folder / (packed.name + DATA)
    write_file(data, packed.data)
    sync(folder)
    signed = orjson.dumps({"archive": packed.manifest, "signature": signature}, option=orjson.OPT_INDENT_2)
    unfinished, manifest = folder / (packed.name + ".unfinished"), folder / (packed.name + MANIFEST)
    try:
        write_file(unfinished, signed)
    except OSError:
        data.unlink()
        raise
    unfinished.replace(manifest)
    sync(folder)
    return manifest


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can read, unless it exists, and sync it to the disk."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in made:
        sync(one.parent)


def manifests(folder: Path) -> list[Path]:
    """Return the manifests in a folder, the oldest first; raises BadArchive if it is no folder."""
    if not folder.is_dir():
        raise BadArchive(f"{folder}: no such folder")
    return sorted(path for path in folder.glob("*" + MANIFEST) if is_id(Prefix.ARCHIVE, path.stem))


def set_aside(folder: Path, name: str) -> None:
    """Rename a file whose jobs were changed before their rows were deleted."""
    for ending in (MANIFEST, DATA):
        path = folder / (name + ending)
        with suppress(FileNotFoundError):  # another run was faster
            path.replace(path.with_name(path.name + STALE))
    sync(folder)


def check_manifest(path: Path, now: datetime, trusted: str | None = None, retired: Retired | None = None) -> Checked:
    """Check the signature of a manifest offline, as all_checked does."""
    (found,) = all_checked(_signed(path), now, trusted, retired)
    return found


def lines_of(
    path: Path, now: datetime, signer: str | None = None, archived: str | None = None
) -> tuple[dict[str, Json], Iterator[bytes]]:
    """Return a manifest and the lines of its file.

    With `signer` only that did:key may have signed it; with `archived` the file must have this SHA-256, in hex. Raises
    BadArchive if anything differs from what was signed.
    """
    fault = check_manifest(path, now, signer).fault
    if fault is not None:
        raise BadArchive(f"{path}: {fault}")
    told: dict[str, Json] = _signed(path)["archive"]
    if told.get("version") != 1 or told.get("name") != path.stem:
        raise BadArchive(f"{path}: not the manifest of {path.stem}")
    if archived is not None and told.get("sha256") != archived:
        raise BadArchive(f"{path}: not the file that was archived")
    file, size = path.with_suffix(DATA), told.get("unpacked_bytes")
    data = _read(file, MAX_PACKED)
    if sha256(data).hexdigest() != told.get("sha256"):
        raise BadArchive(f"{file}: not the file that its manifest was signed for")
    if not isinstance(size, int) or not 0 <= size <= MAX_UNPACKED:
        raise BadArchive(f"{path}: unpacked_bytes is not between 0 and {MAX_UNPACKED}")
    return told, _lines(file, _unpacked(file, data, size))


def read_part(path: Path, now: datetime, signer: str | None = None, archived: str | None = None) -> Part:
    """Return the jobs and rows of a file; the arguments are those of `lines_of`.

    Raises BadArchive if it is not whole or was changed.
    """
    told, lines = lines_of(path, now, signer, archived)
    try:
        made_at = datetime.fromisoformat(told["made_at"])
        return parsed(path.stem, told["sha256"], made_at, lines)
    except (KeyError, TypeError, ValueError) as bad:
        raise BadArchive(f"{path}: signed, but not an archive: {bad}") from None


def _unpacked(file: Path, data: bytes, size: int) -> bytes:
    """Return the content of a compressed file, of which at most size + 1 bytes are unpacked."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    try:
        with unpacker.stream_reader(BytesIO(data)) as reader:
            raw = reader.read(size + 1)
    except zstandard.ZstdError as bad:
        raise BadArchive(f"{file}: {bad}") from None
    if len(raw) != size:
        raise BadArchive(f"{file}: it does not unpack to {size} bytes")
    return raw


def _lines(file: Path, raw: bytes) -> Iterator[bytes]:
    """Yield the lines one by one, because a list of many short ones takes too much memory."""
    for line in BytesIO(raw):
        if len(line) > MAX_LINE:
            raise BadArchive(f"{file}: a line of {len(line)} bytes")
        yield line.removesuffix(b"\n")


def _signed(path: Path) -> dict[str, Any]:
    raw = _read(path, MAX_MANIFEST)
    try:
        told = orjson.loads(raw)
        if isinstance(told["archive"], dict) and isinstance(told["signature"], dict) and len(told) == 2:
            return dict(told)
    except (ValueError, KeyError, TypeError):
        pass
    raise BadArchive(f"{path}: not the manifest of an archive")


def _read(path: Path, most: int) -> bytes:
    """Return the bytes of a plain file of at most `most` bytes."""
    if path.is_symlink() or not path.is_file():
        raise BadArchive(f"{path}: missing, or not a plain file")
    with path.open("rb") as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise BadArchive(f"{path}: more than {most} bytes")
    return raw
