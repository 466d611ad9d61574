"""Fixtures for the client's tests: a served sandbox market, homes, and children that can be killed."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client_forks import Forks
from client_market import Ask, Clerk, served

from emporion_client import Market, transport, worker
from emporion_client.transport import Answer, Call

worker.WAIT_SECONDS = 1  # a worker that ends waits for its last call


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all of these tests, because they share one served market.

    pytest-xdist reads the groups in the same hook, so this one comes first.
    """
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("client"))


@pytest.fixture(scope="session")
def market_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a market that `emporion serve --sandbox` serves."""
    with served(tmp_path_factory.mktemp("market")) as url:
        yield url


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the settings of the client out of the environment."""
    for name in [one for one in os.environ if one.startswith("EMPORION_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def new_market(market_url: str, tmp_path: Path) -> Iterator[Callable[..., Market]]:
    """A function that makes agents, each with another home."""
    made: list[Market] = []

    def make(name: str = "Buyer", **given: Any) -> Market:
        made.append(Market(market_url, name=name, **{"home": tmp_path / f"{name}-{len(made)}"} | given))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def buyer(new_market: Callable[..., Market]) -> Market:
    return new_market("Buyer")


@pytest.fixture(scope="module")  # because the market allows an agent 120 writes a minute
def clerk(market_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clerk]:
    """A seller that works in this process during the tests of a module."""
    with Clerk(market_url, tmp_path_factory.mktemp("clerk")) as clerk:
        yield clerk


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """A process that starts programs quickly, so that they can be killed often."""
    with Forks() as forks:
        yield forks


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Call, Ask, Any], Answer]], None]:
    """A function that puts another in the place of the one that sends requests."""

    def change(to: Callable[[Call, Ask, Any], Answer]) -> None:
        plain = transport.ask
        monkeypatch.setattr(transport, "ask", lambda http, call: to(call, plain, http))

    return change


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all pauses short."""
    monkeypatch.setattr(transport, "backoff", lambda _: 0.0)
    monkeypatch.setattr(time, "sleep", lambda _: None)
