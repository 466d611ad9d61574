"""The installation's own secrets: given by the operator, or made once and kept in the data folder, mode 0600."""

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nacl.signing import SigningKey

from server.settings import BadSettings, Settings
from storage.store import Store
from storage.tables import HouseRow
from storage.unit import Tx

HEX = re.compile(rb"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Secrets:
    """The platform key's seed and the pepper of key hashes and cursors."""

    signing_seed: bytes
    pepper: bytes

    @property
    def fingerprint(self) -> str:
        public = bytes(SigningKey(self.signing_seed).verify_key)
        return sha256(b"emporion:secrets:" + public + self.pepper).hexdigest()


def read_secrets(settings: Settings) -> Secrets:
    """The secrets in force; made on the first start of a SQLite installation."""
    return Secrets(
        _given(settings.signing_seed) or _kept(settings.data_dir / "signing_seed"),
        _given(settings.key_pepper) or _kept(settings.data_dir / "key_pepper"),
    )


async def check_secrets(store: Store, secrets: Secrets) -> None:
    """The database remembers a fingerprint: a process with other secrets must not serve it."""

    def same(tx: Tx) -> bool:
        row = tx.get(HouseRow, "secrets")
        if row is None:
            tx.add(HouseRow(name="secrets", value=secrets.fingerprint))
            return True
        return row.value == secrets.fingerprint

    if not await store.write(same, "check_secrets"):
        raise BadSettings(
            "EMPORION_SIGNING_SEED or EMPORION_KEY_PEPPER: not the secrets this database was made with; "
            "API keys and receipts would stop working"
        )


async def check_chain(store: Store, genesis: str) -> None:
    """The database remembers the sandbox chain it lives with: they are kept, and reset, together."""

    def same(tx: Tx) -> bool:
        row = tx.get(HouseRow, "sandbox_chain")
        if row is None:
            tx.add(HouseRow(name="sandbox_chain", value=genesis))
            return True
        return row.value == genesis

    if not await store.write(same, "check_chain"):
        raise BadSettings(
            "this database traded on another test chain than the one in the data folder; "
            "start anew with `emporion sandbox reset`"
        )


def _given(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _kept(path: Path) -> bytes:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(os.urandom(32).hex())
            file.flush()
            os.fsync(file.fileno())
    text = path.read_bytes().strip()
    if not HEX.fullmatch(text):
        raise BadSettings(f"{path} does not hold 64 hex characters: restore it, or this installation's keys are lost")
    return bytes.fromhex(text.decode())
