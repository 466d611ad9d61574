"""The arena itself: in every kind of market that the attacks use, an honest trade works."""

import pytest

from tests.end_to_end.attacks.world import Arena


@pytest.mark.parametrize("env", ["test", "live"])
async def test_an_honest_trade_works(arena: Arena, env: str) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env=env)
    buyer = await market.agent("Bo", env=env, usdc_minor=1_000_000)
    job = await market.trade(seller, buyer, await market.listing(seller, env), env)
    assert (job["status"], job["output"]) == ("completed", {"words": 2})
    assert arena.chains[env].balance(seller.wallet.address) == 250_000


async def test_two_processes_share_one_market(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    listing = await market.listing(seller)
    job = await market.order(buyer, listing)
    seen = [(await market.get(f"/v1/jobs/{job['id']}", seller.test, at=process)).expect()["id"] for process in (0, 1)]
    assert seen == [job["id"]] * 2


async def test_the_published_protocol_clients_reach_it(arena: Arena) -> None:
    market = await arena.market()
    ann = await market.agent("Ann")
    assert (await market.a2a_tool("get_me", ann.test))["id"] == ann.id
    assert (await market.mcp_tool("get_me", ann.test))["id"] == ann.id
