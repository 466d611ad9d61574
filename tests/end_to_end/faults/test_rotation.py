"""`emporion keys rotate` interrupted at any point: one of the two keys is current, and the command can run again."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import server.keys
from server.backup import make_backup, restore_backup
from server.keys import finish_rotation, rotate, switch_keys
from server.secrets import NEXT, Secrets, check_secrets, read_secrets
from server.settings import BadSettings, Settings, read_settings
from storage.open import open_store
from storage.platform_keys import retired_keys
from tests.end_to_end.faults.test_start import refused, start
from tests.support.databases import close
from tools.kernel.keys import did_of

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SEED, FOLLOWING, PEPPER = "11" * 32, "33" * 32, "22" * 32


class Killed(BaseException):
    """Simulates a kill."""


async def in_force(settings: Settings) -> tuple[str, list[str]]:
    """Return the key with which a new process signs, and the retired keys."""
    secrets = read_secrets(settings)
    store = open_store(settings.database)
    try:
        found = await check_secrets(store, secrets)
        finish_rotation(settings, found)
        retired = await store.read(lambda tx: [did_of(bytes.fromhex(row.public_key)) for row in tx.all(retired_keys)])
    finally:
        await close(store)
    return did_of(found.public_key), retired


@pytest.fixture
def filed(tmp_path: Path) -> Settings:
    return read_settings(_env_file=None, data_dir=tmp_path / "market")


async def test_the_file_of_the_seed_is_replaced_and_logins_stay(filed: Settings, tmp_path: Path) -> None:
    first, none = await in_force(filed)
    pepper = read_secrets(filed).pepper
    new, old = await rotate(filed, NOW)
    second, retired = await in_force(filed)
    assert (new, old, none, retired) == (second, first, [], [first])
    assert new != old
    assert read_secrets(filed).pepper == pepper
    assert not (filed.data_dir / NEXT).exists()
    make_backup(filed, tmp_path / "kept", NOW)
    restore_backup(tmp_path / "kept", tmp_path / "new")
    assert await in_force(read_settings(_env_file=None, data_dir=tmp_path / "new")) == (second, [first])


KILLS = [("make_secret", 1), ("_sync_folder", 1), ("finish_rotation", 2), ("_sync_folder", 2)]


def killed(real: Callable[..., Any], when: str, count: int) -> Callable[..., Any]:
    """Wrap a step so that it dies before or after its `count`-th run."""
    runs = [0]

    def run(*given: Any) -> Any:
        runs[0] += 1
        if (when, runs[0]) == ("before", count):
            raise Killed
        done = real(*given)
        if (when, runs[0]) == ("after", count):
            raise Killed
        return done

    return run


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("step", "count"), KILLS)
async def test_wherever_it_is_killed_one_key_is_in_force(
    filed: Settings, monkeypatch: pytest.MonkeyPatch, step: str, count: int, when: str
) -> None:
    first, _ = await in_force(filed)
    with monkeypatch.context() as patch:
        patch.setattr(server.keys, step, killed(getattr(server.keys, step), when, count))
        with pytest.raises(Killed):
            await rotate(filed, NOW)
    then, retired = await in_force(filed)
    committed = (step, count) in KILLS[2:]
    assert (then == first, retired) == (not committed, [first] if committed else [])
    assert (await in_force(filed)) == (then, retired), "and so does every later start"
    new, old = await rotate(filed, NOW)
    last, all_retired = await in_force(filed)
    assert (old, last, {*all_retired}) == (then, new, {*retired, then})


async def test_a_rotation_killed_at_its_commit_leaves_the_old_key(
    filed: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is rolled back, and the next run uses the seed that was made for it."""
    first, _ = await in_force(filed)
    monkeypatch.setattr(server.keys, "switch_keys", broken)
    with pytest.raises(OSError, match="here"):
        await rotate(filed, NOW)
    assert await in_force(filed) == (first, [])
    waiting = (filed.data_dir / NEXT).read_text()
    monkeypatch.undo()
    await rotate(filed, NOW)
    assert (filed.data_dir / "signing_seed").read_text() == waiting


def broken(*given: Any) -> None:
    switch_keys(*given)
    raise OSError("here")


def given(url: str, folder: Path, **more: str) -> Settings:
    return read_settings(
        _env_file=None, database_url=url, data_dir=folder, signing_seed=SEED, key_pepper=PEPPER, **more
    )


async def test_a_seed_the_operator_gives_follows_one_the_operator_gave(database_url: str, tmp_path: Path) -> None:
    plain, ready = given(database_url, tmp_path), given(database_url, tmp_path, next_signing_seed=FOLLOWING)
    first, _ = await in_force(plain)
    with pytest.raises(BadSettings, match="set EMPORION_NEXT_SIGNING_SEED"):
        await rotate(plain, NOW)
    assert await in_force(ready) == (first, []), "a next seed alone changes nothing"
    new, old = await rotate(ready, NOW)
    assert (old, await in_force(ready)) == (first, (new, [first]))
    with pytest.raises(BadSettings, match="not the one this database was made with, or rotated to since"):
        await in_force(plain)
    with pytest.raises(BadSettings, match="in force already"):
        await rotate(ready, NOW)
    moved = plain.model_copy(update={"signing_seed": FOLLOWING, "next_signing_seed": SEED})
    assert await in_force(moved) == (new, [first])
    with pytest.raises(BadSettings, match="does not come back"):
        await rotate(moved, NOW)
    assert await in_force(moved) == (new, [first])


async def test_of_two_rotations_at_once_one_happens(database_url: str, tmp_path: Path) -> None:
    plain = given(database_url, tmp_path)
    await in_force(plain)
    store = open_store(database_url)
    old, new = (
        Secrets(bytes.fromhex(SEED), bytes.fromhex(PEPPER)),
        Secrets(bytes.fromhex(FOLLOWING), bytes.fromhex(PEPPER)),
    )
    await store.write(lambda tx: switch_keys(tx, old, new, NOW))
    with pytest.raises(BadSettings, match="another rotation came first"):
        await store.write(lambda tx: switch_keys(tx, old, new, NOW))
    await close(store)


async def test_a_sqlite_market_that_is_served_is_not_rotated(filed: Settings) -> None:
    first, _ = await in_force(filed)
    store = open_store(filed.database)
    with pytest.raises(BadSettings, match=r"is served by another process.*stop the market, rotate, start it again"):
        await rotate(filed, NOW)
    await close(store)
    assert not (filed.data_dir / NEXT).exists()
    assert await in_force(filed) == (first, [])


def test_the_command_and_its_refusals(tmp_path: Path) -> None:
    refused(start(tmp_path, 0, "keys rotate"), "market.db is not there")
    assert not [*tmp_path.iterdir()], "it makes nothing"
    refused(start(tmp_path, 0, "keys rotate", EMPORION_NEXT_SIGNING_SEED=FOLLOWING), "goes with EMPORION_SIGNING_SEED")
    secrets = {"EMPORION_SIGNING_SEED": SEED, "EMPORION_KEY_PEPPER": PEPPER}
    assert start(tmp_path, 0, "migrate", **secrets).returncode == 0
    done = start(tmp_path, 0, "keys rotate", **secrets, EMPORION_NEXT_SIGNING_SEED=FOLLOWING)
    assert (done.returncode, "Signing key did:key:z" in done.stdout, FOLLOWING in done.stdout) == (0, True, False), done
    refused(start(tmp_path, 0, "serve", **secrets), "rotated to since")
