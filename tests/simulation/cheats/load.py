"""Cheats that cost the operator: floods of calls, bytes, posts and connections."""

import asyncio
from datetime import timedelta
from typing import Any

import orjson
from uvicorn import Config
from uvicorn.server import ServerState

from server.http_limits import bounded_http
from tests.simulation.cheats.base import Abandoned, Cheat, proxied
from tests.simulation.population import Identity
from tests.simulation.records import Json
from tests.simulation.wires import Call

STEADY_SECONDS = 55.0  # a flood that took longer met more than one window of a minute
MINUTE = timedelta(seconds=60)
FRESH_SECONDS = 61.0  # after which all windows of a minute are new
ORDER_BYTES, KEPT_SECONDS = 100_000, 29 * 86_400.0  # inputs of orders that never began are kept 30 days
OUTPUT_BYTES, POKES, POKE_BYTES = 60_000, 8, 8_000
BODY_SECONDS = 40.0  # in which a body of a few bytes must have ended: 30, and one for each 32 KB


class FillsDisk(Cheat):
    """A buyer whose large orders are called off, so that nothing is paid for their bytes."""

    name = "fills the disk"
    finding = 7

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.stored: list[float] = []  # the time of each order

    async def trick(self) -> None:
        listing = await self.offer(await self.other("seller"))
        self.attempt()
        noise = self.random.randbytes(ORDER_BYTES // 2).hex()
        made = await self.ask(self.identity, "create_job", listing_id=listing["id"], input={"text": noise})
        if not made.refused:
            self.stored.append(self.simulation.loop.elapsed)
            await self.ask(self.identity, "cancel_job", job_id=made.body["id"])
        storage = (await self.need(self.identity, "get_me"))["storage"]
        kept = sum(ORDER_BYTES for at in self.stored if self.simulation.loop.elapsed - at < KEPT_SECONDS)
        self.gain(
            "load", max(0, kept - storage["used"], kept - storage["limit"]), f"{kept} bytes are stored: {storage}"
        )


class FloodsWithKeys(Cheat):
    """An agent with many keys that makes the market ask the operator's node too often."""

    name = "floods with keys"
    finding = 8
    keys, window, beyond = 4, 180, 10  # all processes together let an agent make the calls of three keys

    async def trick(self) -> None:
        if self.acts % 10 != 1:
            return
        seller = await self.other("seller")
        job = await self.delivered(seller, self.identity, await self.offer(seller))
        made = [await self.need(self.identity, "create_api_key", env="test") for _ in range(self.keys)]
        flooders = [self.holder(one["key"]) for one in made]
        await self.simulation.sleep(FRESH_SECONDS)
        began, answered = self.simulation.loop.elapsed, 0
        offs = [one.clock.off for one in self.simulation.machines]
        windows = 2 if max(offs) - min(offs) >= MINUTE else 1  # a clock that is ahead begins another
        allowed = self.window * windows
        for number in range(allowed + self.beyond):
            given = {"job_id": job["id"], "transaction": self.simulation.chain.new_hash()}
            answer = await self.ask(flooders[number % self.keys], "pay_job", **given)
            answered += answer.code != "rate_limited"
        for key in made:
            await self.ask(self.identity, "revoke_api_key", key_id=key["id"])
        await self.ask(self.identity, "cancel_job", job_id=job["id"])
        if self.simulation.loop.elapsed - began > STEADY_SECONDS:
            raise Abandoned("it took too long")
        self.attempt()
        self.gain("load", max(0, answered - allowed), f"{answered} calls of a minute asked the node")

    def holder(self, key: str) -> Identity:
        own = self.identity
        return Identity(own.id, own.handle, {"test": key}, own.seed, own.wallet)


class SpellsAddresses(Cheat):
    """A client of a proxy that writes ports, so each connection looks like another address."""

    name = "spells addresses"
    finding = 16
    calls, allowed = 23, 20  # claims of an address in an hour

    async def trick(self) -> None:
        own = self.random.randrange(2**16)
        spelled = f"9.{own >> 8}.{own & 255}.9:{{}}" if self.likely(0.5) else f"[2001:db8:{own:x}:7::{{}}]:443"
        claim = orjson.dumps(self.forged())
        answers = [
            await self.send("POST", "/v1/x402/account", claim, **proxied(spelled.format(number)))
            for number in range(4_000, 4_000 + self.calls)
        ]
        self.attempt()
        counted = sum(one.status != 429 for one in answers)
        self.gain("load", max(0, counted - self.allowed), f"{counted} claims of one address, spelled {spelled}")

    def forged(self) -> Json:
        now = int(self.simulation.clock.now().timestamp())
        who = {"agent_id": self.identity.id, "address": self.identity.wallet.address}
        return {**who, "signed_at": now, "signature": "0x" + "11" * 65}


class FloodsDocuments(Cheat):
    """A stranger that reads documents, which count as no operation."""

    name = "floods documents"
    finding = 20
    calls, allowed = 620, 600  # in a minute

    async def trick(self) -> None:
        if self.acts % 10 != 1:
            return
        ip, store = f"198.51.100.{self.random.randrange(256)}", self.simulation.machine.store
        call = Call(self.simulation.made, "get_health", {}, ip=ip)
        await self.simulation.sleep(FRESH_SECONDS)
        began, read = self.simulation.loop.elapsed, 0
        for _ in range(self.calls):
            read += (await self._once(call, "GET", "/llms.txt", b"", (), "")).status == 200
        late = self.simulation.loop.elapsed - began > STEADY_SECONDS
        if late or store is not self.simulation.machine.store:
            raise Abandoned("the windows began again")
        self.attempt()
        self.gain("load", max(0, read - self.allowed), f"{ip} read {read} documents in a minute")


class FloodsHosts(Cheat):
    """An agent that lets the market post one large task repeatedly to a host that never agreed."""

    name = "floods hosts"
    finding = 19

    async def trick(self) -> None:
        seller = await self.other("seller")
        output = {"text": "x" * OUTPUT_BYTES}
        job = await self.delivered(seller, self.identity, await self.offer(seller, price=0), output)
        url = f"https://host-{self.acts}.example/{self.identity.id}"
        set_up = await self.a2a(self.identity, "CreateTaskPushNotificationConfig", {"taskId": job["id"], "url": url})
        if set_up.status != 200 or "error" in set_up.body:
            raise Abandoned(f"no push config: {set_up.raw[:200]!r}")
        for _ in range(POKES):
            await self.ask(seller, "post_message", thread_id=job["thread_id"], body="x")
            await self.simulation.sleep(2 * self.simulation.scenario.pause_seconds)
        posted = self.simulation.web.received.pop(url, [])
        if not posted:
            raise Abandoned("nothing was posted")
        self.attempt()
        unanswered = self.simulation.web.lost[url]  # the market cannot know that these were taken
        most = (2 + unanswered) * OUTPUT_BYTES + POKES * POKE_BYTES
        sent = sum(map(len, posted))
        self.gain("load", max(0, sent - most), f"{POKES} bytes made {len(posted)} posts of {sent} bytes to {url}")


class Connection(asyncio.Transport):
    """A connection that the client keeps open."""

    closed = False

    def write(self, data: Any) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


class HoldsBodies(Cheat):
    """A stranger whose request bodies never end."""

    name = "holds bodies"
    finding = 13

    async def trick(self) -> None:
        kind = bounded_http("https://market.test/docs")
        config = Config(read_all, log_config=None, access_log=False, proxy_headers=False, lifespan="off", ws="none")
        config.load()
        connection, protocol = Connection(), kind(config, ServerState(), {}, self.simulation.loop)
        protocol.connection_made(connection)
        protocol.data_received(b"POST /v1/agents HTTP/1.1\r\nHost: market.test\r\nContent-Length: 1000000\r\n\r\n{")
        self.simulation.count()
        self.attempt()
        began = self.simulation.loop.elapsed
        while not connection.closed and self.simulation.loop.elapsed - began < BODY_SECONDS:
            await self.simulation.sleep(1.0)
            if not connection.closed:
                protocol.data_received(b" ")
        held = not connection.closed
        protocol.connection_lost(None)
        self.gain("load", int(held), f"a body was kept for {BODY_SECONDS} s")


async def read_all(_: Any, receive: Any, __: Any) -> None:
    """Read a request to its end or to the end of its connection."""
    while (await receive()).get("more_body", False):
        pass


LOAD_CHEATS = (FillsDisk, FloodsWithKeys, SpellsAddresses, FloodsDocuments, FloodsHosts, HoldsBodies)
