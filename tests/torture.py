"""Kill the service at random moments under load; check that no acknowledged write is lost or partial.

python -m tests.torture [--kills 50] [--seed N] [--database sqlite|postgres]; default: both databases. The kill is a
SIGKILL. Clients make purchases over HTTP, and repeat each call with its Idempotency-Key until it is answered. Prints a
line for each database. Exits with 1 if anything was lost, doubled or left half done.
"""

import argparse
import asyncio
import os
import random  # noqa: TID251 - seeded: a run can be repeated
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from storage.open import open_store
from tests.end_to_end.faults.chain import OwnChain, wallet_of
from tests.end_to_end.faults.forge import KILLED, Forge
from tests.end_to_end.faults.standing import Standing, half_states, standing
from tests.support.databases import DATABASES, PostgresServer, close
from tests.support.market import Agent
from tests.support.trade import OFFER, PRICE, binding
from tools.catalogue import CATALOGUE
from tools.listings.stats import drifted_listings

CLIENTS, ORDERS_AT_ONCE = 6, 2
LIFE_SECONDS = (0.02, 0.8)  # from the ready message of a server to its kill
EARLY, EARLY_SECONDS = 0.1, (0.0, 0.2)  # the share of servers that are killed while they start, and when
DATABASE_SECONDS = 120
DRAIN_SECONDS = 20
RETRY_SECONDS = 0.02
LATER = (502, 503)  # the chain or the database does not answer; other errors are faults
ENOUGH = 10**6 * PRICE


class Broken(Exception):
    """The error for something that must never happen."""


@dataclass(slots=True)
class Acknowledged:
    """A write that the service answered with 2xx: the call and the answer."""

    operation: str
    given: dict[str, Any]
    key: str
    credential: str | None
    status: int
    body: bytes


@dataclass(slots=True)
class Load:
    """Clients that buy and sell until they are stopped, and their answers."""

    chain: OwnChain
    http: httpx.AsyncClient
    stopping: bool = False
    purchases: int = 0
    repeats: int = 0
    replayed: int = 0
    acknowledged: list[Acknowledged] = field(default_factory=list)

    async def client(self, name: str) -> None:
        """Run one client: a seller with a listing, and a buyer that purchases again and again."""
        seller, buyer = await self.agent(f"{name}-seller"), await self.agent(f"{name}-buyer")
        await asyncio.to_thread(self.chain.fund, buyer.wallet, ENOUGH)
        listing = await self.write("create_listing", OFFER, f"{name}-listing", seller)
        for number in range(10**6):
            if self.stopping and number:  # one purchase at least, because a slow machine may not begin one before
                return
            paying = asyncio.Lock()
            at_once = ORDERS_AT_ONCE if number else 1  # a buyer without a payment may have one open job only
            names = [f"{name}-{number}-{place}" for place in range(at_once)]
            await asyncio.gather(*(self.buy(one, seller, buyer, listing["id"], paying) for one in names))

    async def agent(self, name: str) -> Agent:
        made = await self.write("register_agent", {"name": name}, f"{name}-registers-itself-once", None)
        agent = Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], b"", wallet_of(name))
        claim = {"address": agent.wallet.address, "signature": binding(agent)}
        await self.write("set_wallet_address", claim, f"{name}-wallet", agent)
        return agent

    async def buy(self, name: str, seller: Agent, buyer: Agent, listing_id: str, paying: asyncio.Lock) -> None:
        order = {"listing_id": listing_id, "input": {"text": name}}
        job = {"job_id": (await self.write("create_job", order, f"{name}-order", buyer))["id"]}
        await self.write("accept_job", job, f"{name}-accept", seller)
        work = {"output": {"english": name}, "message": f"{name} is done."}
        await self.write("deliver_job", job | work, f"{name}-deliver", seller)
        async with paying:  # one wallet, so its transactions need consecutive nonces
            sent = await asyncio.to_thread(self.chain.transfer, buyer.wallet, seller.wallet.address, PRICE)
        paid = await self.write("pay_job", job | {"transaction": sent}, f"{name}-pay", buyer)
        if paid["output"] != work["output"]:
            raise Broken(f"{name}: paid, and the output is {paid['output']}")
        await self.write("accept_job", job, f"{name}-done", buyer)
        reviews = [("by-buyer", buyer, 5), ("by-seller", seller, 4)]
        await asyncio.gather(
            *(self.write("review_job", job | {"rating": stars}, f"{name}-{who}", by) for who, by, stars in reviews)
        )
        self.purchases += 1

    async def write(self, operation: str, given: dict[str, Any], key: str, by: Agent | None) -> Any:
        """Repeat a call until it is answered; return its record.

        Raises Broken if the answer is neither 2xx nor temporary.
        """
        credential = by.keys["test"] if by else None
        while True:
            try:
                answer = await self.send(operation, given, key, credential)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code in (200, 201):
                break
            if answer is not None and answer.status_code not in LATER:
                raise Broken(f"{key}: {answer.status_code} {answer.text}")
            self.repeats += 1
            await asyncio.sleep(RETRY_SECONDS)
        self.replayed += "idempotent-replayed" in answer.headers
        self.acknowledged.append(Acknowledged(operation, given, key, credential, answer.status_code, answer.content))
        return answer.json()

    async def send(self, operation: str, given: dict[str, Any], key: str, credential: str | None) -> httpx.Response:
        op, rest = CATALOGUE[operation], dict(given)
        path = op.path.replace("{job_id}", rest.pop("job_id") if op.path_names else "")
        headers = {"Idempotency-Key": key} | ({"X-API-Key": credential} if credential else {})
        return await self.http.request(op.method, path, json=rest, headers=headers)

    async def losses(self) -> list[str]:
        """Repeat each acknowledged call. A call without the same bytes as answer was lost."""
        lost: list[str] = []
        queue = iter(self.acknowledged)

        async def ask() -> None:
            for one in queue:
                answer = await self.send(one.operation, one.given, one.key, one.credential)
                same = (answer.status_code, answer.content) == (one.status, one.body)
                if not same or "idempotent-replayed" not in answer.headers:
                    lost.append(f"{one.key}: {one.body!r} became {answer.status_code} {answer.content!r}")

        await asyncio.gather(*(ask() for _ in range(CLIENTS)))
        return lost


