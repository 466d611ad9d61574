"""Backups of a SQLite market: a folder with the database as of one moment, its secrets, the keys of a desk, and a manifest, last."""

import os
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from server.desk.keys import FILE as DESK_KEYS
from server.folders import copy_file, make_empty, new_file, sum_of, sums, sync, write_file
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
    make_empty(folder)
    os.close(new_file(folder / DATABASE))
    copy_online(source, folder / DATABASE)
    said = said_of(folder / DATABASE)
    secrets = read_secrets(settings).in_force(said.house.get("secrets"))
    if secrets is None:
        raise BadSettings(
            f"{folder}: the secrets are not those of {source}, or they were changed while it was copied: "
            "`emporion doctor` says which; then make the backup again, into another folder"
        )
    write_file(folder / "key_pepper", secrets.pepper.hex().encode())
    write_file(folder / "signing_seed", secrets.signing_seed.hex().encode())
    for path in (
        settings.data_dir / DESK_KEYS,  # where the desk runs beside: nobody else can spend what it earned
        settings.data_dir / JOURNAL_NAME,  # the chain knows what the market does
        *settings.data_dir.glob(CACHES),
    ):
        if path.exists():
            copy_file(path, folder / path.name)
    sync(folder / DATABASE)
    made = Manifest(
        version("emporion"),
        stamp(now),
        said.house.get("service_name", settings.service_name),
        said.revision,
        sums(folder),
    )
    write_file(folder / MANIFEST, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2))
    sync(folder)
    return made


def restore_backup(folder: Path, target: Path) -> Manifest:
    """Put a backup into an empty folder. Nothing is served from there before all of it stands: the secrets come last."""
    made = read_manifest(folder)
    make_empty(target)
    for name in sorted(made.files, key=lambda name: (name in SECRETS, name)):
        copy_file(folder / name, target / name)
        if sum_of(target / name) != made.files[name]:  # the medium may fail only now
            raise BadSettings(f"{folder / name}: not what was backed up; what was restored to {target} is of no use")
        sync(target)
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
        if not path.is_file() or sum_of(path) != expected:
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
