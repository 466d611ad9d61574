"""The world of the script: thirty agents, a chain for each environment, and a record of all calls and reads."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

import orjson
from eth_account import Account
from eth_account.signers.local import LocalAccount
from nacl.signing import SigningKey

from server.adapters.chain import JsonRpcChain
from storage.store import Store
from storage.vocabulary import Env
from tests.end_to_end.walk.ground import Receivers, Sent
from tests.end_to_end.walk.watch import Watch
from tests.support.evm import Evm, address_of
from tests.support.market import Agent, TestMarket
from tests.support.proofs import ReadContext
from tests.support.signed_requests import approach
from tests.support.trade import OFFER, binding
from tools.catalogue import CATALOGUE
from tools.engine.idempotency import Response
from tools.engine.ports import Chain

Json = dict[str, Any]
RICH_MINOR = 10**12
CHAINS = {"test": 84532, "live": 8453}
SELLERS = ("Sela Gamma", "Zoé Ångström", "Мария Иванова", "太郎", "Quill Brothers", "Otto-Werk", "Nadir Okafor")
BUYERS = ("Bo Tanaka", "Beatriz Nuñez", "Kofi Annor", "ليلى حداد", "Ines Roy", "Pavel Čech", "Rook Hollis")
COUNTED = ("Hana Reckon", "Ivo Reckon", "Jun Reckon")  # the test has their figures, computed by hand
JUDGES = ("Alba", "Bruno", "Chiara", "Dario", "Elena", "Fabio", "Greta", "Hugo")
MIRROR, PROTEGE = "Mirror", "Protégé"  # offer to judge, but are related to two of the parties
HOUSE, LEAVER, TAKER = "House Press", "Lena Gone", "Umbra"
QUOTED = {name: value for name, value in OFFER.items() if name != "price"} | {"pricing_model": "quote"}
LONG = [{"name": "long enough", "kind": "min_length", "path": "/english", "value": 5}]
OFFERS: dict[str, Json] = {
    "fixed": OFFER,
    "upfront": OFFER | {"payment": "upfront"},
    "free": OFFER | {"price": 0},
    "per unit": OFFER | {"pricing_model": "per_unit", "price": 100_000, "unit_name": "page"},
    "quote": QUOTED,
    "quote upfront": QUOTED | {"payment": "upfront"},
    "ruled": OFFER | {"acceptance": LONG},
    "odd": OFFER | {"payment": "upfront", "price": 250_001},  # half of it is no whole number
}


class Chained(Evm):
    """A chain that uses the market's clock and records each transfer of the script."""

    def __init__(self, chain_id: int, now: Callable[[], int], sent: dict[str, Sent]) -> None:
        super().__init__(chain_id, now=now)
        self.sent = sent

    def transfer(self, sender: LocalAccount, to: str | LocalAccount, amount_minor: int) -> str:
        made = super().transfer(sender, to, amount_minor)
        self.sent[made] = Sent(sender.address.lower(), address_of(to).lower(), amount_minor)
        if self.chain_id == CHAINS["live"]:
            self.mine(3)
        return made


@dataclass
class Known:
    """All current and earlier identifiers of an agent."""

    id: str
    handles: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)  # public keys and DIDs
    wallets: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Read:
    """An answer to an evaluator about a case."""

    way: str
    parties: tuple[str, str]
    body: bytes


