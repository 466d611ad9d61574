"""Clauses of the contract about searching listings, environments of public reads, and lists."""

from dataclasses import asdict
from typing import Any

import orjson
import pytest
from eth_account import Account

from storage.tables import ListingRow
from storage.transaction import Tx
from tests.requirements import covers, named
from tests.requirements.probes import live_agent
from tests.support.market import Agent, TestMarket
from tests.support.trade import OFFER, Trade, binding
from tools.listings.logic import index
from tools.listings.records import ListingStats

pytestmark = pytest.mark.both_databases


async def sellers(market: TestMarket, *names: str) -> list[Agent]:
    """Register agents with wallets on live and test."""
    made = [await live_agent(market, name, Account.create()) for name in names]
    for one in made:
        await market.call("set_wallet_address", by=one, address=one.wallet.address, signature=binding(one))
    return made


async def offer(market: TestMarket, seller: Agent, on: str = "test", **changes: Any) -> str:
    made = await market.call("create_listing", by=seller, on=on, **OFFER | changes)
    market.pass_seconds(1)
    return str(made["id"])


async def found(market: TestMarket, **asked: Any) -> list[str]:
    page = await market.call("search_listings", **{"env": "test"} | asked)
    return [one["id"] for one in page["data"]]


async def prove(market: TestMarket, listing_id: str, rating_avg: float | None, graduated: bool) -> None:
    """Give a listing the figures of invented jobs."""

    def write(tx: Tx) -> None:
        stats = orjson.dumps(asdict(ListingStats(rating_avg=rating_avg))).decode()
        index(tx, tx.change(tx.get(ListingRow, listing_id), stats=stats, graduated=graduated))

    await market.store.write(write)


@covers("listing.search.q", "listing.search.category", "listing.search.tag", "listing.search.seller.id")
@covers("listing.search.seller.handle", "listing.search.max_price", "listing.search.pricing_model")
@covers("listing.search.payment")
async def test_each_filter_leaves_exactly_what_it_names(market: TestMarket) -> None:
    ada, bo = await sellers(market, "Ada", "Bo")
    first = await offer(market, ada)
    second = await offer(
        market,
        bo,
        title="Photographs of bridges",
        description="One picture of a bridge you name.",
        category="image",
        tags=["picture"],
        price=50_000,
        payment="upfront",
    )
    asked: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [second, first]),
        ({"q": "bridges"}, [second]),
        ({"q": "translate"}, [first]),
        ({"q": "nothing of this kind"}, []),
        ({"category": "image"}, [second]),
        ({"tag": "english"}, [first]),
        ({"seller": ada.id}, [first]),
        ({"seller": bo.handle}, [second]),
        ({"max_price": 50_000}, [second]),
        ({"max_price": 49_999}, []),
        ({"pricing_model": "fixed"}, [second, first]),
        ({"pricing_model": "quote"}, []),
        ({"payment": "upfront"}, [second]),
        ({"payment": "on_delivery"}, [first]),
    ]
    for filters, expected in asked:
        assert await found(market, sort="newest", **filters) == expected, filters


@covers("listing.search.sort", "listing.search.graduated")
async def test_relevance_puts_graduated_first_then_rating_then_newest(market: TestMarket) -> None:
    made = await sellers(market, "Ada", "Bo", "Cy", "Di")
    old, rated, graduated, new = [await offer(market, one) for one in made]
    await prove(market, rated, 4.5, graduated=False)
    await prove(market, graduated, 3.5, graduated=True)
    assert await found(market) == [graduated, rated, new, old]
    assert await found(market, graduated=True) == [graduated]
    assert (await market.call("get_listing", listing_id=graduated, env="test"))["graduated"] is True


