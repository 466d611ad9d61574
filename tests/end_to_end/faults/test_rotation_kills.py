"""SIGKILL of `emporion keys rotate` at each important point: a market serves one key, and the next run finishes."""

import asyncio
import os
import shutil
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import rfc8785
from nacl.signing import VerifyKey

from server.secrets import NEXT
from tests.end_to_end.faults.forge import KILLED
from tests.end_to_end.faults.test_backup import an_order, answers, free_port, key_of, ok
from tests.end_to_end.faults.test_start import refused, start
from tests.support.commands import Started, run
from tests.support.commands import start as start_command
from tests.support.databases import PostgresServer
from tests.support.http_receiver import Receiver, verified_by_key
from tests.support.market import Agent
from tests.support.servers import serving

SEED, FOLLOWING = "11" * 32, "33" * 32
GIVEN = {"EMPORION_SIGNING_SEED": SEED, "EMPORION_KEY_PEPPER": "22" * 32, "EMPORION_NEXT_SIGNING_SEED": FOLLOWING}
SECONDS = 60
ENDS_SECONDS = 60


def killed(folder: Path, when: str, step: str, count: int = 1, **given: str) -> None:
    """Run the command until it dies at this point."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    own = {"EMPORION_DATA_DIR": str(folder)} | given
    ended = run([when, step, str(count)], clean | own, module="tests.end_to_end.faults.rotating")
    assert ended.returncode == KILLED, ended.stdout + ended.stderr


@dataclass
class Scene:
    """A market to be restarted, its traders, and the first signed receipt."""

    folder: Path
    given: dict[str, str]
    receiver: Receiver
    seller: Agent
    buyer: Agent
    job_id: str
    first: Any  # a receipt signed with the first key
    hooks: int = 0

    @asynccontextmanager
    async def served(self) -> AsyncIterator["Served"]:
        async with running(self.folder, self.given) as http:
            yield Served(self, http)


@dataclass
class Served:
    """The market between a start and its end."""

    scene: Scene
    http: httpx.AsyncClient

    async def keys(self) -> tuple[str, list[str]]:
        """Return the kid of the only current key, and those of the retired keys."""
        retired = (await ok(self.http.get("/.well-known/retired-keys.json")))["keys"]
        return (await self.current())["kid"], [key["kid"] for key in retired]

    async def current(self) -> Any:
        found = await ok(self.http.get("/.well-known/jwks.json"))
        assert len(found["keys"]) == 1, "never are there two"
        return found["keys"][0]

    async def judged(self, document: Any) -> tuple[bool, str | None]:
        """Return whether a receipt is valid here, and the kid of the retired key that signed it."""
        found = await ok(self.http.post("/v1/receipts/verify", json=document))
        return found["valid"], found["retired"] and found["retired"]["kid"]

    async def sign_all(self) -> None:
        """Check that a new receipt, webhook and card are valid with the current key."""
        key, scene = await self.current(), self.scene
        receipt = await ok(self.http.get(f"/v1/jobs/{scene.job_id}/receipt", headers=key_of(scene.buyer)))
        assert await self.judged(receipt) == (True, None)
        assert receipt["signature"]["kid"] == key["kid"]
        check_card(await ok(self.http.get("/.well-known/agent-card.json")), key)
        scene.hooks += 1
        said = {"to": scene.seller.id, "body": f"Is it ready? ({scene.hooks})"}
        await ok(self.http.post("/v1/threads", json=said, headers=key_of(scene.buyer)))
        async with asyncio.timeout(SECONDS):
            await scene.receiver.has(scene.hooks)
        assert verified_by_key(scene.receiver.got[-1], {"keys": [key]})["type"] == "message.received"


@asynccontextmanager
async def running(folder: Path, given: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    settings = {name.removeprefix("EMPORION_").lower(): value for name, value in given.items()}
    own = {"rate_limits": False, "allow_private_networks": True, **settings}
    async with (
        serving(folder, **own) as service,
        httpx.AsyncClient(base_url=service.settings.url, trust_env=False, timeout=SECONDS) as http,
    ):
        yield http


def check_card(card: Any, key: Any) -> None:
    """Check RFC 7515 over RFC 8785 with other libraries; raises BadSignatureError."""
    (signature,) = card["signatures"]
    unsigned = {name: card[name] for name in card if name != "signatures"}
    # the canonical form leaves defaults out, such as `required: false` of an extension (A2A 1.0, 8.4.1)
    named = [{name: one[name] for name in one if one[name] is not False} for one in card["capabilities"]["extensions"]]
    payload = b64(rfc8785.dumps(unsigned | {"capabilities": card["capabilities"] | {"extensions": named}}))
    raw = [urlsafe_b64decode(one + "==") for one in (key["x"], signature["signature"])]
    VerifyKey(raw[0]).verify(f"{signature['protected']}.{payload}".encode(), raw[1])


def b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as made:
        yield made


async def begun(folder: Path, given: dict[str, str], receiver: Receiver) -> Scene:
    async with running(folder, given) as http:
        seller, buyer, job = await an_order(http)
        hook = {"url": receiver.url, "event_types": ["message.received"]}
        await ok(http.post("/v1/webhooks", json=hook, headers=key_of(seller)))
        first = await ok(http.get(f"/v1/jobs/{job['id']}/receipt", headers=key_of(buyer)))
        made = Scene(folder, given, receiver, seller, buyer, job["id"], first)
        await Served(made, http).sign_all()
    return made


REPLACED = ("sync", 2)
FILES = {  # fault points if the seeds are files, and whether the database has the new key by then
    ("after", "make_secret", 1): False,  # the new seed is in a file that is not read
    ("before", "sync", 1): False,  # it is beside the old one
    ("before", "commit", 1): False,  # the transaction is written and not committed
    ("after", "commit", 1): True,
    ("before", "sync", 2): True,  # the file of the old seed is replaced
}


@pytest.mark.parametrize("point", FILES, ids=lambda point: "-".join(map(str, point)))
async def test_killed_with_seeds_in_files(tmp_path: Path, receiver: Receiver, point: tuple[str, str, int]) -> None:
    scene = await begun(tmp_path / "market", {}, receiver)
    old, committed = scene.first["signature"]["kid"], FILES[point]
    killed(scene.folder, *point)
    beside = replace(scene, folder=shutil.copytree(scene.folder, tmp_path / "beside"))

    async with scene.served() as market:  # a market starts
        then, retired = await market.keys()
        assert (then == old, retired) == (not committed, [old] if committed else [])
        assert await market.judged(scene.first) == ((False, old) if committed else (True, None))
        await market.sign_all()
    again(scene.folder)
    async with scene.served() as market:
        kid, retired = await market.keys()
        assert ({*retired}, kid in retired) == ({old, then}, False)
        assert await market.judged(scene.first) == (False, old)
        await market.sign_all()

    beside.hooks = scene.hooks
    if point[1:] != REPLACED:  # or the command runs again first: the two runs make one rotation
        again(beside.folder)
    async with beside.served() as market:
        kid, retired = await market.keys()
        assert (kid == old, retired) == (False, [old])
        assert await market.judged(scene.first) == (False, old)
        await market.sign_all()
    assert not (beside.folder / NEXT).exists()


def again(folder: Path, **given: str) -> None:
    done = start(folder, 0, "keys rotate", **given)
    assert (done.returncode, "is retired" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_its_commit_with_seeds_the_operator_gives(
    tmp_path: Path, receiver: Receiver, database_url: str, when: str
) -> None:
    given = GIVEN | {"EMPORION_DATABASE_URL": database_url}
    scene = await begun(tmp_path / "market", given, receiver)
    old, committed = scene.first["signature"]["kid"], when == "after"
    killed(scene.folder, when, "commit", **given)
    async with scene.served() as market:
        kid, retired = await market.keys()
        assert (kid == old, retired) == (not committed, [old] if committed else [])
        await market.sign_all()
    if committed:
        refused(start(scene.folder, 0, "keys rotate", **given), "is in force already", "EMPORION_SIGNING_SEED")
        without = {name: value for name, value in given.items() if name != "EMPORION_NEXT_SIGNING_SEED"}
        refused(start(scene.folder, 0, "serve", **without), "rotated to since")
    else:
        again(scene.folder, **given)
    async with scene.served() as market:
        kid, retired = await market.keys()
        assert (kid == old, retired) == (False, [old])
        assert await market.judged(scene.first) == (False, old)
        await market.sign_all()


async def test_a_market_that_is_served_ends_by_itself_also_where_the_command_was_killed(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    given = GIVEN | {"EMPORION_DATABASE_URL": postgres.create("killed")}
    with spawned(tmp_path, given) as (process, url, log):
        async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
            (old,) = (await ok(http.get("/.well-known/jwks.json")))["keys"]
            await asyncio.to_thread(killed, tmp_path, "after", "commit", **given)
        code = await asyncio.to_thread(process.wait, ENDS_SECONDS)
    assert code == 2
    assert "start again to sign with the new one" in log.read_text().splitlines()[-1]
    async with running(tmp_path, given) as http:
        (new,) = (await ok(http.get("/.well-known/jwks.json")))["keys"]
        (retired,) = (await ok(http.get("/.well-known/retired-keys.json")))["keys"]
    assert (new == old, retired["kid"]) == (False, old["kid"])


@contextmanager
def spawned(folder: Path, given: dict[str, str]) -> Iterator[tuple[Started, str, Path]]:
    """Run `emporion serve` as an operator does; return the process, its address and its log."""
    port, log = free_port(), folder / "log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    own = {"EMPORION_DATA_DIR": str(folder), "EMPORION_PORT": str(port)}
    with log.open("wb") as file, httpx.Client(trust_env=False) as http:
        process = start_command(["serve"], clean | own | given, output=file, errors=file)
        try:
            until = time.monotonic() + SECONDS
            while not answers(http, url := f"http://127.0.0.1:{port}"):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, "it does not serve"
                time.sleep(0.05)
            yield process, url, log
        finally:
            process.kill()
            process.wait()