class World:
    """The market with its cast. `call` and `refused` make all calls."""

    def __init__(self, store: Store) -> None:
        self.store, self.chains = store, dict[Env, Chain]()
        self.market = TestMarket(store, self.chains)
        self.sent, self.unshown = dict[str, Sent](), set[str]()
        self.evms = {on: Chained(number, self._seconds, self.sent) for on, number in CHAINS.items()}
        self.read_ctx = ReadContext(self.market)
        self.watch = Watch(store, Receivers(), self.sent, {})
        self.cast = dict[str, Agent]()
        self.known = dict[str, Known]()
        self.listings = dict[tuple[str, str, str], Json]()
        self.seen = dict[str, datetime]()
        self.reads = list[Read]()
        self.readers = AsyncExitStack()
        self.calls = defaultdict[str, int](int)

    def _seconds(self) -> int:
        return int(self.market.clock.now().timestamp())

    async def __aenter__(self) -> Self:
        for on, evm in self.evms.items():
            reader = JsonRpcChain(evm.url, evm.chain_id, monotonic=self.market.clock.monotonic)
            self.readers.push_async_callback(reader.close)
            self.readers.callback(evm.close)
            self.chains[Env(on)] = reader
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.readers.aclose()

    # -- calls -----------------------------------------------------------------------------------------------------

    async def answer(self, operation: str, by: Agent | None, on: str, given: Json) -> Response:
        """Call an operation, signed if it needs a signature; return the answer."""
        op, market = CATALOGUE[operation], self.market
        self.calls[operation] += 1
        if op.auth == "signed" and by is not None:
            nonce, now = market.dice.random_bytes(8).hex(), market.clock.now().timestamp()
            answer = await market.market.call(op, given, approach(by, op, given, now, nonce=nonce))
        else:
            answer = await market.answer(operation, given, key=by.keys[on] if by else None)
        assert answer.status < 500, (operation, answer.body)
        if by is not None and not answer.refused:
            self.seen[by.id] = market.clock.now()
        return answer

    async def call(self, operation: str, by: Agent | None = None, on: str = "test", **given: Any) -> Any:
        answer = await self.answer(operation, by, on, given)
        assert not answer.refused, (operation, given, answer.body)
        return orjson.loads(answer.body)

    async def refused(self, code: str, operation: str, by: Agent | None = None, on: str = "test", **given: Any) -> Any:
        answer = await self.answer(operation, by, on, given)
        assert answer.error is not None, (operation, answer.body)
        assert answer.error["code"] == code, (operation, answer.error)
        return answer.error

    # -- people ----------------------------------------------------------------------------------------------------

    async def enter(self, name: str, wallet: int | None = None, **given: Any) -> Agent:
        """Register an agent.

        With a number, it gets a wallet that is bound in both environments and has money on both chains.
        """
        made = await self.call("register_agent", name=name, **given)
        seed = bytes.fromhex(made["keypair"]["secret_key"])
        agent = Agent(made["agent"]["id"], made["agent"]["handle"], dict(made["api_keys"]), seed)
        self.cast[name] = agent
        self.known[agent.id] = Known(agent.id)
        self.note(made["agent"])
        if wallet is not None:
            await self.bind(agent, self.account(wallet))
        return agent

    def note(self, profile: Json) -> None:
        """Add the identifiers of a profile to those of its agent."""
        known = self.known[profile["id"]]
        known.handles.add(profile["handle"])
        known.names.add(profile["name"])
        known.keys |= {profile["public_key"], profile["did"]}
        if profile["verified_domain"]:
            known.domains.add(profile["verified_domain"])

    def account(self, number: int) -> LocalAccount:
        account: LocalAccount = Account.from_key(number.to_bytes(32, "big"))
        for evm in self.evms.values():
            if not evm.balance(account):
                evm.node.give_gas(account.address)
                evm.fund(account, RICH_MINOR)
        return account

    async def bind(self, agent: Agent, account: LocalAccount) -> None:
        """Bind a wallet, or another one, in both environments."""
        agent.wallet = account
        text = f"service:wallet:{agent.id}:{account.address.lower()}"
        proof = SigningKey(agent.seed).sign(text.encode()).signature.hex()
        for on in CHAINS:
            given = {"address": account.address, "signature": binding(agent), "proof": proof}
            await self.call("set_wallet_address", agent, on, **given)
        self.known[agent.id].wallets.add(account.address)

    async def populate(self) -> None:
        """Register the thirty agents with wallets, listings and offers to judge."""
        for number, name in enumerate((*SELLERS, *BUYERS, *COUNTED, HOUSE, LEAVER, MIRROR), start=1):
            await self.enter(name, number)
        await self.bind(self.cast[MIRROR], self.cast[BUYERS[0]].wallet)
        await self.bind(self.cast[BUYERS[0]], self.account(50))
        await self.enter(TAKER)
        await self.enter(PROTEGE, referred_by=self.cast[SELLERS[1]].handle)
        for name in JUDGES:
            await self.enter(name)
        for name in (*JUDGES, MIRROR, PROTEGE):
            await self.call("set_evaluator", self.cast[name], "live", enabled=True)
        await self.market.as_operator("set_first_party", agent_id=self.cast[HOUSE].id, first_party=True)
        for name in (*SELLERS, *COUNTED, HOUSE, LEAVER):
            await self.offer(name, "test", *OFFERS)
        for name in SELLERS[:2]:
            await self.offer(name, "live", "fixed", "free", "quote", "per unit")

    async def offer(self, name: str, on: str, *kinds: str) -> None:
        seller = self.cast[name]
        for kind in kinds:
            words = f"By {name} ({seller.handle}), {seller.id}, {seller.wallet.address.lower()}."
            offer = OFFERS[kind] | {"description": f"{OFFERS[kind]['description']} {words}", "max_open_jobs": 1000}
            self.listings[name, on, kind] = await self.call("create_listing", seller, on, **offer)

    def name_of(self, agent: Agent) -> str:
        return next(name for name, one in self.cast.items() if one is agent)

    # -- time ------------------------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Run each worker's step once."""
        workers = self.market.workers
        for step in (workers.sweep, workers.expire_bounties, workers.resolve_disputes, workers.send_reminders):
            await step()
            assert await step() == 0, f"{step.__name__} was done twice"
        await self.read_ctx.looks.step()
        await workers.close_deleted_accounts()
        await workers.write_touches()

    # -- evaluators ------------------------------------------------------------------------------------------------

    async def read_case(self, judge: Agent, dispute_id: str, parties: Sequence[Agent], on: str) -> Any:
        """Read a case in every way that an evaluator can, and record each answer."""
        sides = (parties[0].id, parties[1].id)
        asked: dict[str, Json] = {
            "get_dispute": {"dispute_id": dispute_id},
            "list_disputes": {"role": "evaluator", "limit": 100},
            "list_events": {"types": ["dispute.*"], "limit": 100},
            "get_inbox": {},
        }
        for way, given in asked.items():
            answer = await self.answer(way, judge, on, given)
            assert not answer.refused, (way, answer.body)
            self.reads.append(Read(way, sides, answer.body))
        return orjson.loads(self.reads[-len(asked)].body)
