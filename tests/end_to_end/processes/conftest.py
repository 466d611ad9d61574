"""Fixtures for tests with two server processes: the processes that fork servers, started once, and a chain."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.end_to_end.faults.forge import Forge
from tests.end_to_end.processes.pair import Chain, Pair
from tests.support.trade import Trade


@pytest.fixture(scope="session")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A pair that can start servers. None runs yet."""
    folder = tmp_path_factory.mktemp("processes")
    with (folder / "log").open("wb") as log, Chain(folder) as chain:
        with ThreadPoolExecutor() as side_by_side:
            first, second = side_by_side.map(Forge, (log, log))
        forges = (first, second)
        yield Pair(forges, chain, folder)
        for forge in forges:
            forge.close()


@pytest.fixture
async def trade(pair: Pair) -> AsyncIterator[Trade]:
    """A trade between agents on the servers of the module's own `pair`."""
    async with pair.trading() as made:
        yield made
