"""Limits on effects outside the market: posts to one host, requests to a node, addresses accepted as wallets."""

from collections import Counter

import pytest

from server.adapters.chain import ABSENT_SECONDS, JsonRpcChain
from storage.store import Store
from storage.tables import RateWindowRow
from tests.requirements import covers
from tests.support.faulty_node import FaultyNode
from tests.support.http_receiver import Receiver
from tests.support.market import TestMarket
from tests.support.trade import Trade
from tests.support.webhooks import Scene
from tools.engine.rate_limits import RateLimit, Share, take_shares
from tools.events.webhooks.deliveries import ALL_BYTES, ALL_POSTS, BYTES, MEGABYTE, NEVER_WAITS, POSTS

UNKNOWN = "0x" + "ab" * 32


@covers("second.edge.posts", "second.edge.all_posts")
async def test_the_windows_of_posts_are_as_decided() -> None:
    assert (POSTS.calls, BYTES.calls, ALL_POSTS.calls, ALL_BYTES.calls) == (60, 5 * MEGABYTE, 600, 50 * MEGABYTE)
    assert {one.seconds for one in (POSTS, BYTES, ALL_POSTS, ALL_BYTES)} == {60}


@covers("second.edge.all_posts")
async def test_a_host_that_all_agents_have_used_up_still_hears_of_one_that_posts_little(
    scene: Scene, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.events.webhooks.deliveries.ALL_POSTS", RateLimit(NEVER_WAITS + 5, 60, shared=True))
    ada, bo = await scene.market.register("Ada"), await scene.market.register("Bo")
    for one in (ada, bo):
        await scene.hook(one, receiver)
    await scene.tell(ada, *["job.created"] * 30)
    await scene.sender.step()
    assert len(receiver.got) == NEVER_WAITS + 5
    await scene.tell(bo)
    await scene.sender.step()
    assert Counter(one.body["agent_id"] for one in receiver.got) == {ada.id: NEVER_WAITS + 5, bo.id: 1}
    scene.market.pass_seconds(61)
    await scene.sender.step()
    assert len(receiver.got) > NEVER_WAITS + 6, "the next minute"


@covers("second.edge.posts")
async def test_the_bytes_of_an_agent_to_a_host_are_bounded(
    scene: Scene, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.events.webhooks.deliveries.BYTES", RateLimit(1_000, 60, shared=True))
    ada = await scene.market.register("Ada")
    await scene.hook(ada, receiver)
    await scene.tell(ada, *["job.created"] * 30)
    await scene.sender.step()
    assert 0 < sum(len(one.raw) for one in receiver.got) <= 1_000


async def test_shares_are_taken_of_all_windows_or_of_none(store: Store, market: TestMarket) -> None:
    small, large = Share("small", RateLimit(10, 60), 6), Share("large", RateLimit(100, 60), 6)
    now = market.clock.now()
    assert await store.write(lambda tx: take_shares(tx, [small, large], now)) is None
    assert await store.write(lambda tx: take_shares(tx, [small, large], now)) == 60
    rows = [await store.read(lambda tx, n=name: tx.get(RateWindowRow, n)) for name in ("small", "large")]  # type: ignore[misc]
    assert [row and row.count for row in rows] == [6, 6]


@covers("second.windows.absent")
async def test_a_hash_that_was_not_found_is_not_asked_for_again_at_once(trade: Trade) -> None:
    now = 0.0
    async with FaultyNode(trade.evm.url) as node:
        chain = JsonRpcChain(node.url, 84532, monotonic=lambda: now)
        asked = []
        for seconds in (0.0, ABSENT_SECONDS - 0.1, ABSENT_SECONDS + 0.1):
            now = seconds
            assert await chain.receipt(UNKNOWN) is None
            asked.append(node.counts["eth_getTransactionReceipt"])
        await chain.close()
    assert asked == [1, 1, 2]


@covers("second.edge.precompiles")
@pytest.mark.parametrize("number", [1, 4, 5, 6, 9, 0x100])
async def test_an_address_of_the_chain_itself_is_no_wallet(trade: Trade, number: int) -> None:
    ada = await trade.market.register("Ada")
    given = {"address": f"0x{number:040x}", "signature": "0x" + "11" * 65}
    error = await trade.market.refusal("set_wallet_address", by=ada, **given)
    assert error["code"] == "wallet_signature_invalid"
