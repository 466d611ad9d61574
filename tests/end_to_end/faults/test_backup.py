"""Backups made while 64 clients write, from a server that is then killed, restored into another folder."""

import asyncio
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from emporion_client.home import Home
from server.backup import DESK_KEYS, MANIFEST, make_backup, restore_backup
from server.secrets import check_secrets, read_secrets
from server.settings import BadSettings, Settings, read_settings
from storage.open import open_store
from storage.transaction import Unavailable
from tests.end_to_end.faults.chain import wallet_of
from tests.end_to_end.faults.test_start import start
from tests.support.commands import start as start_command
from tests.support.databases import close
from tests.support.market import Agent
from tests.support.trade import OFFER, binding

WRITERS, SERVING_SECONDS, BUSY = 64, 90.0, 503
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@contextmanager
def served(folder: Path, **settings: str) -> Iterator[str]:
    """Run `emporion serve` as an operator does, and kill it at the end; return its address."""
    with httpx.Client(trust_env=False) as http, (folder.parent / "log").open("ab") as log:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
        given = {"EMPORION_DATA_DIR": str(folder), "EMPORION_PORT": str(free_port()), "EMPORION_RATE_LIMITS": "false"}
        url = f"http://127.0.0.1:{given['EMPORION_PORT']}"
        process = start_command(["serve"], clean | given | settings, output=log, errors=log)
        try:
            until = time.monotonic() + SERVING_SECONDS
            while not answers(http, url):
                assert process.poll() is None, (folder.parent / "log").read_text()
                assert time.monotonic() < until, "it does not serve"
                time.sleep(0.05)
            yield url
        finally:
            process.kill()
            process.wait()


def answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Writers:
    """Clients that write increasing numbers until they are stopped.

    They keep the last acknowledged ones.
    """

    def __init__(self, http: httpx.AsyncClient, key: dict[str, str]) -> None:
        self.http, self.key, self.stopped, self.moved = http, key, False, asyncio.Event()
        self.acknowledged = dict.fromkeys([f"writer-{n}" for n in range(WRITERS)], 0)

    async def write(self, name: str) -> None:
        number = 0
        while not self.stopped:
            number += 1
            answer = await self.http.put(f"/v1/memory/{name}", json={"value": number}, headers=self.key)
            if answer.is_success:
                self.acknowledged[name] = number
                self.moved.set()
            else:
                assert answer.status_code == BUSY, answer.text

    async def each_wrote(self, more: int) -> None:
        """Wait until each has this many more acknowledged writes."""
        begun = dict(self.acknowledged)
        while any(self.acknowledged[name] < count + more for name, count in begun.items()):
            self.moved.clear()
            await self.moved.wait()


async def a_receipt(http: httpx.AsyncClient) -> tuple[Agent, Any]:
    """Return a buyer and the receipt of its job."""
    _, buyer, job = await an_order(http)
    return buyer, await ok(http.get(f"/v1/jobs/{job['id']}/receipt", headers=key_of(buyer)))


async def an_order(http: httpx.AsyncClient) -> tuple[Agent, Agent, Any]:
    """Return a seller, a buyer, and a job between them."""
    seller, buyer = [await registered(http, name) for name in ("Sela", "Bo")]
    claim = {"address": seller.wallet.address, "signature": binding(seller)}
    await ok(http.post("/v1/agents/me/wallet-address", json=claim, headers=key_of(seller)))
    listing = await ok(http.post("/v1/listings", json=OFFER, headers=key_of(seller)))
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    return seller, buyer, await ok(http.post("/v1/jobs", json=order, headers=key_of(buyer)))


async def registered(http: httpx.AsyncClient, name: str) -> Agent:
    made = await ok(http.post("/v1/agents", json={"name": name}))
    return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], b"", wallet_of(name))


async def ok(asked: Any) -> Any:
    answer = await asked
    assert answer.is_success, answer.text
    return answer.json()


