"""A market for tests: the real call path over a real database, with a clock and randomness that the test controls."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson
import structlog

from server.adapters.checks import CheckPool
from server.adapters.clock import SeedSigner
from server.workers import Workers
from storage.store import Store
from storage.vocabulary import Env
from tests.support.declared_errors import DeclaredErrors
from tests.support.next_steps import check_steps
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.config import Deadlines, Limits, MarketConfig, Network
from tools.engine.dispatch import Market
from tools.engine.idempotency import Response
from tools.engine.ports import Chain, Fetched, Reply, Screening, World
from tools.kernel.ids import ENTROPY_BYTES


def only_faults(_: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop debug and info lines.

    This is a processor and not a level, so tests that capture logs still get every line.
    """
    if method in ("debug", "info"):
        raise structlog.DropEvent
    return event


structlog.configure(
    processors=[
        only_faults,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)
BASE_URL = "http://market.test"
START = datetime(2026, 11, 21, 4, 0, 0, 123_000, tzinfo=UTC)
PEPPER = bytes(range(32))
OPERATOR_SECRET = "the operator of the tests"


class TestClock:
    """A clock that moves only when a test moves it."""

    __test__ = False

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()

    def pass_seconds(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class CountingDice:
    """Random bytes that never repeat and are the same in every run.

    The ten bytes of an id grow with each call, so records of one millisecond sort in the order of their creation.
    Without that, a test of an order would pass or fail with the number of earlier calls.
    """

    def __init__(self, seed: str = "dice") -> None:
        self.seed, self.rolled = seed, 0

    def random_bytes(self, count: int) -> bytes:
        self.rolled += 1
        made = self.rolled.to_bytes(6) if count == ENTROPY_BYTES else b""
        while len(made) < count:
            made += sha256(f"{self.seed}:{self.rolled}:{len(made)}".encode()).digest()
        return made[:count]


@dataclass
class ListedAddresses:
    """A sanctions list that a test writes."""

    listed: set[str] = field(default_factory=set)

    def names(self, address: str) -> bool:
        return address.lower() in self.listed

    def state(self) -> Screening | None:
        return Screening(len(self.listed), START) if self.listed else None


class NoWeb:
    """HTTP that fails on each call. A test that needs a web replaces it."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        raise AssertionError(f"{url} was called")

    async def get(self, url: str, by: str) -> Fetched:
        raise AssertionError(f"{url} was called")


class NoNames:
    """DNS that fails on each query. A test that needs names replaces it."""

    async def texts(self, name: str) -> list[bytes]:
        raise AssertionError(f"{name} was asked for")


SANDBOX = Network(
    id="eip155:84532",
    chain_id=84532,
    name="Sandbox",
    asset="0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    asset_name="USDC",
    asset_version="2",
    explorer_tx="https://sepolia.basescan.org/tx/",
    faucet=None,
    confirmations=1,
    facilitator_url=None,
    rpc_hint="http://127.0.0.1:8545",
    identity_registry="0x8004A818BFB912233c491871b3d84c89A494BD9e",
)


def house(**limits: Any) -> MarketConfig:
    network = SANDBOX
    live = replace(
        network,
        id="eip155:8453",
        chain_id=8453,
        name="Base",
        asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        asset_name="USD Coin",
        confirmations=3,
        identity_registry="0x8004A169FB4a3325136EB29fA0ceB6D2e539a432",
    )
    return MarketConfig(
        brand="service",
        base_url=BASE_URL,
        version="0.1.0",
        pepper=PEPPER,
        networks={Env.LIVE: live, Env.TEST: network},
        windows={Env.LIVE: Deadlines(259_200, 259_200, 3600, 86_400), Env.TEST: Deadlines(900, 900, 600, 600)},
        limits=Limits(**{"enforced": False, **limits}),
        operator_secret=OPERATOR_SECRET,
    )


CHECKS = CheckPool()  # shared by all tests; its processes start with the first heavy document


@dataclass
class Agent:
    """An agent in tests: its id, handle, keys and identity."""

    id: str
    handle: str
    keys: Mapping[str, str]
    seed: bytes
    wallet: Any = None


def bare(record: Any) -> Any:
    """Return a record without its next steps."""
    return {name: value for name, value in record.items() if name != "next_steps"}


class TestMarket:
    """A market that is called with an agent's key. Answers are parsed JSON."""

    __test__ = False

    def __init__(self, store: Store, chains: Mapping[Env, Chain] | None = None, **limits: Any) -> None:
        self.clock, self.dice, self.sanctions = TestClock(), CountingDice(), ListedAddresses()
        world = World(
            self.clock,
            self.dice,
            {} if chains is None else chains,
            SeedSigner(bytes(32)),
            self.sanctions,
            CHECKS,
            NoWeb(),
            NoNames(),
        )
        self.market = Market(store, world, house(**limits), [DeclaredErrors()])
        self.store, self.workers = store, Workers(self.market)
        store.now_seconds = self.clock.monotonic

    async def answer(
        self,
        operation: str,
        given: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        ip: str = "203.0.113.9",
        repeat: str | None = None,
        **approach: Any,
    ) -> Response:
        came = CallRequest(Surface.REST, ip, "req_test", credential=key, **approach)
        return await self.market.call(CATALOGUE[operation], dict(given or {}), came, repeat)

    async def call(self, operation: str, *, by: Agent | None = None, on: str = "test", **given: Any) -> Any:
        """Call an operation; return its record. Raises AssertionError for a refusal."""
        answer = await self.answer(operation, given, key=by and by.keys[on])
        assert not answer.refused, answer.body
        record = orjson.loads(answer.body)
        check_steps(record)
        return record

    async def refusal(self, operation: str, *, by: Agent | None = None, on: str = "test", **given: Any) -> Any:
        """Call an operation; return its error object. Raises AssertionError for a success."""
        answer = await self.answer(operation, given, key=by and by.keys[on])
        assert answer.refused, answer.body
        error = orjson.loads(answer.body)["error"]
        check_steps(error)
        return error

    async def as_operator(self, operation: str, **given: Any) -> Any:
        """Call an operation with the operator's token; return its record."""
        answer = await self.answer(operation, given, admin_token=OPERATOR_SECRET)
        assert not answer.refused, answer.body
        return orjson.loads(answer.body)

    async def register(self, name: str = "Ada") -> Agent:
        made = await self.call("register_agent", name=name)
        seed = bytes.fromhex(made["keypair"]["secret_key"])
        return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed)

    def pass_seconds(self, seconds: float) -> None:
        self.clock.pass_seconds(seconds)
