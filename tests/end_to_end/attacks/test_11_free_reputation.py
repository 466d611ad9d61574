"""Finding 11: an owner builds its seller's reputation with free, refunded or tiny payments from its own buyers."""

from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market

ENOUGH = 10_000


async def deal(market: Market, seller: Agent, listing: Any, buyer: Agent | None = None, rating: int = 5) -> Any:
    """Make one order of a new buyer on live, pay it if it is not free, and rate it."""
    buyer = buyer or await market.agent("Sybil", env="live", usdc_minor=1_000_000)
    job = await market.order(buyer, listing, "live")
    await market.deliver(seller, job, env="live")
    if listing["pricing"]["price"]:
        await market.pay(buyer, job, "live")
    (await market.post(f"/v1/jobs/{job['id']}/accept", buyer.live)).expect()
    review = {"rating": rating, "comment": "As it was."}
    (await market.post(f"/v1/jobs/{job['id']}/reviews", buyer.live, review)).expect(201)
    return job


async def standing(market: Market, agent: Agent) -> Any:
    return (await market.get(f"/v1/agents/{agent.id}/reputation")).expect()["live"]


async def sorted_by_rating(market: Market, category: str) -> list[str]:
    asked = {"env": "live", "sort": "rating", "category": category}
    return [one["id"] for one in (await market.get("/v1/listings", params=asked)).expect()["data"]]


def score_of_nothing(found: Any) -> tuple[Any, ...]:
    side = found["as_seller"]
    return found["score"], side["jobs_completed"], side["rating_avg"], side["rating_weighted"], side["on_time_rate"]


@pytest.mark.finding(11)
async def test_ten_free_orders_make_no_name(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env="live")
    listing = await market.listing(seller, "live", price=0)
    buyers = [await market.agent("Sybil", env="live") for _ in range(10)]
    for buyer in buyers:
        await deal(market, seller, listing, buyer)
    assert score_of_nothing(await standing(market, seller)) == (20, 0, None, None, None)
    assert score_of_nothing(await standing(market, buyers[0]))[:2] == (20, 0)
    checked = (await market.get(f"/v1/agents/{seller.id}/check", params={"env": "live"})).expect()
    assert checked["verdict"] == "unknown"
    shown = (await market.get(f"/v1/listings/{listing['id']}", params={"env": "live"})).expect()
    assert (shown["stats"]["rating_avg"], shown["stats"]["jobs_completed"], shown["graduated"]) == (None, 0, False)
    attested = (await market.get(f"/v1/agents/{seller.id}/reputation/attestation", params={"env": "live"})).expect()
    assert attested["attestation"]["reputation"]["score"] == 20
    assert attested["attestation"]["reputation"]["as_seller"]["rating_count"] == 0
    leaders = (await market.get("/v1/leaderboard", params={"env": "live", "limit": 100})).expect()
    assert seller.id not in [one["agent"]["id"] for one in leaders["data"]]
    assert (await market.get(f"/v1/agents/{seller.id}")).expect()["trust_tier"] == 0


@pytest.mark.finding(11)
async def test_free_praise_is_not_sorted_before_a_paid_rating(arena: Arena) -> None:
    market = await arena.market()
    honest, sybil = await market.agent("Hana", env="live"), await market.agent("Sela", env="live")
    paid = await market.listing(honest, "live", category="sorted", price=ENOUGH)
    free = await market.listing(sybil, "live", category="sorted", price=0)
    job = await market.order(buyer := await market.agent("Bo", env="live", usdc_minor=ENOUGH), paid, "live")
    await market.deliver(honest, job, env="live")
    await market.pay(buyer, job, "live")
    (await market.post(f"/v1/jobs/{job['id']}/accept", buyer.live)).expect()
    (await market.post(f"/v1/jobs/{job['id']}/reviews", buyer.live, {"rating": 4})).expect(201)
    for _ in range(3):
        await deal(market, sybil, free)
    assert await sorted_by_rating(market, "sorted") == [paid["id"], free["id"]]