@dataclass(slots=True)
class Killer:
    """Starts a server again and again, and kills each after a random time."""

    forge: Forge
    order: dict[str, str]
    chance: random.Random
    kills: int = 0

    async def run(self, kills: int) -> None:
        for _ in range(kills):
            await asyncio.to_thread(self.forge.begin, "whole", **self.order)
            early = self.chance.random() < EARLY
            if not early:
                await asyncio.to_thread(self.forge.ready)
            await asyncio.sleep(self.chance.uniform(*(EARLY_SECONDS if early else LIFE_SECONDS)))
            code = await asyncio.to_thread(self.forge.kill)
            if code != KILLED:
                raise Broken(f"a server ended by itself, with {code}")
            self.kills += 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run on one database."""

    kills: int
    load: Load
    faults: list[str]
    took_seconds: float

    def line(self, database: str) -> str:
        load = self.load
        return (
            f"{database}: {self.kills} kills, {len(load.acknowledged)} writes acknowledged, "
            f"{load.purchases} purchases completed, {load.repeats} calls repeated, {load.replayed} answers replayed, "
            f"{len(self.faults)} lost, doubled or half done, in {self.took_seconds:.0f} s"
        )


@contextmanager
def forging(folder: Path) -> Iterator[Forge]:
    """Open a forge whose servers write their log into the folder."""
    with (folder / "log").open("wb") as log:
        forge = Forge(log)
        try:
            yield forge
        finally:
            forge.close()


async def torture(url: str, folder: Path, kills: int, chance: random.Random) -> Outcome:
    """Run load and kills on one database; return all faults."""
    began = time.monotonic()
    with OwnChain(folder) as chain, forging(folder) as forge:
        order = {"url": url, "rpc_url": chain.url, "data_dir": str(folder)}
        killer = Killer(forge, order, chance)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{forge.port}", trust_env=False, timeout=30) as http:
            load = Load(chain, http)
            faults = await under_load(load, killer, kills)
    faults += await drifted(url)
    faults += wrong(standing(url), load)
    return Outcome(killer.kills, load, faults, time.monotonic() - began)


async def under_load(load: Load, killer: Killer, kills: int) -> list[str]:
    """Kill servers under load, let started purchases finish, and repeat every call."""
    faults: list[str] = []
    try:
        async with asyncio.timeout(DATABASE_SECONDS), asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(load.client(f"client-{number}"))
            await killer.run(kills)
            load.stopping = True
            await asyncio.to_thread(killer.forge.start, "whole", **killer.order)
        async with asyncio.timeout(DRAIN_SECONDS):
            faults += await load.losses()
        await asyncio.to_thread(killer.forge.kill)
    except* (Broken, TimeoutError, httpx.HTTPError) as broken:
        faults += [repr(error) for error in leaves(broken)]
    return faults


def leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error


def wrong(found: Standing, load: Load) -> list[str]:
    """Compare the rows with the acknowledged writes. Every purchase has finished by now."""
    counts = {
        "answers": len(load.acknowledged),
        "agents": 2 * CLIENTS,
        "listings": CLIENTS,
        "jobs": load.purchases,
        "settlements": load.purchases,
        "reviews": 2 * load.purchases,
    }
    faults = [f"{len(found[name])} {name}, not {count}" for name, count in counts.items() if len(found[name]) != count]
    faults += [f"job {job['id']} is {job['status']}" for job in found["jobs"] if job["status"] != "completed"]
    return faults + half_states(found)


async def drifted(url: str) -> list[str]:
    """Return the listings whose counts differ from their rows, as `emporion doctor` does."""

    store = open_store(url)
    try:
        return [f"listing {one} has drifted" for one in await drifted_listings(store)]
    finally:
        await close(store)


@contextmanager
def database(name: str, folder: Path) -> Iterator[str]:
    """Make an empty database of this kind; return its URL."""
    if name == "sqlite":
        yield f"sqlite:///{folder / 'market.db'}"
        return
    server = PostgresServer()
    try:
        yield server.create("market")
    finally:
        server.stop()


def run(name: str, kills: int, seed: int) -> bool:
    """Torture one database and print the result; return whether it succeeded."""
    with tempfile.TemporaryDirectory(prefix="emporion-torture-") as folder, database(name, Path(folder)) as url:
        outcome = asyncio.run(torture(url, Path(folder), kills, random.Random(f"{seed} {name}")))
        print(outcome.line(name), flush=True)
        for fault in outcome.faults[:20]:
            print(f"  {fault[:500]}")
        if outcome.faults:
            print((Path(folder) / "log").read_text(errors="replace")[-4000:])
    return outcome.kills == kills and not outcome.faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)), help="of how long each server lives")
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: each")
    options = parser.parse_args()
    print(f"seed {options.seed}: again with --seed {options.seed}", flush=True)
    well = [run(name, options.kills, options.seed) for name in options.database or DATABASES]
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
