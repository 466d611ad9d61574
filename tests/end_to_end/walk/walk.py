"""One walk: five agents on a fresh market, its known records, and the steps of the agents."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from eth_account.signers.local import LocalAccount
from nacl.signing import SigningKey

from server.adapters.chain import JsonRpcChain
from server.webhook_sender import Sender
from server.workers import DailyRechecks
from storage.open import open_database, serve
from storage.vocabulary import Env
from tests.end_to_end.walk.ground import NAMES, Ground, Receivers, Sent, Troubles
from tests.end_to_end.walk.watch import Watch
from tests.support.databases import close
from tests.support.evm import pack
from tests.support.faucet import TestFaucet, open_faucet
from tests.support.market import Agent, TestMarket
from tests.support.proofs import Zone
from tests.support.signed_requests import approach
from tests.support.trade import OFFER, PRICE, binding
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.idempotency import Response
from tools.engine.ports import Chain
from tools.engine.registry import Operation

GAS = 100_000  # enough for a transfer
V = TypeVar("V")
Pick = Callable[[Sequence[Any]], Any]  # chooses from a list whose first entry is honest and usual
QUOTED = {name: value for name, value in OFFER.items() if name != "price"} | {"pricing_model": "quote"}
OFFERS = (OFFER, OFFER | {"payment": "upfront"}, QUOTED, OFFER | {"price": 0}, QUOTED | {"payment": "upfront"})


def usual(choices: Sequence[V]) -> V:
    return choices[0]


async def begun(ground: Ground) -> "Walk":
    """Begin a walk: register its agents and create their listings."""
    walk = Walk(ground)
    await walk.begin()
    return walk


class Walk:
    """One walk. `do` makes all calls and checks each answer."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.evm, self.receivers, self.zone = ground, ground.evm, Receivers(), Zone()
        self.store = serve(open_database(ground.fresh()))
        chains: dict[Env, Chain] = {}
        self.market = TestMarket(self.store, chains)
        ground.begin(self.market.clock)
        self.chain = JsonRpcChain(ground.node.url, ground.evm.chain_id, monotonic=self.market.clock.monotonic)
        chains[Env.TEST] = self.chain
        self.market.market.services.world = replace(self.market.market.world, web=self.receivers, dns=self.zone)
        open_faucet(self.market, TestFaucet(gives_gas=True))
        self.sender, self.looks = Sender(self.market.market), DailyRechecks(self.market.market)
        self.troubles = Troubles(ground)
        self.sent: dict[str, Sent] = {}
        self.secrets: dict[bytes, str] = {}
        self.watch = Watch(self.store, self.receivers, self.sent, self.secrets)
        self.agents: list[Agent] = []
        self.jury: list[Agent] = []  # agents that only judge
        self.gone: set[str] = set()
        self.listings: list[str] = []
        self.jobs: dict[str, tuple[Agent, Agent]] = {}  # buyer and seller
        self.bounties: dict[str, Agent] = {}  # with their owners
        self.known: dict[tuple[str, str], list[str]] = defaultdict(list)  # by kind of record and agent: the ids

    async def begin(self) -> None:
        for name, account in zip(NAMES, self.ground.people, strict=True):
            agent = await self.market.register(name)
            agent.wallet = account
            self.agents.append(agent)
            if name != "Eve":
                await self.succeed("set_wallet_address", agent, address=account.address, signature=binding(agent))
        for name in ("Jo", "Jil"):
            self.jury.append(await self.market.register(name))
            await self.succeed("set_evaluator", self.jury[-1], enabled=True)
        for number, offer in enumerate(OFFERS):
            made = await self.succeed("create_listing", self.agents[number % 2], **offer)
            self.listings.append(made["id"])
        for buyer in self.buyers:
            await self.first_purchase(buyer)

    async def first_purchase(self, buyer: Agent) -> None:
        """Buy once, because new buyers may have only one open job of each priced listing."""
        job_id = await self.order(buyer, 0)
        assert job_id
        seller = self.jobs[job_id][1]
        await self.succeed("accept_job", seller, job_id=job_id)
        await self.succeed("deliver_job", seller, job_id=job_id, output={"english": self.secret(job_id)})
        sent = self.transfer(buyer, seller.wallet.address, PRICE)
        await self.succeed("pay_job", buyer, job_id=job_id, transaction=sent)
        await self.succeed("accept_job", buyer, job_id=job_id)

    async def end(self) -> None:
        self.troubles.end()
        await self.chain.close()
        await close(self.store)

    @property
    def sellers(self) -> list[Agent]:
        return self.agents[:2]

    @property
    def buyers(self) -> list[Agent]:
        return self.agents[2:4]

    @property
    def stranger(self) -> Agent:
        return self.agents[4]

    async def do(self, operation: str, agent: Agent | None = None, /, **given: Any) -> Response:
        """Call an operation, and check all invariants."""
        fails = self.troubles.any
        if CATALOGUE[operation].streams:
            answer = await self._listen(operation, agent, given)
        elif CATALOGUE[operation].auth == "signed" and agent is not None:
            answer = await self._sign(CATALOGUE[operation], agent, given)
        else:
            answer = await self.market.answer(operation, given, key=agent and agent.keys["test"])
        self.ground.succeeded[operation] += answer.status < 300
        await self.watch.answered(operation, agent and agent.id, answer, chain_fails=fails)
        return answer

    async def succeed(self, operation: str, agent: Agent | None = None, /, **given: Any) -> Any:
        """Make a call that must succeed; return its record. Raises AssertionError."""
        answer = await self.do(operation, agent, **given)
        assert not answer.refused, (operation, answer.body)
        return orjson.loads(answer.body)

    async def _sign(self, op: Operation, agent: Agent, given: dict[str, Any]) -> Response:
        """Make a signed call with a fresh nonce."""
        nonce, now = self.market.dice.random_bytes(8).hex(), self.market.clock.now().timestamp()
        return await self.market.market.call(op, given, approach(agent, op, given, now, nonce=nonce))

    async def _listen(self, operation: str, agent: Agent | None, given: dict[str, Any]) -> Response:
        """Return the first frame of an event stream, or a whole document, as an answer."""
        came = CallRequest(Surface.REST, "203.0.113.9", "req_test", credential=agent and agent.keys["test"])
        opened = await self.market.market.stream(CATALOGUE[operation], given, came)
        if isinstance(opened, Response):
            return opened
        if CATALOGUE[operation].document is not None:
            return Response(200, b"".join([piece async for piece in opened]))
        frame = await anext(opened)
        await opened.aclose()
        return Response(200, frame.data)

    # -- the chain -------------------------------------------------------------------------------------------------

    def transfer(self, payer: Agent, payee: str, amount_minor: int) -> str:
        """Send USDC; return the hash of the transaction.

        No two transactions are equal, even if a reorganisation dropped the first.
        """
        data = pack("transfer(address,uint256)", payee, amount_minor)
        sent = self.evm.send(payer.wallet, self.evm.usdc, data, gas=GAS + len(self.sent))
        self.sent[sent] = Sent(payer.wallet.address.lower(), payee.lower(), amount_minor)
        return sent

    def secret(self, job_id: str) -> str:
        """Return a unique deliverable, by which leaks are found."""
        words = f"secret-work-{len(self.secrets)}"
        self.secrets[words.encode()] = job_id
        return words

    # -- time and workers ------------------------------------------------------------------------------------------

    async def work(self, step: str) -> None:
        """Run one step of the workers, or all in turn. A repeat of a step must find nothing to do."""
        workers = self.market.workers
        steps: dict[str, Callable[[], Any]] = {
            "sweep": workers.sweep, "expire bounties": workers.expire_bounties, "judge": workers.resolve_disputes, "tell": workers.send_reminders, "fire": workers.fire_schedules, "send": self.sender.step,
            "wind down": workers.close_deleted_accounts, "keep house": workers.purge_old, "probe": workers.check_health,
            "write touches": workers.write_touches, "index": workers.index_agents,
            "look": self.looks.step,
        }  # fmt: skip
        for name in steps if step == "all" else [step]:
            await steps[name]()
            if name in ("sweep", "judge", "expire bounties", "tell", "fire"):
                assert await steps[name]() == 0, f"{name} was done twice"
        await self.watch.after_step()

    async def order(self, buyer: Agent, number: int) -> str | None:
        """Order from a listing; return the job's id, or None if it was refused."""
        answer = await self.do("create_job", buyer, listing_id=self.listings[number], input={"text": "guten Tag"})
        if answer.refused:
            return None
        job = orjson.loads(answer.body)
        return self.took(job["id"], buyer, job["seller"]["id"])

    def took(self, job_id: str, buyer: Agent, seller_id: str) -> str:
        seller = next(agent for agent in self.agents if agent.id == seller_id)
        self.jobs[job_id] = (buyer, seller)
        return job_id

    def binding(self, agent: Agent, account: LocalAccount) -> dict[str, str]:
        """Return the binding of a wallet: signed by the wallet and proven by the agent's key."""
        text = f"service:wallet:{agent.id}:{account.address.lower()}"
        proof = SigningKey(agent.seed).sign(text.encode()).signature.hex()
        signature = binding(replace(agent, wallet=account))
        return {"address": account.address, "signature": signature, "proof": proof}

    # -- the end ---------------------------------------------------------------------------------------------------

    async def read_everything(self) -> None:
        """Read everything as agents without access to sealed work; `watch` checks the answers."""
        self.troubles.end()
        readers = [agent for agent in (*self.buyers, self.stranger) if agent.id not in self.gone]
        sealed = sorted({job for job in self.secrets.values() if len(self.watch.readers[job]) == 1})
        for agent in readers:
            for page in ("list_jobs", "list_events", "list_threads", "list_settlements", "get_inbox"):
                await self.do(page, agent)
            for job_id in sealed:
                await self.look_at(agent, job_id)
        await self.do("search_listings", None, env="test")

    async def look_at(self, agent: Agent, job_id: str) -> None:
        for operation in ("get_job", "list_job_events", "get_receipt"):
            await self.do(operation, agent, job_id=job_id)
        for revision in range(3):
            await self.do("get_delivery", agent, job_id=job_id, revision=revision)
        answer = await self.do("get_job", agent, job_id=job_id)
        if not answer.refused:
            await self.do("list_messages", agent, thread_id=orjson.loads(answer.body)["thread_id"])