async def test_dust_makes_no_name(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env="live")
    listing = await market.listing(seller, "live", price=ENOUGH - 1)
    for _ in range(3):
        await deal(market, seller, listing)
    found = await standing(market, seller)
    assert score_of_nothing(found) == (20, 0, None, None, None)
    assert found["as_seller"]["distinct_counterparties"] == 0
    checked = (await market.get(f"/v1/agents/{seller.id}/check", params={"env": "live"})).expect()
    assert checked["verdict"] == "unknown"


async def test_part_of_a_price_opens_no_output_and_makes_no_name(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela", env="live"), await market.agent("Bo", env="live", usdc_minor=ENOUGH)
    job = await market.order(buyer, await market.listing(seller, "live", price=2 * ENOUGH), "live")
    await market.deliver(seller, job, env="live")
    sent = arena.chains["live"].transfer(buyer.wallet, seller.wallet.address, ENOUGH)
    await market.post(f"/v1/jobs/{job['id']}/pay", buyer.live, {"transaction": sent})
    await market.post(f"/v1/jobs/{job['id']}/accept", buyer.live)
    await market.post(f"/v1/jobs/{job['id']}/reviews", buyer.live, {"rating": 5})
    assert score_of_nothing(await standing(market, seller)) == (20, 0, None, None, None)


async def test_a_payment_that_is_sent_back_after_the_review_takes_the_name_back(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env="live")
    listing = await market.listing(seller, "live", price=5 * ENOUGH)
    buyer = await market.agent("Bo", env="live", usdc_minor=5 * ENOUGH)
    job = await deal(market, seller, listing, buyer)
    assert (await standing(market, seller))["as_seller"]["jobs_completed"] == 1
    back = arena.chains["live"].transfer(seller.wallet, buyer.wallet.address, 5 * ENOUGH)
    (await market.post(f"/v1/jobs/{job['id']}/refund", seller.live, {"transaction": back})).expect()
    assert score_of_nothing(await standing(market, seller)) == (20, 0, None, None, None)
    shown = (await market.get(f"/v1/listings/{listing['id']}", params={"env": "live"})).expect()
    assert (shown["stats"]["rating_avg"], shown["stats"]["unpaid_reviews"]) == (None, 1)


async def test_voluntary_refunds_buy_no_bad_rating_back(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env="live")
    listing = await market.listing(seller, "live", price=100 * ENOUGH)
    deals = []
    for rating in (5, 1, 1, 1):
        buyer = await market.agent("Bo", env="live", usdc_minor=100 * ENOUGH)
        deals.append((buyer, await deal(market, seller, listing, buyer, rating)))
    before = (await standing(market, seller))["as_seller"]
    for buyer, job in deals[1:]:
        back = arena.chains["live"].transfer(seller.wallet, buyer.wallet.address, 991_000)
        (await market.post(f"/v1/jobs/{job['id']}/refund", seller.live, {"transaction": back})).expect()
    after = (await standing(market, seller))["as_seller"]
    assert [one["rating_weighted"] for one in (before, after)] == [2.44, 2.44]
    shown = (await market.get(f"/v1/listings/{listing['id']}", params={"env": "live"})).expect()
    assert (shown["stats"]["rating_avg"], shown["stats"]["rating_count"]) == (2.0, 4)


async def test_paid_work_makes_a_name(arena: Arena) -> None:
    market = await arena.market()
    seller = await market.agent("Sela", env="live")
    listing = await market.listing(seller, "live", price=ENOUGH)
    for _ in range(3):
        await deal(market, seller, listing)
    found = await standing(market, seller)
    assert (found["as_seller"]["jobs_completed"], found["as_seller"]["rating_count"]) == (3, 3)
    checked = (await market.get(f"/v1/agents/{seller.id}/check", params={"env": "live"})).expect()
    assert checked["verdict"] == "ok"
