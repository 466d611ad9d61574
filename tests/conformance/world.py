"""A seeded world: two traders with bound wallets, a stranger, listings of every kind, jobs in every reachable state."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from server.world.chain import JsonRpcChain
from server.world.clock import SystemClock
from storage.open import open_store
from tests.chain.evm import Evm
from tests.market import PEPPER, Agent, TestMarket
from tests.trading import Trade, binding
from tools.ports import Chain, Env

LIMITS = {"active_listings": 100_000, "unfinished_jobs": 100_000}  # a fuzzer is no ordinary trader
SECRETS = {"signing_seed": bytes(32).hex(), "key_pepper": PEPPER.hex()}  # those of the market that seeds
STATES = ("open", "awaiting_payment", "in_progress", "delivered", "payable", "revealed", "completed", "expired")
EACH = 8  # so many jobs stand in each state: calls move them on
LASTING: dict[str, Any] = {"accept_timeout_seconds": 604_800, "turnaround_seconds": 2_592_000, "max_open_jobs": 1000}
FREE: dict[str, Any] = {"title": "Echo, free of charge", "price": 0}
UPFRONT: dict[str, Any] = {"title": "Translate, paid first", "payment": "upfront"}
LOOSE: dict[str, Any] = {
    "title": "Anything you like",
    "input_schema": None,
    "output_schema": None,
    "example_input": None,
    "example_output": None,
}


@dataclass(frozen=True)
class Party:
    """An agent, and the proof that its wallet is its own."""

    agent: Agent

    @property
    def key(self) -> str:
        return self.agent.keys["test"]

    @property
    def wallet(self) -> str:
        return str(self.agent.wallet.address)

    @property
    def signature(self) -> str:
        return binding(self.agent)


@dataclass(frozen=True)
class World:
    """What stands in the database: ids a caller can use, and the transfers that pay for the jobs at `payable`."""

    parties: Mapping[str, Party]
    listings: list[str]
    jobs: Mapping[str, list[str]]
    transfers: list[str]

    @property
    def agents(self) -> list[str]:
        return [name for party in self.parties.values() for name in (party.agent.id, party.agent.handle)]


async def seed(url: str, evm: Evm) -> World:
    """Fill the empty database at `url` through the door, by trades on the chain. The clock is then the system's."""
    chains: dict[Env, Chain] = {}
    with closing(open_store(url)) as store:
        market = TestMarket(store, chains, **LIMITS)
        reader = JsonRpcChain(evm.url, evm.chain_id, monotonic=market.clock.monotonic)
        chains[Env.TEST] = reader
        try:
            return await Seeding(Trade(market, evm)).world()
        finally:
            await reader.close()


class Seeding:
    """The trades, in order."""

    def __init__(self, trade: Trade) -> None:
        self.trade, self.call = trade, trade.market.call
        self.transfers: list[str] = []

    async def world(self) -> World:
        clock, now = self.trade.market.clock, SystemClock().now()
        clock.at = now - timedelta(hours=2)
        self.seller, self.buyer = await self.trade.parties(1_000_000_000)
        stranger = await self.trade.agent("Stu")
        loose = await self.trade.listing(self.seller, **LASTING, **LOOSE)
        self.listings = {
            "loose": loose,
            "free": await self.trade.listing(self.seller, **LASTING, **FREE),
            "upfront": await self.trade.listing(self.seller, **LASTING, **UPFRONT),
            "typed": await self.trade.listing(self.seller, **LASTING),
            "brief": await self.trade.listing(self.seller, **(LASTING | LOOSE | {"accept_timeout_seconds": 60})),
            "others": await self.trade.listing(stranger, **LASTING, **FREE),
        }
        expired = [await self.order("brief") for _ in range(EACH)]
        clock.at = SystemClock().now()
        jobs = {state: [(await self.job_at(state))["id"] for _ in range(EACH)] for state in STATES[:-1]}
        jobs["completed"] += [(await self.completed_free())["id"] for _ in range(2)]
        jobs["expired"] = [job["id"] for job in expired]
        for state in STATES:
            await self.check(state, jobs[state])
        parties = {"seller": Party(self.seller), "buyer": Party(self.buyer), "stranger": Party(stranger)}
        return World(parties, [one["id"] for one in self.listings.values()], jobs, self.transfers)

    async def order(self, listing: str) -> Any:
        return await self.trade.order(self.buyer, self.listings[listing])

    async def job_at(self, state: str) -> Any:
        job = await self.order("upfront" if state == "awaiting_payment" else "loose")
        if state == "open":
            return job
        job = await self.call("accept_job", by=self.seller, job_id=job["id"])
        if state in ("awaiting_payment", "in_progress"):
            return job
        job = await self.trade.deliver(self.seller, job)
        if state == "payable":
            self.transfers.append(await self.trade.send(self.buyer, job))
        if state in ("delivered", "payable"):
            return job
        await self.trade.pay(self.buyer, job)
        return job if state == "revealed" else await self.call("accept_job", by=self.buyer, job_id=job["id"])

    async def completed_free(self) -> Any:
        job = await self.call("accept_job", by=self.seller, job_id=(await self.order("free"))["id"])
        await self.trade.deliver(self.seller, job)
        return await self.call("accept_job", by=self.buyer, job_id=job["id"])

    async def check(self, state: str, ids: list[str]) -> None:
        """Each job is where it was to be led, as its seller sees it."""
        told = {"payable": "delivered", "revealed": "delivered"}.get(state, state)
        seen = [await self.call("get_job", by=self.seller, job_id=one) for one in ids]
        assert {one["status"] for one in seen} == {told}, state
