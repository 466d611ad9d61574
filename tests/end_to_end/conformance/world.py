"""A seeded world: two traders with bound wallets, a stranger, listings of every kind, jobs in every reachable state."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from server.adapters.chain import JsonRpcChain
from server.adapters.clock import SystemClock
from server.webhook_sender import Sender
from storage.open import open_store
from storage.vocabulary import Env
from tests.support.bounties import bounty, propose
from tests.support.evm import Evm
from tests.support.market import PEPPER, Agent, TestMarket
from tests.support.proofs import Registry, Zone
from tests.support.trade import PRICE, Trade, binding
from tools.engine.ports import Chain, Fetched, Reply

LIMITS = {
    "active_listings": 100_000,
    "unfinished_jobs": 100_000,
    "open_bounties": 100_000,
}  # a fuzzer needs more than an ordinary trader
SECRETS = {"signing_seed": bytes(32).hex(), "key_pepper": PEPPER.hex()}  # the same for seeding and serving
TOLD = {  # the states of the seeded jobs, and their names for the seller
    "open": "open",
    "quote_requested": "quote_requested",
    "quoted": "quoted",
    "awaiting_payment": "awaiting_payment",
    "in_progress": "in_progress",
    "delivered": "delivered",
    "payable": "delivered",
    "revealed": "delivered",
    "completed": "completed",
    "disputed": "disputed",
    "owing": "cancelled",
    "expired": "expired",
}
EACH = 4  # the number of jobs in each state for all calls, and again for the one operation of that state
LASTING: dict[str, Any] = {"accept_timeout_seconds": 604_800, "turnaround_seconds": 2_592_000, "max_open_jobs": 1000}
LOOSE: dict[str, Any] = {"input_schema": None, "output_schema": None, "example_input": None, "example_output": None}
OFFERS: dict[str, dict[str, Any]] = {
    "loose": {"title": "Anything you like"} | LOOSE,
    "free": {"title": "Echo, free of charge", "price": 0},
    "upfront": {"title": "Translate, paid first", "payment": "upfront"},
    "typed": {},
    "quote": {"title": "Anything you like, at a price to be agreed", "pricing_model": "quote", "price": None} | LOOSE,
    "brief": {"title": "Anything, but soon", "accept_timeout_seconds": 60} | LOOSE,
}


@dataclass(frozen=True)
class Party:
    """An agent with a proof of its wallet, and a webhook with its deliveries."""

    agent: Agent
    webhook: str = ""
    deliveries: tuple[str, ...] = ()
    doomed: tuple[str, ...] = ()  # webhooks that may be deleted
    domains: tuple[str, ...] = ()  # the first one is proven
    doomed_domains: tuple[str, ...] = ()
    token: str = ""  # the number of its token in the identity registry

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
    """The content of the database: ids for the callers, and transfers that pay or refund."""

    parties: Mapping[str, Party]
    listings: list[str]
    kept: list[str]  # listings of an agent that never calls, so that they can always be ordered
    jobs: Mapping[str, list[str]]
    payments: list[str]  # for the jobs at `payable`, in order
    refunds: list[str]  # for the jobs at `owing`
    disputes: list[str]  # of the jobs at `disputed`, in order
    judged: list[str]  # cases of other agents, for which the callers are drawn
    bounties: Mapping[str, list[str]]  # by the possible operation; those `kept` are of an agent that never calls
    proposals: list[str]  # on the bounties to award, in order

    @property
    def agents(self) -> list[str]:
        return [name for party in self.parties.values() for name in (party.agent.id, party.agent.handle)]


class Closed:
    """A web that is down: each delivery fails and is retried, and nothing is found."""

    async def get(self, url: str, by: str) -> Fetched:
        return Fetched(503, b"")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        return Reply(503)


async def seed(url: str, evm: Evm, base_url: str) -> World:
    """Fill the empty database at `url` by trades on the chain.

    Afterwards the system's clock applies.
    """
    chains: dict[Env, Chain] = {}
    with closing(open_store(url)) as store:
        market = TestMarket(store, chains, **LIMITS)
        market.market.world = replace(market.market.world, web=Closed(), dns=Zone())
        market.market.config = replace(market.market.config, base_url=base_url)
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
        self.payments: list[str] = []
        self.refunds: list[str] = []

    async def world(self) -> World:
        clock = self.trade.market.clock
        clock.at = SystemClock().now() - timedelta(hours=2)
        self.seller, self.buyer = await self.trade.parties(1_000_000_000)
        await self.trade.known(self.buyer)
        stranger, keeper = await self.trade.agent("Stu"), await self.trade.agent("Kim")
        self.listings = {name: await self.offered(self.seller, name) for name in OFFERS}
        others = await self.offered(stranger, "free")
        kept = [(await self.offered(keeper, name))["id"] for name in ("loose", "free", "quote")]
        expired = [(await self.order("brief"))["id"] for _ in range(2 * EACH)]
        clock.at = SystemClock().now()
        jobs = {state: [(await self.job_at(state))["id"] for _ in range(2 * EACH)] for state in list(TOLD)[:-1]}
        jobs["completed"] += [(await self.completed_free())["id"] for _ in range(2)]
        jobs["expired"] = expired
        for state, ids in jobs.items():
            await self.check(state, ids)
        disputes = [one["id"] for one in (await self.call("list_disputes", by=self.buyer, limit=100))["data"]]
        judged = await self.judged(keeper, stranger, 2 * EACH)
        parties = {"seller": await self.hooked(self.seller), "buyer": await self.hooked(self.buyer)}
        listings = [one["id"] for one in (*self.listings.values(), others)]
        parties["stranger"] = Party(stranger)
        bounties, proposals = await self.bounties(keeper, stranger)
        return World(parties, listings, kept, jobs, self.payments, self.refunds, disputes, judged, bounties, proposals)

    async def bounties(self, keeper: Agent, stranger: Agent) -> tuple[Mapping[str, list[str]], list[str]]:
        """Return bounties to propose on, to withdraw from, to award and to close; and proposals.

        The proposals are on those to award.
        """
        wide = {"budget_max": 10**12, "expires_in_seconds": 7_776_000}
        kept = [(await bounty(self.trade, keeper, **wide))["id"] for _ in range(2)]
        left = await bounty(self.trade, keeper, **wide)
        for agent in (self.seller, self.buyer):
            await propose(self.trade, agent, left)
        posted = [await bounty(self.trade, self.buyer, **wide) for _ in range(2)]
        proposals = [(await propose(self.trade, stranger, posted[0], price=0))["id"]]
        award, close = [[one["id"]] for one in posted]
        return {"kept": kept, "left": [left["id"]], "award": award, "close": close}, proposals

    async def offered(self, seller: Agent, name: str) -> Any:
        return await self.trade.listing(seller, **LASTING | OFFERS[name])

    async def order(self, listing: str) -> Any:
        return await self.trade.order(self.buyer, self.listings[listing])

    async def job_at(self, state: str) -> Any:
        if state == "owing":
            return await self.owing()
        if state in ("quote_requested", "quoted"):
            job = await self.order("quote")
            quoted = {"by": self.seller, "job_id": job["id"], "price": PRICE}
            return job if state == "quote_requested" else await self.call("quote_job", **quoted)
        job = await self.order("upfront" if state == "awaiting_payment" else "loose")
        if state == "open":
            return job
        job = await self.call("accept_job", by=self.seller, job_id=job["id"])
        if state in ("awaiting_payment", "in_progress"):
            return job
        job = await self.trade.deliver(self.seller, job)
        if state == "payable":
            self.payments.append(await self.trade.send(self.buyer, job))
        if state in ("delivered", "payable"):
            return job
        await self.trade.pay(self.buyer, job)
        if state == "disputed":
            return await self.call("dispute_job", by=self.buyer, job_id=job["id"], reason="It is empty.")
        return job if state == "revealed" else await self.call("accept_job", by=self.buyer, job_id=job["id"])

    async def judged(self, seller: Agent, buyer: Agent, count: int) -> list[str]:
        """Return cases of two other agents with the callers on their panels."""
        for agent in (self.seller, self.buyer):
            await self.call("set_evaluator", by=agent, enabled=True)
        listing = await self.offered(seller, "free")
        found = []
        for _ in range(count):
            job = await self.trade.order(buyer, listing)
            await self.call("accept_job", by=seller, job_id=job["id"])
            await self.trade.deliver(seller, job)
            made = await self.call("dispute_job", by=buyer, job_id=job["id"], reason="It is empty.")
            found.append(made["dispute_id"])
        return found

    async def owing(self) -> Any:
        """Return a job with a due refund. Its transfer is sent but not reported."""
        job = await self.trade.failed(self.seller, self.buyer, **LASTING)
        self.refunds.append(self.trade.evm.transfer(self.seller.wallet, self.buyer.wallet, PRICE))
        return job

    async def completed_free(self) -> Any:
        job = await self.call("accept_job", by=self.seller, job_id=(await self.order("free"))["id"])
        await self.trade.deliver(self.seller, job)
        return await self.call("accept_job", by=self.buyer, job_id=job["id"])

    async def hooked(self, agent: Agent) -> Party:
        """Return the agent with a webhook that fails, and its deliveries, which will be retried."""
        only = {
            "url": "https://agent.example/hook",
            "event_types": ["webhook.test"],
        }  # more failures would disable it
        hook = (await self.call("create_webhook", by=agent, **only))["id"]
        await self.call("test_webhook", by=agent, webhook_id=hook)
        await Sender(self.trade.market.market).step()
        sent = await self.call("list_webhook_deliveries", by=agent, webhook_id=hook)
        doomed = [await self.call("create_webhook", by=agent, **only) for _ in range(EACH)]
        return Party(agent, hook, _ids(sent["data"]), _ids(doomed), *await self.proven(agent))

    async def proven(self, agent: Agent) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return domains of the agent, the first one proven, two to delete, and its token."""
        kept, gone = [[f"{word}{n}-{agent.handle}.example.com" for n in range(2)] for word in ("kept", "gone")]
        for domain in (*kept, *gone):
            await self.call("add_domain", by=agent, domain=domain)
        market = self.trade.market.market
        assert isinstance(market.world.dns, Zone)
        market.world.dns.records[f"_service.{kept[0]}"] = [f"service={agent.id}".encode()]
        assert (await self.call("verify_domain", by=agent, domain=kept[0]))["verified"]
        uri = f"{market.config.base_url}/agents/{agent.id}/erc8004.json"
        return tuple(kept), tuple(gone), Registry(self.trade.evm).register(agent.wallet, uri)

    async def check(self, state: str, ids: list[str]) -> None:
        """Check that each job has the intended status, as its seller sees it."""
        seen = [await self.call("get_job", by=self.seller, job_id=one) for one in ids]
        assert {one["status"] for one in seen} == {TOLD[state]}, state


def _ids(records: Sequence[Any]) -> tuple[str, ...]:
    return tuple(one["id"] for one in records)
