"""Rotation of the platform's signing key: the database names the valid key, and processes with another key end.

The new seed is on the disk, or set in every process, before one transaction makes it valid in the database; only then
the file of the old seed is overwritten. So after a crash at any point one of the two keys is valid, and a starting
process has it.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime

import structlog

from server.atomic_files import sync
from server.secrets import NEXT, Secrets, check_secrets, make_secret, read_secrets
from server.settings import BadSettings, Settings
from storage.open import open_store
from storage.requests import remember
from storage.tables import RetiredKeyRow, SettingsRow
from storage.transaction import StorageError, Tx
from tools.engine.dispatch import Market
from tools.kernel.keys import did_of, jwk_of

log = structlog.get_logger("emporion.keys")
WATCH_SECONDS = 1.0


async def rotate(settings: Settings, now: datetime) -> tuple[str, str]:
    """Make the next signing key valid and retire the current one; return both as did:key.

    A rotation that was interrupted after its commit is finished, and no other is begun. Raises BadSettings if it is
    impossible.
    """
    if settings.database_file is not None and not settings.database_file.exists():
        raise BadSettings(f"{settings.database_file} is not there: there is no key to replace")
    secrets = read_secrets(settings)
    try:
        store = open_store(settings.session_database)
    except StorageError as error:
        stop = "; stop the market, rotate, start it again" if settings.database_file else ""
        raise BadSettings(f"database: {error}{stop}") from error
    with closing(store):
        old = await check_secrets(store, secrets)
        if finish_rotation(settings, old):
            return did_of(old.public_key), did_of(secrets.public_key)
        new = replace(old, signing_seed=_next_seed(settings))
        await store.write(lambda tx: switch_keys(tx, old, new, now), "rotate")
        finish_rotation(settings, new)
    return did_of(new.public_key), did_of(old.public_key)


def finish_rotation(settings: Settings, in_force: Secrets) -> bool:
    """Move the file of the next seed over the old one if it is in force; return True if it did."""
    path = settings.data_dir / NEXT
    if settings.signing_seed is not None or not path.exists():
        return False
    if read_secrets(settings).next_seed != in_force.signing_seed:
        return False
    path.replace(settings.data_dir / "signing_seed")
    sync(settings.data_dir)
    return True


async def until_replaced(market: Market, replaced: Callable[[], None]) -> None:
    """Wait until another process has retired this process's key, then call `replaced` once."""
    kid = _kid(market.world.signer.public_key)
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        with suppress(StorageError):
            if await market.store.read(lambda tx: tx.get(RetiredKeyRow, kid)) is not None:
                log.critical("the signing key was replaced; this process ends", kid=kid)
                replaced()
                return


def _next_seed(settings: Settings) -> bytes:
    """Return the next seed from the settings, or from its file, which is made if it is missing.

    An earlier seed that never came into force is used again.
    """
    if settings.signing_seed is not None:
        if settings.next_signing_seed is None:
            raise BadSettings(
                "EMPORION_SIGNING_SEED is set, so the new seed is yours to make and keep: set EMPORION_NEXT_SIGNING_SEED (64 hex, "
                "`openssl rand -hex 32`) in every process, start them again, then rotate"
            )
        return bytes.fromhex(settings.next_signing_seed)
    path, begun = settings.data_dir / NEXT, settings.data_dir / "signing_seed.new"
    if not path.exists():
        begun.unlink(missing_ok=True)
        make_secret(begun)
        begun.replace(path)  # so that the file is complete or missing
        sync(settings.data_dir)
    seed = read_secrets(settings).next_seed
    assert seed is not None
    return seed


def switch_keys(tx: Tx, old: Secrets, new: Secrets, now: datetime) -> None:
    row = tx.get(SettingsRow, "secrets", lock=True)
    if row is None or row.value != old.fingerprint:
        raise BadSettings("another rotation came first: nothing was changed")
    if new.public_key == old.public_key:
        raise BadSettings(
            "EMPORION_NEXT_SIGNING_SEED is in force already: move it to EMPORION_SIGNING_SEED, and set another"
        )
    if tx.get(RetiredKeyRow, _kid(new.public_key)) is not None:
        raise BadSettings("the next signing key was retired before: a key does not come back")
    tx.run(remember, mark="secrets", instead=new.fingerprint)
    tx.add(RetiredKeyRow(kid=_kid(old.public_key), public_key=old.public_key.hex(), retired_at=now))


def _kid(public: bytes) -> str:
    return jwk_of(public)["kid"]
