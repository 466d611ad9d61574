"""Fixtures of the desk's tests: real checkers, a real guarded web client, and a scripted model endpoint."""

from collections.abc import AsyncIterator

import pytest

import server.adapters.checks
from server.adapters.checks import CheckPool
from server.adapters.clock import SystemClock, SystemDice
from server.adapters.http_fetch import HttpFetcher
from server.desk.model import Model
from server.desk.reader import Reader
from server.desk.service import Kit
from tests.support.http_receiver import Receiver


@pytest.fixture(autouse=True)
def _a_slow_machine_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks here are limited by processor time only, whatever else the machine runs."""
    monkeypatch.setattr(server.adapters.checks, "WALL_SECONDS", 60.0)


@pytest.fixture
async def endpoint() -> AsyncIterator[Receiver]:
    async with Receiver() as made:
        yield made


@pytest.fixture
async def site() -> AsyncIterator[Receiver]:
    async with Receiver() as made:
        yield made


@pytest.fixture
async def kit(endpoint: Receiver) -> AsyncIterator[Kit]:
    browser, checks = HttpFetcher(allow_private=True, timeout_in_seconds=10.0), CheckPool()
    model = Model(f"http://127.0.0.1:{endpoint.port}/v1", "m-1", "sk-of-the-desk", seconds=10.0)
    yield Kit(Reader(browser), checks, SystemClock(), SystemDice(), model)
    checks.close()
    await browser.close()
    await model.close()
