"""Backups of a SQLite market: a folder with the database as of one moment, its secrets, and a manifest, which comes last."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from server.sandbox.journal import JOURNAL_NAME
from server.secrets import read_secrets
from server.settings import BadSettings, Settings
from storage.copies import copy_online, said_of
from storage.migrate import knows
from tools.records.base import stamp

MANIFEST, DATABASE, KIND, FORMAT = "manifest.json", "market.db", "emporion_backup", 1
SECRETS = ("key_pepper", "signing_seed")  # restored last: without them a database is not served
CACHES = "sanctions-*.txt"  # the last good lists stay in force after a restore too


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup is: who made it of what and when, and the SHA-256 of each file."""

    version: str
    made_at: str
    service_name: str
    revision: str
    files: dict[str, str]
    object: str = KIND
    format: int = FORMAT


def make_backup(settings: Settings, folder: Path, now: datetime) -> Manifest:
    """Every write acknowledged before this began is in it. BadSettings with a sentence where none can be made."""
    source = settings.database_file
    if source is None:
        raise BadSettings(_of_a_server(settings))
    if not source.exists():
        raise BadSettings(f"{source} is not there: there is nothing to back up")
    _make_empty(folder)
    os.close(_new(folder / DATABASE))
    copy_online(source, folder / DATABASE)
    said = said_of(folder / DATABASE)
    secrets = read_secrets(settings).in_force(said.house.get("secrets"))
    if secrets is None:
        raise BadSettings(
            f"{folder}: the secrets are not those of {source}, or they were changed while it was copied: "
            "`emporion doctor` says which; then make the backup again, into another folder"
        )
    _write(folder / "key_pepper", secrets.pepper.hex().encode())
    _write(folder / "signing_seed", secrets.signing_seed.hex().encode())
    for path in (
        settings.data_dir / JOURNAL_NAME,
        *settings.data_dir.glob(CACHES),
    ):  # the chain knows what the market does
        if path.exists():
            _copy(path, folder / path.name)
    _sync(folder / DATABASE)
    made = Manifest(
        version("emporion"),
        stamp(now),
        said.house.get("service_name", settings.service_name),
        said.revision,
        _sums(folder),
    )
    _write(folder / MANIFEST, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2))
    _sync(folder)
    return made


def restore_backup(folder: Path, target: Path) -> Manifest:
    """Put a backup into an empty folder. Nothing is served from there before all of it stands: the secrets come last."""
    made = read_manifest(folder)
    _make_empty(target)
    for name in sorted(made.files, key=lambda name: (name in SECRETS, name)):
        _copy(folder / name, target / name)
        if _sum(target / name) != made.files[name]:  # the medium may fail only now
            raise BadSettings(f"{folder / name}: not what was backed up; what was restored to {target} is of no use")
        _sync(target)
    return made


def read_manifest(folder: Path) -> Manifest:
    """The manifest, once each file of the backup is found to be what it says."""
    try:
        told: dict[str, Any] = orjson.loads((folder / MANIFEST).read_bytes())
        if (told["object"], told["format"]) != (KIND, FORMAT):
            raise BadSettings(f"{folder / MANIFEST}: not a backup this version of emporion can read")
        made = Manifest(**told)
        names = {Path(name).name for name in made.files}
    except FileNotFoundError:
        raise BadSettings(
            f"{folder}: no {MANIFEST} stands there: it is no backup, or one that was never finished"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise BadSettings(f"{folder / MANIFEST}: damaged") from None
    if names != set(made.files) or not names >= {DATABASE, *SECRETS}:
        raise BadSettings(
            f"{folder / MANIFEST}: damaged: it must name {DATABASE} and the secrets, and files beside it alone"
        )
    for name, expected in made.files.items():
        path = folder / name
        if not path.is_file() or _sum(path) != expected:
            raise BadSettings(f"{path}: missing, or not what was backed up")
    if not knows(made.revision):
        raise BadSettings(
            f"{folder}: made by emporion {made.version}, whose tables ({made.revision}) are newer than this program"
        )
    return made


def _of_a_server(settings: Settings) -> str:
    return (
        f"{settings.database_shown} is not a file. Back it up with `pg_dump --format=custom`, which takes one moment of it "
        "while it is served, and keep with the dump EMPORION_SIGNING_SEED, EMPORION_KEY_PEPPER and EMPORION_SERVICE_NAME: "
        "without them nobody logs in and no receipt verifies. `pg_restore` into an empty database brings it back"
    )


def _make_empty(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise BadSettings(f"{folder} is not empty: name a folder that is, or one that is not there yet")


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _write(path: Path, text: bytes) -> None:
    with os.fdopen(_new(path), "wb") as file:
        file.write(text)
    _sync(path)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as original, os.fdopen(_new(target), "wb") as file:
        shutil.copyfileobj(original, file, 1024 * 1024)
    _sync(target)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _sums(folder: Path) -> dict[str, str]:
    paths: Iterable[Path] = sorted(folder.iterdir())
    return {path.name: _sum(path) for path in paths}


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
