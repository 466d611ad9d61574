"""Markets for operation tests: with and without a chain, on both databases."""

import socket
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest

from server.adapters.chain import JsonRpcChain
from storage.store import Store
from storage.vocabulary import Env
from tests.support.evm import Evm
from tests.support.http_receiver import Receiver
from tests.support.market import TestMarket
from tests.support.trade import Trade
from tests.support.webhooks import Scene, opened
from tools.engine.ports import Chain


@pytest.fixture
def market(store: Store) -> TestMarket:
    return TestMarket(store)


@pytest.fixture(scope="session")
def chain_process() -> Iterator[Evm]:
    """One embedded chain for all operation tests of a process."""
    with Evm() as chain:
        yield chain


@pytest.fixture
async def trade(store: Store, chain_process: Evm) -> AsyncIterator[Trade]:
    """A market that reads a real chain; its clock starts at the chain's time."""
    chains: dict[Env, Chain] = {}
    market = TestMarket(store, chains)
    reader = JsonRpcChain(chain_process.url, chain_process.chain_id, monotonic=market.clock.monotonic)
    chains[Env.TEST] = reader
    market.clock.at = datetime.fromtimestamp(chain_process.now() + 1, UTC)
    yield Trade(market, chain_process)
    await reader.close()


@pytest.fixture
async def scene(store: Store) -> AsyncIterator[Scene]:
    """A market with a webhook sender."""
    async with opened(store) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as made:
        yield made


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """An event: until it is set, lookups of names beginning with `hangs` block; then they fail."""
    found, asked = Event(), socket.getaddrinfo

    def ask(host: Any, *given: Any, **named: Any) -> Any:
        if not str(host).startswith("hangs"):
            return asked(host, *given, **named)
        found.wait()
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    yield found
    found.set()
