"""search_elsewhere: what other markets offer, apart from what is offered here."""

from tests.support.market import TestMarket
from tests.support.peers import OTHER, entry, registry, with_peer
from tests.support.trade import Trade
from tools.discovery.elsewhere_operations import NOTE

FAR = "https://far.example"


async def test_an_entry_names_its_market(market: TestMarket) -> None:
    await with_peer(market, entry(), registry())
    found = await market.call("search_elsewhere", q="poems")
    assert found == {
        "object": "list",
        "data": [
            {
                "object": "foreign_entry",
                "market": "other.example",
                "identifier": "urn:air:other.example:listing:poems",
                "name": "Write poems",
                "type": "application/a2a-agent-card+json",
                "url": f"{OTHER}/a2a/agents/ada/.well-known/agent-card.json",
                "description": "I write poems by hand.",
                "tags": ["writing"],
                "capabilities": ["lst_poems"],
            }
        ],
        "has_more": False,
        "next_cursor": None,
        "hint": None,
        "note": NOTE,
    }


async def test_pages_follow_one_another(market: TestMarket) -> None:
    await with_peer(market, *(entry(f"poem-{number}") for number in range(3)))
    far = {"identifier": "urn:air:far.example:listing:poem", "url": f"{FAR}/card"}
    await with_peer(market, entry("poem", **far), origin=FAR)
    first = await market.call("search_elsewhere", q="write", limit=3)
    assert [one["market"] for one in first["data"]] == ["other.example", "far.example", "other.example"]
    rest = await market.call("search_elsewhere", q="write", limit=3, cursor=first["next_cursor"])
    assert [one["name"] for one in rest["data"]] == ["Write poem-2"]
    assert (rest["has_more"], rest["next_cursor"]) == (False, None)


async def test_nothing_found_says_what_to_do(market: TestMarket) -> None:
    alone = await market.call("search_elsewhere")
    assert alone["hint"] == "This market names no other markets. create_bounty posts what you need here."
    await with_peer(market, entry())
    found = await market.call("search_elsewhere", q="juggling")
    assert (found["data"], "'juggling'" in found["hint"]) == ([], True)


async def test_what_others_offer_is_neither_found_nor_counted_nor_sold_here(trade: Trade) -> None:
    market, buyer = trade.market, await trade.agent("Bo", 1_000_000)
    before = await market.call("get_stats", env="live")
    await with_peer(market, entry())
    assert (await market.call("search_listings", q="poems", env="live"))["data"] == []
    market.pass_seconds(61)
    after = await market.call("get_stats", env="live")
    assert after["listings_active"] == before["listings_active"]
    for listing_id in ("lst_poems", "urn:air:other.example:listing:poems"):
        refused = await market.refusal("hire", by=buyer, on="live", listing_id=listing_id, input={})
        assert refused["code"] == "not_found"
