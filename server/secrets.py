"""The installation's own secrets: given by the operator, or made once and kept in the data folder, mode 0600."""

import os
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from nacl.signing import SigningKey

from server.sandbox.journal import JOURNAL_NAME
from server.settings import BadSettings, Settings
from storage.store import Store
from storage.tables import HouseRow
from storage.unit import Tx

HEX = re.compile(rb"[0-9a-fA-F]{64}")
NEXT = "signing_seed.next"  # stands from before a rotation is written until the other file has its text


@dataclass(frozen=True, slots=True)
class Secrets:
    """The platform key's seed and the pepper of key hashes and cursors; and the seed that is to follow, where there is one."""

    signing_seed: bytes
    pepper: bytes
    next_seed: bytes | None = None

    @property
    def public_key(self) -> bytes:
        return bytes(SigningKey(self.signing_seed).verify_key)

    @property
    def fingerprint(self) -> str:
        return sha256(b"emporion:secrets:" + self.public_key + self.pepper).hexdigest()

    def in_force(self, fingerprint: str | None) -> "Secrets | None":
        """These, or these after the rotation: whichever a database remembers. None where it remembers others."""
        turned = None if self.next_seed is None else replace(self, signing_seed=self.next_seed)
        return next((one for one in (self, turned) if one is not None and one.fingerprint == fingerprint), None)


def read_secrets(settings: Settings) -> Secrets:
    """The secrets as they are given; made on the first start of a SQLite installation. The database says whether the next seed is in force."""
    following = settings.data_dir / NEXT
    beside = _hex(following) if settings.signing_seed is None and following.exists() else None
    return Secrets(
        _given(settings.signing_seed) or _kept(settings, "signing_seed"),
        _given(settings.key_pepper) or _kept(settings, "key_pepper"),
        _given(settings.next_signing_seed) or beside,
    )


async def check_secrets(store: Store, secrets: Secrets) -> Secrets:
    """Those in force. The database remembers a fingerprint: a process with other secrets must not serve it."""
    kept = await store.write(lambda tx: _remembered(tx, "secrets", secrets.fingerprint), "check_secrets")
    return _among(secrets, kept)


async def known_secrets(store: Store, secrets: Secrets, brand: str) -> Secrets:
    """Those in force, of a database that is only read; it must know the name too that its documents are signed with."""
    rows = await store.look(lambda tx: [tx.get(HouseRow, name) for name in ("secrets", "service_name")])
    fingerprint, name = (None if row is None else row.value for row in rows)
    found = _among(secrets, fingerprint)
    _compare_brand(name, brand)
    return found


def _among(secrets: Secrets, kept: str | None) -> Secrets:
    found = secrets.in_force(kept)
    if found is None:
        raise BadSettings(
            "the signing seed or the key pepper (EMPORION_SIGNING_SEED, EMPORION_KEY_PEPPER, or the files of these names in "
            "the data folder) is not the one this database was made with, or rotated to since: API keys and receipts would "
            "stop working"
        )
    return found


async def check_brand(store: Store, brand: str) -> None:
    """The database remembers the name that wallets and receipts were signed with."""
    _compare_brand(await store.write(lambda tx: _remembered(tx, "service_name", brand), "check_brand"), brand)


def _compare_brand(kept: str | None, brand: str) -> None:
    if kept != brand:
        raise BadSettings(
            f"EMPORION_SERVICE_NAME: this database serves {kept!r}; under another name what was signed no longer verifies"
        )


async def check_chain(store: Store, genesis: str) -> None:
    """The database remembers the sandbox chain it lives with: they are kept, and reset, together."""
    if await store.write(lambda tx: _remembered(tx, "sandbox_chain", genesis), "check_chain") != genesis:
        raise BadSettings(
            "this database traded on another test chain than the one in the data folder: bring back that folder's "
            f"{JOURNAL_NAME}, or start anew with `emporion sandbox reset` (PostgreSQL: with an empty database)"
        )


def _remembered(tx: Tx, name: str, value: str) -> str:
    """What the database was made with; `value` where it is asked for the first time."""
    row = tx.get(HouseRow, name) or tx.add(HouseRow(name=name, value=value))
    return row.value


def _given(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _kept(settings: Settings, name: str) -> bytes:
    path, database = settings.data_dir / name, settings.database_file
    if not path.exists():
        if database is not None and database.exists():
            raise BadSettings(f"{path} is missing beside {database}: restore it, another one would lock everybody out")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        make_secret(path)
    return _hex(path)


def make_secret(path: Path) -> None:
    """A new secret that is on the disk when this returns; only its owner reads it."""
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "w") as file:
        file.write(os.urandom(32).hex())
        file.flush()
        os.fsync(file.fileno())


def _hex(path: Path) -> bytes:
    text = path.read_bytes().strip()
    if not HEX.fullmatch(text):
        raise BadSettings(f"{path} does not hold 64 hex characters: restore it, or this installation's keys are lost")
    return bytes.fromhex(text.decode())
