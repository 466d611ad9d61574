"""Back up and restore a SQLite market: a folder with the database, its secrets, a desk's keys and a manifest."""

import os
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from server.atomic_files import copy_file, new_file, sum_of, sums, sync, write_file, write_manifest
from server.sandbox.journal import JOURNAL_NAME
from server.secrets import read_secrets
from server.settings import BadSettings, Settings, make_empty
from storage.migrate import knows
from storage.sqlite import copy_online, said_of
from tools.kernel.records import stamp

MANIFEST, DATABASE, KIND, FORMAT = "manifest.json", "market.db", "emporion_backup", 1
SECRETS = ("key_pepper", "signing_seed")  # restored last: without them a database cannot be served
DESK_KEYS = {  # if a desk runs beside the market: only these keys can spend its earnings
    "desk.json": "desk.json",  # of earlier versions
    "desk-test.json": "desk-test/agent.json",
    "desk-live.json": "desk-live/agent.json",
}
CACHES = "sanctions-*.txt"  # the last lists that were fetched stay in force after a restore too


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a backup: which market and version made it, when, and each file's SHA-256."""

    version: str
    made_at: str
    service_name: str
    revision: str
    files: dict[str, str]
    object: str = KIND
    format: int = FORMAT


def make_backup(settings: Settings, folder: Path, now: datetime) -> Manifest:
    """Copy the database and its secrets into an empty folder, and write the manifest last.

    The copy has every write that was acknowledged before the call. Raises BadSettings if no backup can be made.
    """
    source = settings.database_file
    if source is None:
        raise BadSettings(
            f"{settings.database_shown} is not a file. Back it up with `pg_dump --format=custom`, which takes one moment of it "
            "while it is served, and keep with the dump EMPORION_SIGNING_SEED, EMPORION_KEY_PEPPER and EMPORION_SERVICE_NAME: "
            "without them nobody logs in and no receipt verifies. `pg_restore` into an empty database brings it back"
        )
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
        settings.data_dir / JOURNAL_NAME,  # the market's rows refer to payments on this chain
        *settings.data_dir.glob(CACHES),
    ):
        if path.exists():
            copy_file(path, folder / path.name)
    for name, inner in DESK_KEYS.items():
        if (settings.data_dir / inner).exists():
            copy_file(settings.data_dir / inner, folder / name)
    sync(folder / DATABASE)
    made = Manifest(
        version("emporion"),
        stamp(now),
        said.house.get("service_name", settings.service_name),
        said.revision,
        sums(folder),
    )
    write_manifest(folder, MANIFEST, made)
    return made


def restore_backup(folder: Path, target: Path) -> Manifest:
    """Copy a checked backup into an empty folder.

    The secrets are copied last, so that a restore that was interrupted cannot be served.
    """
    made = read_manifest(folder)
    make_empty(target)
    for name in sorted(made.files, key=lambda name: (name in SECRETS, name)):
        restored = target / DESK_KEYS.get(name, name)
        restored.parent.mkdir(mode=0o700, exist_ok=True)
        copy_file(folder / name, restored)
        if sum_of(restored) != made.files[name]:  # the medium may have failed after the first check
            raise BadSettings(f"{folder / name}: not what was backed up; what was restored to {target} is of no use")
        sync(restored.parent)
    sync(target)
    return made


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest and check the sum of each file; raises BadSettings if one differs."""
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
