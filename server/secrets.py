"""The installation's secrets: set by the operator, or made once and kept in the data folder with mode 0600."""

import os
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from nacl.signing import SigningKey

from server.atomic_files import write_file
from server.sandbox.journal import JOURNAL_NAME
from server.settings import BadSettings, Settings
from storage.requests import remember
from storage.store import Store
from storage.tables import SettingsRow
from storage.transaction import Tx

HEX = re.compile(rb"[0-9a-fA-F]{64}")
BRAND_BREAKS = (
    "What the change breaks: signatures over the old name (wallet bindings, key rotations, registrations, account claims) are no longer "
    "taken, bound wallets stay; proofs of domains end within days until they are published under the new name; gas-free terms that "
    "were answered before have another nonce, so fetch terms again before paying; documents signed before name the old market."
)
OPERATOR_FILE = "operator_secret"  # the file of a sandbox; other markets are given theirs
NEXT = "signing_seed.next"  # this file exists from the start of a rotation until it replaces `signing_seed`


@dataclass(frozen=True, slots=True)
class Secrets:
    """The platform key's seed, the pepper of key hashes and cursors, and a rotation's next seed."""

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
        """Return the secrets, before or after rotation, that have this fingerprint; None if none do."""
        turned = None if self.next_seed is None else replace(self, signing_seed=self.next_seed)
        return next((one for one in (self, turned) if one is not None and one.fingerprint == fingerprint), None)


def read_secrets(settings: Settings) -> Secrets:
    """Read the secrets; a SQLite installation makes them at its first start.

    Only the database knows if the next seed is already in force.
    """
    following = settings.data_dir / NEXT
    beside = _hex(following) if settings.signing_seed is None and following.exists() else None
    given = settings.next_signing_seed
    next_seed = beside if given is None else bytes.fromhex(given)
    return Secrets(_secret(settings, "signing_seed"), _secret(settings, "key_pepper"), next_seed)


async def check_secrets(store: Store, secrets: Secrets) -> Secrets:
    """Compare the secrets with the fingerprint in the database; return the generation in use.

    The first start on a database stores the fingerprint. During a rotation there are two generations of secrets. Raises
    BadSettings if neither has the fingerprint, because keys and receipts of this database would not verify.
    """
    kept = await store.write(lambda tx: _remembered(tx, "secrets", secrets.fingerprint), "check_secrets")
    return _among(secrets, kept)


async def known_secrets(store: Store, secrets: Secrets, brand: str) -> Secrets:
    """Return the secrets in force for a database that is only read.

    Raises BadSettings if the secrets or the brand, which is part of what is signed, are not the stored ones.
    """
    rows = await store.read(lambda tx: [tx.get(SettingsRow, name) for name in ("secrets", "service_name")])
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


async def check_brand(store: Store, brand: str, *, change: bool = False) -> str | None:
    """Compare the brand with the stored one; raises BadSettings if they differ.

    With `change`, store the new brand and return the earlier one.
    """
    kept = await store.write(lambda tx: _remembered(tx, "service_name", brand), "check_brand")
    if kept == brand or not change:
        _compare_brand(kept, brand)
        return None
    await store.write(lambda tx: tx.run(remember, mark="service_name", instead=brand), "change_brand")
    return kept


def _compare_brand(kept: str | None, brand: str) -> None:
    if kept != brand:
        raise BadSettings(
            f"EMPORION_SERVICE_NAME: this database serves {kept!r}, not {brand!r}. Set it back, or stop every process and start "
            f"once with `emporion serve --change-brand`. {BRAND_BREAKS}"
        )


async def check_chain(store: Store, genesis: str) -> None:
    """Check that the database belongs to this sandbox chain; they are kept and reset together."""
    if await store.write(lambda tx: _remembered(tx, "sandbox_chain", genesis), "check_chain") != genesis:
        raise BadSettings(
            "this database traded on another test chain than the one in the data folder: bring back that folder's "
            f"{JOURNAL_NAME}, or start anew with `emporion sandbox reset` (PostgreSQL: with an empty database)"
        )


def _remembered(tx: Tx, name: str, value: str) -> str:
    """Return the stored value; at the first call store `value`."""
    row = tx.get(SettingsRow, name) or tx.add(SettingsRow(name=name, value=value))
    return row.value


def _secret(settings: Settings, name: str) -> bytes:
    """Return a secret from the settings, or from its file, which is made at the first start."""
    given = getattr(settings, name)
    if given is not None:
        return bytes.fromhex(given)
    path, database = settings.data_dir / name, settings.database_file
    if not path.exists():
        if database is not None and database.exists():
            raise BadSettings(f"{path} is missing beside {database}: restore it, another one would lock everybody out")
        settings.make_data_dir()
        make_secret(path)
    return _hex(path)


def sandbox_operator_secret(data_dir: Path) -> str:
    """Return the operator's secret of a sandbox, which is made once and kept in the data folder."""
    path = data_dir / OPERATOR_FILE
    if not path.exists():
        make_secret(path)
    return _hex(path).hex()


def known_operator_secret(data_dir: Path) -> str | None:
    """Return the operator's secret that a sandbox has made in this folder, or None."""
    path = data_dir / OPERATOR_FILE
    return _hex(path).hex() if path.exists() else None


def make_secret(path: Path) -> None:
    """Make a new secret that only its owner can read; it is on the disk when this returns."""
    write_file(path, os.urandom(32).hex().encode())


def _hex(path: Path) -> bytes:
    text = path.read_bytes().strip()
    if not HEX.fullmatch(text):
        raise BadSettings(f"{path} does not hold 64 hex characters: restore it, or this installation's keys are lost")
    return bytes.fromhex(text.decode())
