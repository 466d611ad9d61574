"""Two processes on one database while the signing key is rotated: both exit, and start again with the new key."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from server.adapters.clock import SystemClock
from server.keys import rotate
from server.settings import read_settings
from tests.end_to_end.processes.pair import Pair, Wired
from tests.support.databases import PostgresServer
from tests.support.market import BASE_URL
from tools.kernel.keys import did_of, jwk_of, public_key_of

NEXT = "33" * 32
PATIENCE_SECONDS = 20
ENDED_BY_ITSELF = 0


@pytest.fixture
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    forged.serve(postgres.create("rotated"), next_signing_seed=NEXT)
    yield forged
    forged.kill()


async def kids(market: Wired) -> list[Any]:
    return [(await market.call("get_platform_keys", at=place))["keys"][0]["kid"] for place in (0, 1)]


async def test_all_processes_turn_to_the_new_key_and_none_signs_with_the_old_one(pair: Pair) -> None:
    old, new = (public_key_of(bytes.fromhex(seed)) for seed in ("11" * 32, NEXT))
    async with pair.wired() as market:
        assert await kids(market) == [jwk_of(old)["kid"]] * 2
    given = {"signing_seed": "11" * 32, "key_pepper": "22" * 32, "next_signing_seed": NEXT}
    settings = read_settings(_env_file=None, database_url=pair.url, data_dir=pair.folder, base_url=BASE_URL, **given)
    assert await rotate(settings, SystemClock().now()) == (did_of(new), did_of(old))
    async with asyncio.timeout(PATIENCE_SECONDS):
        ended = await asyncio.gather(*(asyncio.to_thread(forge.ended) for forge in pair.forges))
    assert ended == [ENDED_BY_ITSELF] * 2
    pair.serve(pair.url, next_signing_seed=NEXT)
    async with pair.wired() as market:
        assert await kids(market) == [jwk_of(new)["kid"]] * 2
        retired = [(await market.call("get_retired_keys", at=place))["keys"] for place in (0, 1)]
    assert [[key["did"] for key in keys] for keys in retired] == [[did_of(old)]] * 2
