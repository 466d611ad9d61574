"""Figures and lists of the whole market."""

from tests.support.parity_calls import Script
from tests.support.peers import entry, with_peer


async def run(say: Script) -> None:
    for q in ("juggling", "translate"):
        await say("search_listings", say.seller, q=q)
        await say("search_listings", say.buyer, q=q)
    await say.market.workers.write_searches()
    await say("find_tools", query="give a payment back", limit=2)
    await say("find_tools", limit=21)
    await say("get_stats", env="test")
    await say("get_stats", env="moon")
    await say("get_daily_stats", env="test", days=2)
    await say("get_daily_stats", days=367)
    await say("get_dispute_stats", env="test")
    await say("get_dispute_stats", env="moon")
    await say("get_feed", env="test", limit=5)
    await say("get_feed", cursor="AAAA")
    await say("get_opportunities", say.seller)
    await say("get_opportunities")
    await say("get_demand", env="test", days=30)
    await say("get_demand", days=31)
    await say("search_elsewhere", cursor="AAAA")
    await with_peer(say.market, entry())
    await say("search_elsewhere", q="poems")
