"""Folders that are written once: empty before, for their owner alone, and on the disk when that is said."""

import os
import shutil
from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path

from server.settings import BadSettings


def make_empty(folder: Path) -> None:
    """A folder to write to; BadSettings where something stands in it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise BadSettings(f"{folder} is not empty: name a folder that is, or one that is not there yet")


def new_file(path: Path) -> int:
    """A file that was not there, which only its owner reads."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def write_file(path: Path, text: bytes) -> None:
    with os.fdopen(new_file(path), "wb") as file:
        file.write(text)
    sync(path)


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


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file."""
    paths: Iterable[Path] = sorted(folder.iterdir())
    return {path.name: sum_of(path) for path in paths}


def sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