def key_of(agent: Agent) -> dict[str, str]:
    return {"X-API-Key": agent.keys["test"]}


def client(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=WRITERS + 4)
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=30, limits=limits)


async def test_o2_a_backup_under_load_has_every_write_acknowledged_before_it_began(tmp_path: Path) -> None:
    old, kept, new = (tmp_path / name for name in ("old", "kept", "new"))
    with served(old) as url:
        async with client(url) as http:
            buyer, receipt = await a_receipt(http)
            writers = Writers(http, key_of(buyer))
            async with asyncio.TaskGroup() as group:
                for name in writers.acknowledged:
                    group.create_task(writers.write(name))
                await writers.each_wrote(1)
                before = dict(writers.acknowledged)
                made = await asyncio.to_thread(start, old, 0, f"backup {kept}")
                after = dict(writers.acknowledged)
                writers.stopped = True
    assert made.returncode == 0, made.stderr
    assert sum(after.values()) > sum(before.values()), "they wrote on meanwhile"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()}
    assert (modes, stat.S_IMODE(kept.stat().st_mode)) == ({0o600}, 0o700)
    shutil.rmtree(old)

    restored = start(tmp_path / "unused", 0, f"restore {kept} --data-dir {new}")
    assert (restored.returncode, "EMPORION_SERVICE_NAME=service" in restored.stdout) == (0, True), restored.stderr
    found = start(new, 0, "doctor --recompute")
    assert (found.returncode, "WRONG" in found.stdout) == (0, False), found.stdout + found.stderr
    with served(new) as url:
        async with client(url) as http:
            for name, count in before.items():
                stands = await ok(http.get(f"/v1/memory/{name}", headers=key_of(buyer)))
                assert count <= stands["value"] <= after[name] + 1, name
            again = await ok(http.post("/v1/receipts/verify", json=receipt))
            assert again["valid"], again


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """A folder with a market that is not running, and other files beside it."""
    found = read_settings(_env_file=None, data_dir=tmp_path / "market")
    secrets = read_secrets(found)
    store = open_store(found.database)
    await check_secrets(store, secrets)
    await close(store)
    for name in ("sandbox-chain.jsonl", "sanctions-0123456789abcdef.txt", "somebodys-notes.txt"):
        (found.data_dir / name).write_text(name)
    with closing(Home(found.desk_home)) as home:
        home.add_keys(wallet="0x" + "11" * 32)
    return found


@pytest.fixture
def kept(settings: Settings, tmp_path: Path) -> Path:
    make_backup(settings, tmp_path / "kept", NOW)
    return tmp_path / "kept"


def test_a_backup_holds_what_a_market_needs_and_comes_back_as_it_was(kept: Path, tmp_path: Path) -> None:
    cached = "sanctions-0123456789abcdef.txt"
    whole = ["desk-test.json", "key_pepper", "market.db", cached, "sandbox-chain.jsonl", "signing_seed"]
    assert sorted(path.name for path in kept.iterdir()) == sorted([*whole, MANIFEST])
    made = restore_backup(kept, tmp_path / "new")
    assert (sorted(made.files), made.made_at, made.service_name) == (
        sorted(whole),
        "2026-11-22T00:00:00.000Z",
        "service",
    )
    restored = {path.relative_to(tmp_path / "new").as_posix(): path for path in (tmp_path / "new").rglob("*")}
    assert restored.pop("desk-test").is_dir()
    assert {name: path.read_bytes() for name, path in restored.items()} == {
        DESK_KEYS.get(name, name): (kept / name).read_bytes() for name in whole
    }


def test_a_desk_beside_the_market_comes_back_with_its_wallet_for_its_owner_alone(
    settings: Settings, kept: Path, tmp_path: Path
) -> None:
    """The desk's folder may be lost with the market's.

    Without it, no one could spend the earned money.
    """
    with closing(Home(settings.desk_home)) as home:
        earned = home.read_keys()
    shutil.rmtree(settings.data_dir)
    restore_backup(kept, tmp_path / "new")
    files = (kept / "desk-test.json", tmp_path / "new" / "desk-test" / "agent.json")
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(files[1].parent.stat().st_mode) == 0o700
    with closing(Home(tmp_path / "new" / "desk-test")) as home:
        assert home.read_keys() == earned


