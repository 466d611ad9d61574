"""Write files and folders durably: new, readable by their owner only, and synced to the disk."""

import os
import shutil
from hashlib import file_digest
from pathlib import Path

import orjson


def new_file(path: Path) -> int:
    """Create a file that only its owner can read; raises FileExistsError if it exists."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def write_file(path: Path, text: bytes) -> None:
    """Write a new file to the disk; leave nothing behind if the disk is full."""
    opened = new_file(path)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(text)
        sync(path)
    except OSError:
        path.unlink()
        raise


def copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as original, os.fdopen(new_file(target), "wb") as file:
        shutil.copyfileobj(original, file, 1024 * 1024)
    sync(target)


def sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_manifest(folder: Path, name: str, manifest: object) -> None:
    """Write a dataclass as JSON, last of all files of a folder: it tells that they are complete."""
    write_file(folder / name, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    sync(folder)


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder."""
    return {path.name: sum_of(path) for path in sorted(folder.iterdir())}


def sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
