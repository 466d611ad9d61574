"""Write files and folders durably: new, readable by their owner only, and synced to the disk."""

import os
import shutil
from hashlib import file_digest
from pathlib import Path

import orjson

from server.settings import BadSettings, Settings


def make_data_dir(settings: Settings) -> None:
    """Make the data folder if it is missing; raises BadSettings if it cannot be written to."""
    folder = settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except FileExistsError:
        raise BadSettings(f"EMPORION_DATA_DIR: {folder} is a file; name a folder") from None
    except OSError as error:
        raise BadSettings(f"EMPORION_DATA_DIR: {folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadSettings(f"EMPORION_DATA_DIR: {folder} cannot be written to by this user")


def make_empty(folder: Path) -> None:
    """Make a folder if it is missing; raises BadSettings if it is not empty."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise BadSettings(f"{folder} is not empty: name a folder that is, or one that is not there yet")


def new_file(path: Path) -> int:
    """Create a file that only its owner can read; raises FileExistsError if it exists."""
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
