"""Marks around others' text over MCP: the caller's own text and the market's words are not marked."""

import json
from typing import Any

import pytest

from tests.requirements import covers
from tests.support import bounties
from tests.support.brief_texts import is_short_for
from tests.support.market import Agent
from tests.support.mcp_client import MODERN, Mcp, connected
from tests.support.trade import Trade
from tests.support.untrusted_markers import unfenced


async def marked(mcp: Mcp, agent: Agent | None, tool: str, **given: Any) -> set[str]:
    """Return the marked places of a result as this agent reads it.

    Check that the text without its marks is the record.
    """
    key = {} if agent is None else {"api_key": agent.keys["test"]}
    result = await mcp.call(MODERN, tool, {**given, **key})
    assert not result.get("isError"), result
    named = result.get("_meta", {}).get("service/untrusted", [])
    assert is_short_for(unfenced(result["content"][0]["text"], named), result["structuredContent"])
    return {*named}


@covers("second.own_words.listing")
async def test_a_listing_is_marked_for_everybody_but_its_seller_whoever_read_it_before(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    words = {
        "/title",
        "/description",
        "/category",
        "/tags",
        "/seller/name",
        "/input_schema",
        "/how_to_order/body_example",
    }
    async with connected(trade.market.market) as mcp:
        for _ in range(2):
            assert await marked(mcp, seller, "get_listing", listing_id=listing["id"]) == set()
            for other in (buyer, None):
                assert await marked(mcp, other, "get_listing", listing_id=listing["id"], env="test") > words
        assert await marked(mcp, seller, "list_my_listings") == set()
        assert await marked(mcp, seller, "search_listings", env="test") == set()
        assert "/data/0/title" in await marked(mcp, buyer, "search_listings", env="test")
        title = {"listing_id": listing["id"], "title": "Translate into English"}
        assert await marked(mcp, seller, "update_listing", **title) == set()


@covers("second.own_words.agent")
async def test_a_profile_is_marked_for_everybody_but_its_agent(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.market.call("update_me", by=seller, description="I translate.")
    async with connected(trade.market.market) as mcp:
        assert await marked(mcp, seller, "get_me") == set()
        assert await marked(mcp, seller, "get_agent", agent_id=seller.id) == set()
        assert await marked(mcp, buyer, "get_agent", agent_id=seller.id) == {"/name", "/description"}
        found = await marked(mcp, buyer, "search_agents", q="translate")
    assert found == {"/data/0/name", "/data/0/description"}


@covers("second.own_words.job")
async def test_of_a_job_each_party_sees_marks_around_what_the_other_wrote(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = {"job_id": (await trade.job_at("revealed", seller, buyer))["id"]}
    await trade.market.call("dispute_job", by=buyer, **job, reason="This is not English.")
    async with connected(trade.market.market) as mcp:
        for tool, at in (("get_job", ""), ("list_jobs", "/data/0")):
            given = job if tool == "get_job" else {"detail": "full"}
            of_the_buyer = {f"{at}/input", f"{at}/dispute_reason"}
            assert await marked(mcp, seller, tool, **given) == {f"{at}/title", *of_the_buyer}
            assert await marked(mcp, buyer, tool, **given) == {f"{at}/title", f"{at}/output"}
        assert await marked(mcp, seller, "get_delivery", **job, revision=0) == set()
        assert await marked(mcp, buyer, "get_delivery", **job, revision=0) == {"/output"}
        for tool, given in (("list_job_events", job), ("list_events", {})):
            told = [await marked(mcp, party, tool, **given, limit=50) for party in (seller, buyer)]
            reasons = [[one for one in places if one.endswith("/reason")] for places in told]
            assert [len(found) for found in reasons] == [1, 0]


@covers("second.own_words.job")
async def test_the_rules_of_a_delivery_are_their_authors_own_words(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    rules = [{"name": "long enough", "kind": "min_length", "path": "/english", "value": 3}]
    listed = await trade.job_at("revealed", seller, buyer, acceptance=rules)
    posted = await bounties.bounty(trade, buyer, input=bounties.HELD)
    won = (await bounties.award(trade, buyer, posted, await bounties.propose(trade, seller, posted)))["job"]
    async with connected(trade.market.market) as mcp:
        for job, author, other in ((listed, seller, buyer), (won, buyer, seller)):
            assert "/acceptance" not in await marked(mcp, author, "get_job", job_id=job["id"])
            assert "/acceptance" in await marked(mcp, other, "get_job", job_id=job["id"])
        assert "/title" not in await marked(mcp, buyer, "get_job", job_id=won["id"])
        assert "/title" in await marked(mcp, seller, "get_job", job_id=won["id"])


@covers("second.own_words.job")
async def test_a_reason_to_decline_is_marked_for_the_buyer_alone(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = {"job_id": (await trade.job_at("open", seller, buyer))["id"]}
    await trade.market.call("decline_job", by=seller, **job, reason="No time this week.")
    async with connected(trade.market.market) as mcp:
        assert "/cancel_reason" not in await marked(mcp, seller, "get_job", **job)
        assert "/cancel_reason" in await marked(mcp, buyer, "get_job", **job)


@covers("second.own_words.message")
async def test_a_message_is_marked_for_the_other_alone(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    thread = {"thread_id": (await trade.job_at("open", seller, buyer))["thread_id"]}
    async with connected(trade.market.market) as mcp:
        said = {**thread, "body": "Hello.", "data": {"a": ["b"]}}
        assert await marked(mcp, buyer, "post_message", **said) == set()
        assert await marked(mcp, buyer, "list_messages", **thread) == set()
        assert await marked(mcp, seller, "list_messages", **thread) == {"/data/0/body", "/data/0/data"}


@covers("second.own_words.review")
async def test_a_review_is_marked_for_everybody_but_its_author(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    async with connected(trade.market.market) as mcp:
        said = {"job_id": job["id"], "rating": 5, "comment": "Good."}
        assert await marked(mcp, buyer, "review_job", **said) == set()
        for reader, places in ((buyer, set()), (seller, {"/data/0/comment"}), (None, {"/data/0/comment"})):
            assert await marked(mcp, reader, "list_reviews", agent_id=seller.id, env="test") == places


@covers("second.own_words.bounty")
async def test_a_bounty_and_a_proposal_are_marked_for_everybody_but_their_authors(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounties.bounty(trade, buyer)
    bounty, words = {"bounty_id": posted["id"]}, {"/title", "/description", "/category", "/tags"}
    async with connected(trade.market.market) as mcp:
        assert await marked(mcp, buyer, "get_bounty", **bounty) == set()
        assert await marked(mcp, buyer, "list_my_bounties") == set()
        for other in (seller, None):
            assert await marked(mcp, other, "get_bounty", **bounty, env="test") == words
        said = {**bounty, "price": 250_000, "message": "I write poems."}
        assert await marked(mcp, seller, "propose_on_bounty", **said) == set()
        assert await marked(mcp, seller, "list_proposals", **bounty) == set()
        assert await marked(mcp, buyer, "list_proposals", **bounty) == {"/data/0/message"}


@covers("second.own_words.market")
@pytest.mark.parametrize(
    "output, told",
    [
        ({"german": "guten Tag"}, 'The required property "{}english{}" is missing.'),
        ({"english": 7}, 'The value, a number, does not satisfy "type": {}"string"{}'),
    ],
)
async def test_of_what_is_wrong_with_a_delivery_only_what_the_schema_says_is_marked(
    trade: Trade, output: Any, told: str
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    given = {"job_id": job["id"], "output": output, "api_key": seller.keys["test"]}
    async with connected(trade.market.market) as mcp:
        result = await mcp.call(MODERN, "deliver_job", given)
    text, named = result["content"][0]["text"], result["_meta"]["service/untrusted"]
    assert named == ["/error/message", "/error/details/violations/0/message"]
    assert unfenced(text, named) == {"error": result["_meta"]["service/error"]}
    error = json.loads(text)["error"]
    mark = error["message"].split("<")[1].split(">")[0]
    sentence = told.format(f"<{mark}>", f"</{mark}>")
    assert error["message"] == f"output does not satisfy its schema: {sentence}"
    assert error["details"]["violations"][0]["message"] == sentence


@covers("second.own_words.market")
async def test_of_a_rule_that_is_not_kept_its_name_and_place_are_marked(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    rules = [{"name": "long enough", "kind": "min_length", "path": "/english", "value": 3}]
    listing = {"acceptance": rules, "example_output": {"english": "good day"}}
    job = await trade.job_at("in_progress", seller, buyer, **listing)
    given = {"job_id": job["id"], "output": {"english": "x"}, "api_key": seller.keys["test"]}
    async with connected(trade.market.market) as mcp:
        result = await mcp.call(MODERN, "deliver_job", given)
    at = "/error/details/violations/0"
    assert {*result["_meta"]["service/untrusted"]} == {"/error/message", f"{at}/message", f"{at}/param", f"{at}/rule"}
    assert json.loads(result["content"][0]["text"])["error"]["message"].endswith(">: is 1 long, at least 3 is wanted")
