"""A client of a served market that has trades."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.protocols import served
from tests.support.trade import Trade


@pytest.fixture
async def http(trade: Trade) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        served(trade.market, named=True) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client,
    ):
        yield client