@covers("listing.field.graduated")
async def test_a_listing_graduates_with_five_paid_jobs_of_three_buyers(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    buyers = {name: await trade.agent(name, 1_000_000) for name in ("Ann", "Ben", "Cay")}
    few_buyers, few_jobs = [await trade.listing(seller, price=10_000, title=f"Offer {name}") for name in "AB"]
    done: list[str] = []

    async def graduated_after(listing: Any, *names: str) -> bool:
        for name in names:
            job = await trade.order(buyers[name], listing)
            await trade.market.call("accept_job", by=seller, job_id=job["id"])
            await trade.deliver(seller, job)
            await trade.pay(buyers[name], job)
            await trade.market.call("accept_job", by=buyers[name], job_id=job["id"])
            done.append(job["id"])
        seen = await trade.market.call("get_listing", env="test", listing_id=listing["id"])
        return bool(seen["graduated"])

    assert not await graduated_after(few_buyers, "Ann", "Ben", "Ann", "Ben", "Ann"), "five jobs of two buyers"
    assert await graduated_after(few_buyers, "Cay")
    assert not await graduated_after(few_jobs, "Ann", "Ben", "Cay", "Ann"), "four jobs of three buyers"
    assert await graduated_after(few_jobs, "Ann")
    await trade.market.call("review_job", by=buyers["Ann"], job_id=done[-1], rating=3)
    assert not await graduated_after(few_jobs), "an average under 3.5"


@covers("env.anonymous_is_live", "env.query", "env.by_key", "listing.search.env", "auth.2.environment")
@covers("auth.1.public_reads", "endpoint.auth.none", "route.listings.get")
async def test_the_environment_is_the_querys_else_the_keys_else_live(market: TestMarket) -> None:
    (ada,) = await sellers(market, "Ada")
    ids = {on: await offer(market, ada, on) for on in ("live", "test")}
    for key, env in [(None, "live"), (ada.keys["live"], "live"), (ada.keys["test"], "test")]:
        for asked, expected in [({}, env), ({"env": "live"}, "live"), ({"env": "test"}, "test")]:
            page = orjson.loads((await market.answer("search_listings", asked, key=key)).body)
            assert [one["id"] for one in page["data"]] == [ids[expected]]
            other = "live" if expected == "test" else "test"
            answers = [
                await market.answer("get_listing", asked | {"listing_id": ids[on]}, key=key) for on in (expected, other)
            ]
            assert [answer.status for answer in answers] == [200, 404]


@covers("list.*", "endpoint.list.limit", "endpoint.list.cursor", "listing.search.limit", "listing.search.cursor")
@covers("limit.page_size")
async def test_a_list_is_read_page_by_page_without_a_gap(market: TestMarket) -> None:
    (ada,) = await sellers(market, "Ada")
    made = [await offer(market, ada, price=number) for number in range(5)]
    pages, cursor = [], None
    while not pages or cursor:
        given = {"cursor": cursor} if cursor else {}
        page = await market.call("search_listings", env="test", sort="newest", limit=2, **given)
        assert set(page) - {"hint", "post_a_bounty", "next_steps"} == named("list")
        assert page["object"] == "list"
        assert page["has_more"] is (page["next_cursor"] is not None)
        pages.append([one["id"] for one in page["data"]])
        cursor = page["next_cursor"]
    newest = made[::-1]
    assert pages == [newest[:2], newest[2:4], newest[4:]]
    for limit in (0, 101):
        error = await market.refusal("search_listings", limit=limit)
        assert (error["code"], error["param"]) == ("invalid_request", "limit")
    assert len(await found(market, limit=100)) == len(await found(market)) == 5


async def test_an_empty_search_without_a_key_first_leads_to_the_same_search_on_test(market: TestMarket) -> None:
    (ada,) = await sellers(market, "Ada")
    listing = await offer(market, ada)
    page = await market.call("search_listings", q="translate", max_price=2_000_000, sort="newest")
    first, posts = page["next_steps"]
    assert (first["tool"], first["method"], first["path"]) == ("search_listings", "GET", "/v1/listings")
    assert first["arguments"] == {"q": "translate", "max_price": 2_000_000, "sort": "newest", "env": "test"}
    assert [one["id"] for one in (await market.call("search_listings", **first["arguments"]))["data"]] == [listing]
    assert posts["tool"] == "create_bounty"
    chosen = [
        await market.call("search_listings", q="translate", env="live"),
        await market.call("search_listings", q="poems", env="test"),
        await market.call("search_listings", by=ada, q="poems"),
        await market.call("search_listings", by=ada, on="live", q="translate"),
    ]
    assert [[one["tool"] for one in page["next_steps"]] for page in chosen] == [["create_bounty"]] * 4
