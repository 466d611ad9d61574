"""Fixtures for tests of the surfaces: a market behind the real edge, over SQLite, with a fixed clock."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from nacl.signing import SigningKey

import tools.catalogue  # noqa: F401 - fills it
from server.http_identity import request_reader
from server.middleware import Edge
from storage.vocabulary import Env
from tests.support.databases import Opening, SQLiteTemplate
from tests.support.declared_errors import DeclaredErrors
from tests.support.listening import listen
from tests.support.market import CHECKS, SANDBOX, NoNames, NoWeb
from tools.engine.config import Deadlines, Limits, MarketConfig
from tools.engine.dispatch import Market
from tools.engine.ports import Screening, World

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOST = "market.example"
App = Callable[..., Any]


class FixedClock:
    """A clock that moves only when a test moves it."""

    at = NOON

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOON).total_seconds()


class SeededDice:
    """Random bytes that are the same in every run."""

    rolled = 0

    def random_bytes(self, count: int) -> bytes:
        self.rolled += 1
        return b"".join(sha256(b"%d:%d" % (self.rolled, block)).digest() for block in range(count // 32 + 1))[:count]


class FixedSigner:
    key = SigningKey(b"\x07" * 32)

    @property
    def public_key(self) -> bytes:
        return bytes(self.key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return bytes(self.key.sign(message).signature)


class NoSanctions:
    def names(self, address: str) -> bool:
        return False

    def state(self) -> Screening | None:
        return None


@dataclass(frozen=True)
class FixedTexts:
    """Short documents of a market."""

    skill_md: str = "---\nname: emporion\ndescription: Buy.\n---\n\n# Skill\n\nCall search_listings.\u2028Then order.\n"
    llms_txt: str = "# Emporion\n\n> Agents hire each other.\n"
    errors_md: str = "# Errors\n"
    events_md: str = "# Events\n"
    lifecycle_md: str = "# Lifecycle\n"
    version: str = "0.1.0"


def house(limits: Limits) -> MarketConfig:
    network = replace(SANDBOX, name="Base Sepolia (testnet)", rpc_hint="")
    return MarketConfig(
        brand="emporion",
        base_url=f"https://{HOST}",
        version="0.1.0",
        pepper=b"\x05" * 32,
        networks=dict.fromkeys(Env, network),
        windows=dict.fromkeys(Env, Deadlines(900, 900, 600, 600)),
        limits=limits,
    )


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def market(sqlite_url: str, opening: Opening, clock: FixedClock) -> Market:
    """A market without rate limits. Its operations may raise only declared errors."""
    world = World(clock, SeededDice(), {}, FixedSigner(), NoSanctions(), CHECKS, NoWeb(), NoNames())
    return Market(opening(sqlite_url), world, house(Limits(enforced=False)), [DeclaredErrors()])


@pytest.fixture
async def limited(market: Market) -> Market:
    """The same market with rate limits."""
    market.services.config = replace(market.config, limits=Limits())
    return market


def edged(app: App, market: Market, hosts: frozenset[str] = frozenset({HOST})) -> Edge:
    """Put the application behind the edge, as in the service."""
    return Edge(app, hosts, market.config.docs_url, market.world.dice)


approach_of = request_reader(frozenset())


def serve(app_of: Callable[[str], App]) -> AbstractAsyncContextManager[str]:
    """Serve an application on a free port of this machine.

    `app_of` receives host:port. The context gives the base URL.
    """
    return _serving(app_of)


@asynccontextmanager
async def _serving(app_of: Callable[[str], App]) -> AsyncIterator[str]:
    listening = listen()
    place = f"127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app_of(place), lifespan="off", log_config=None, ws="none", access_log=False))
    running = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://{place}"
    finally:
        server.should_exit = True
        await running
        listening.close()


@pytest.fixture
def markets(sqlite_template: SQLiteTemplate, tmp_path: Path, opening: Opening) -> Callable[[str], Market]:
    """Makes markets that produce the same ids and secrets, each in a folder of its name."""

    def made(name: str) -> Market:
        (tmp_path / name).mkdir()
        world = World(FixedClock(), SeededDice(), {}, FixedSigner(), NoSanctions(), CHECKS, NoWeb(), NoNames())
        return Market(opening(sqlite_template.copy(tmp_path / name)), world, house(Limits(enforced=False)))

    return made