def test_nothing_is_written_over(settings: Settings, kept: Path) -> None:
    with pytest.raises(BadSettings, match="is not empty"):
        make_backup(settings, kept, NOW)
    before = {path: path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()}
    with pytest.raises(BadSettings, match="is not empty"):
        restore_backup(kept, settings.data_dir)
    assert {path: path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()} == before


def test_what_is_no_market_is_not_backed_up(settings: Settings, tmp_path: Path) -> None:
    nothing = read_settings(_env_file=None, data_dir=tmp_path / "nothing")
    with pytest.raises(BadSettings, match=r"market\.db is not there"):
        make_backup(nothing, tmp_path / "kept", NOW)
    secrets = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}
    server = read_settings(_env_file=None, database_url="postgresql://u:secret@host/market", **secrets)
    with pytest.raises(BadSettings, match=r"u:\*\*\*@host/market is not a file.*pg_dump.*EMPORION_KEY_PEPPER"):
        make_backup(server, tmp_path / "kept", NOW)
    assert not (tmp_path / "kept").exists()
    with pytest.raises(BadSettings, match="the secrets are not those of"):
        make_backup(settings.model_copy(update=secrets), tmp_path / "other", NOW)
    assert not (tmp_path / "other" / MANIFEST).exists()
    assert settings.database_file is not None
    settings.database_file.write_bytes(b"a shopping list\n" * 1000)
    with pytest.raises(Unavailable, match="cannot be read or copied"):
        make_backup(settings, tmp_path / "damaged", NOW)


@pytest.mark.parametrize("name", ["market.db", "signing_seed", "desk-test.json", "sandbox-chain.jsonl"])
@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-1])])
def test_a_file_that_is_not_as_it_was_written_is_not_restored(
    kept: Path, tmp_path: Path, name: str, spoil: Any
) -> None:
    spoil(kept / name)
    with pytest.raises(BadSettings, match=f"{name}: missing, or not what was backed up"):
        restore_backup(kept, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_was_never_finished_or_is_of_another_program_is_not_restored(kept: Path, tmp_path: Path) -> None:
    whole = orjson.loads((kept / MANIFEST).read_bytes())
    files = whole["files"]
    (tmp_path / "market" / "outside").write_text("")
    for told, words in (
        (whole | {"revision": "9999"}, "newer than this program"),
        (whole | {"format": 2}, "not a backup this version"),
        (whole | {"files": {name: files[name] for name in files if name != "key_pepper"}}, "must name market.db"),
        (whole | {"files": files | {"../market/outside": "0" * 64}}, "files beside it alone"),
        (whole | {"surprise": 1}, "damaged"),
        ([], "damaged"),
    ):
        (kept / MANIFEST).write_bytes(orjson.dumps(told))
        with pytest.raises(BadSettings, match=words):
            restore_backup(kept, tmp_path / "new")
    (kept / MANIFEST).unlink()
    with pytest.raises(BadSettings, match="no backup, or one that was never finished"):
        restore_backup(kept, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_restore_that_broke_off_is_not_served(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, the next start would make an empty market with new secrets."""
    written: list[str] = []

    def copy(source: Path, target: Path) -> None:
        if target.name in ("key_pepper", "signing_seed"):
            raise OSError("the disk is full")
        written.append(target.name)
        shutil.copyfile(source, target)

    monkeypatch.setattr("server.backup.copy_file", copy)
    with pytest.raises(OSError, match="full"):
        restore_backup(kept, tmp_path / "new")
    assert "market.db" in written
    with pytest.raises(BadSettings, match="is missing beside"):
        read_secrets(read_settings(_env_file=None, data_dir=tmp_path / "new"))
