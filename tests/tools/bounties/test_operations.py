"""Clauses of the contract about bounties: their records, searches, accepted values and errors."""

from datetime import timedelta
from typing import Any

import pytest

from storage.tables import AgentRow
from tests.requirements import covers
from tests.support.bounties import BUDGET, HELD, NEED, WEEK, award, bounty, propose, told
from tests.support.market import START, Agent, TestMarket, bare
from tests.support.refusals import EVIL, change_row
from tests.support.trade import PRICE, Trade
from tools.kernel.records import stamp


def public(agent: Agent) -> dict[str, Any]:
    return {"id": agent.id, "handle": agent.handle, "trust_tier": 0}


@covers("bounty.field.*", "bounty.field.buyer.*", "bounty.field.how_to_propose.*", "route.bounties.list", "id.bty")
@covers("open.create_bounty", "service.3.post")
async def test_a_bounty_shows_exactly_what_the_contract_names(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    posted = await market.call("create_bounty", by=buyer, **NEED, input=HELD)
    assert bare(posted) == {
        "object": "bounty",
        "id": posted["id"],
        "title": NEED["title"],
        "description": NEED["description"],
        "input": HELD,
        "budget_max": BUDGET,
        "budget_display": "1.000000 USDC",
        "currency": "USDC",
        "category": "text",
        "tags": ["poem"],
        "status": "open",
        "expires_at": stamp(START + timedelta(seconds=WEEK)),
        "proposal_count": 0,
        "awarded_job_id": None,
        "buyer": public(buyer),
        "content_warnings": [],
        "how_to_propose": {
            "method": "POST",
            "path": f"/v1/bounties/{posted['id']}/proposals",
            "tool": "propose_on_bounty",
            "body_example": {
                "price": 800_000,
                "payment": "on_delivery",
                "message": "What I deliver, and by when.",
            },
        },
        "first_party": False,
        "env": "test",
        "created_at": stamp(START),
    }
    assert posted["id"].startswith("bty_")
    assert await market.call("get_bounty", bounty_id=posted["id"], env="test") == bare(posted)
    assert (await market.call("search_bounties", env="test"))["data"] == [bare(posted)]
    assert (await market.call("list_my_bounties", by=buyer))["data"] == [bare(posted)]


async def test_a_bounty_of_one_environment_is_none_in_the_other(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    posted = await market.call("create_bounty", by=buyer, **NEED)
    assert (await market.refusal("get_bounty", bounty_id=posted["id"]))["code"] == "not_found"
    assert (await market.call("search_bounties"))["data"] == []
    assert (await market.call("list_my_bounties", by=buyer, on="live"))["data"] == []


@covers("invariant.8.bounties", "bounty.input.*")
async def test_a_bounty_of_the_operator_says_so_and_can_be_asked_for_apart(trade: Trade) -> None:
    house, other = await trade.market.register("MarketConfig"), await trade.market.register("Bo")
    await change_row(trade, AgentRow, (house.id,), first_party=True)
    theirs, ours = await bounty(trade, house, input=HELD), await bounty(trade, other)
    assert theirs["input"] == HELD
    assert (theirs["first_party"], ours["first_party"]) == (True, False)
    for wanted, found in ((True, [bare(theirs)]), (False, [bare(ours)]), (None, [bare(ours), bare(theirs)])):
        page = await trade.market.call("search_bounties", env="test", first_party=wanted)
        assert page["data"] == found
    await change_row(trade, AgentRow, (house.id,), first_party=False)
    assert (await trade.market.call("get_bounty", bounty_id=theirs["id"], env="test"))["first_party"]


@covers("open.list_bounties")
async def test_bounties_are_found_by_words_category_tag_and_budget_the_newest_first(market: TestMarket) -> None:
    buyer = await market.register("Bo")

    async def post(title: str, **changes: Any) -> str:
        posted = await market.call("create_bounty", by=buyer, **NEED | {"title": title} | changes)
        return str(posted["id"])

    poem = await post("A poem in English")
    han = await post("機械翻訳の評価", category="Research", tags=["Han", "eval"], budget_max=10**12)
    free = await post("Free of charge", budget_max=0, tags=[])

    async def found(**asked: Any) -> list[str]:
        return [one["id"] for one in (await market.call("search_bounties", env="test", **asked))["data"]]

    assert await found() == [free, han, poem]
    assert await found(q="翻訳") == [han]
    assert await found(q="poem english") == [poem]
    assert await found(q="poem nowhere") == [poem], "no bounty has both, so any will do"
    assert await found(q="!!!") == []
    assert await found(category="research") == [han]
    assert await found(tag="han") == [han]
    assert await found(min_budget=1) == [han, poem]
    assert await found(min_budget=BUDGET) == [han, poem]
    assert await found(min_budget=BUDGET + 1) == [han]
    assert await found(min_budget=10**12) == [han]
    assert await found(min_budget=0, tag="poem") == [poem]


async def test_pages_of_bounties_go_on_where_they_ended(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    posted = list[str]()
    for _ in range(5):
        posted.append((await market.call("create_bounty", by=buyer, **NEED))["id"])
        market.pass_seconds(1)  # ids sort by creation time
    for operation, by in (("search_bounties", None), ("list_my_bounties", buyer)):
        asked: dict[str, Any] = {"limit": 2} | ({"env": "test"} if by is None else {})
        seen, page = list[str](), await market.call(operation, by=by, **asked)
        while True:
            seen += [one["id"] for one in page["data"]]
            if not page["has_more"]:
                break
            page = await market.call(operation, by=by, cursor=page["next_cursor"], **asked)
        assert seen == posted[::-1]


async def test_long_descriptions_are_cut_in_lists_alone(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    posted = await market.call("create_bounty", by=buyer, **NEED | {"description": "long " * 200})
    (found,) = (await market.call("search_bounties", env="test"))["data"]
    assert found["description"] == posted["description"][:497] + "..."
    assert (await market.call("get_bounty", by=buyer, bounty_id=posted["id"]))["description"] == "long " * 200


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"deliverable_schema": {"type": "array"}}, "input.deliverable_schema"),
        ({"deliverable_schema": {"type": "object", "$ref": "https://a.example/s"}}, "input.deliverable_schema"),
        ({"deliverable_schema": "object"}, "input.deliverable_schema"),
        ({"preview_schema": {"type": "object", "pattern": "(a"}}, "input.preview_schema"),
        ({"acceptance": [{"name": "x", "kind": "min_length", "value": -1}]}, "input.acceptance.0"),
        ({"acceptance": [{"name": "x", "kind": "schema", "value": {"type": "array"}}]}, "input.acceptance.0.value"),
        ({"acceptance": [{"name": "x", "kind": "present"}] * 2}, "input.acceptance"),
        ({"bounty_description": "mine"}, "input.bounty_description"),
    ],
)
async def test_what_would_hold_no_delivery_is_refused_when_it_is_posted(
    market: TestMarket, given: dict[str, Any], param: str
) -> None:
    refused = await market.refusal("create_bounty", by=await market.register("Bo"), **NEED, input=given)
    assert (refused["code"], refused["param"]) == ("invalid_request", param)


@pytest.mark.parametrize("field", ["title", "description", "tags", "input"])
async def test_a7_a_bounty_that_attacks_its_readers_is_refused(market: TestMarket, field: str) -> None:
    said = {"title": EVIL, "description": EVIL, "tags": [EVIL[:48]], "input": {"a": [{"b": EVIL}]}}[field]
    refused = await market.refusal("create_bounty", by=await market.register("Bo"), **NEED | {field: said})
    assert (refused["code"], refused["param"]) == ("content_rejected", field)


@pytest.mark.parametrize("hidden", ["behind many strings", "deep", "behind a long text"])
async def test_an_attack_in_the_input_of_a_bounty_is_found_wherever_it_stands(market: TestMarket, hidden: str) -> None:
    deep: Any = EVIL
    for _ in range(40):
        deep = {"a": deep}
    said = {
        "behind many strings": [*["x"] * 5_000, EVIL],
        "deep": deep,
        "behind a long text": ["word " * 60_000, EVIL],
    }[hidden]
    refused = await market.refusal("create_bounty", by=await market.register("Bo"), **NEED, input={"a": said})
    assert (refused["code"], refused["param"]) == ("content_rejected", "input")


async def test_what_belongs_into_the_input_and_what_is_no_type_is_said_with_its_place(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    wrong = await market.refusal("create_bounty", by=buyer, **NEED, deliverable_schema={"type": "object"})
    (violation,) = wrong["details"]["violations"]
    assert violation["hint"] == "It belongs into input: input.deliverable_schema."
    schema = {"type": "object", "properties": {"a": {"type": "strin"}}}
    refused = await market.refusal("create_bounty", by=buyer, **NEED, input={"deliverable_schema": schema})
    assert refused["message"].startswith("input.deliverable_schema.properties.a.type: ")
    assert "strin is no type; known are object, array, string, number, boolean, null, integer" in refused["message"]


async def test_a_suspicious_bounty_or_proposal_is_kept_with_its_warnings(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    odd = "Please never ask me for my password, I will not tell it."
    posted = await bounty(trade, buyer, description=odd)
    made = await propose(trade, seller, posted, message=odd)
    assert posted["content_warnings"] == made["content_warnings"] == ["credential_mention"]
    refused = await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1, message=EVIL)
    assert (refused["code"], refused["param"]) == ("content_rejected", "message")


@covers("error.more.bounty_limit")
async def test_a_buyer_holds_twenty_open_bounties_in_each_environment(market: TestMarket) -> None:
    buyer = await market.register("Bo")
    posted = [await market.call("create_bounty", by=buyer, **NEED) for _ in range(20)]
    refused = await market.refusal("create_bounty", by=buyer, **NEED)
    assert (refused["code"], refused["type"]) == ("bounty_limit", "conflict")
    await market.call("create_bounty", by=buyer, on="live", **NEED)
    await market.call("close_bounty", by=buyer, bounty_id=posted[0]["id"])
    await market.call("create_bounty", by=buyer, **NEED, expires_in_seconds=300)
    assert (await market.refusal("create_bounty", by=buyer, **NEED))["code"] == "bounty_limit"
    market.pass_seconds(300)
    await market.call("create_bounty", by=buyer, **NEED)  # one has expired, although no sweep has run


@covers("state.bounty", "event.kind.bounty.expired", "error.more.bounty_closed")
async def test_a_bounty_ends_by_the_clock_whether_or_not_a_sweep_has_run(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    other = await trade.agent("Cy")
    posted = await bounty(trade, buyer, expires_in_seconds=300)
    made = await propose(trade, seller, posted)
    await propose(trade, other, posted)
    await trade.market.call("withdraw_proposal", by=other, bounty_id=posted["id"])
    trade.market.pass_seconds(299)
    assert (await trade.market.call("search_bounties", env="test"))["data"][0]["status"] == "open"
    assert await trade.market.workers.expire_bounties() == 0
    trade.market.pass_seconds(1)

    async def seen() -> list[Any]:
        shown = await trade.market.call("get_bounty", by=buyer, bounty_id=posted["id"])
        (mine,) = (await trade.market.call("list_proposals", by=seller, bounty_id=posted["id"]))["data"]
        found = await trade.market.call("search_bounties", env="test")
        named = {"bounty_id": posted["id"], "proposal_id": made["id"]}
        refused = [
            await trade.market.refusal("award_bounty", by=buyer, **named),
            await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1),
            await trade.market.refusal("close_bounty", by=buyer, bounty_id=posted["id"]),
            await trade.market.refusal("withdraw_proposal", by=seller, bounty_id=posted["id"]),
        ]
        return [shown["status"], mine["status"], found["data"], [one["code"] for one in refused]]

    before = await seen()
    assert before == [
        "expired", "rejected", [], ["bounty_closed", "bounty_closed", "bounty_not_open", "proposal_final"],
    ]  # fmt: skip
    assert await told(trade, seller, "bounty.expired") == []
    assert await trade.market.workers.expire_bounties() == 1
    assert await trade.market.workers.expire_bounties() == 0
    assert await seen() == before
    said = {"bounty_id": posted["id"], "buyer_id": buyer.id}
    assert await told(trade, seller, "bounty.expired") == [said | {"proposal_id": made["id"]}]
    assert await told(trade, buyer, "bounty.expired") == [said | {"proposal_id": None}]
    assert await told(trade, other, "bounty.expired") == []


@covers("event.kind.bounty.closed")
async def test_a_bounty_is_closed_by_its_buyer_and_its_sellers_are_told(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    closed = await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    assert closed == bare(posted) | {"status": "closed", "proposal_count": 1, "how_to_propose": None}
    assert await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"]) == closed
    assert await told(trade, seller, "bounty.closed") == [
        {"bounty_id": posted["id"], "proposal_id": made["id"], "status": "closed", "buyer_id": buyer.id}
    ]
    (mine,) = (await trade.market.call("list_proposals", by=seller, bounty_id=posted["id"]))["data"]
    assert mine["status"] == "rejected"


async def test_a_bounty_awarded_cannot_be_closed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    job = (await award(trade, buyer, posted, await propose(trade, seller, posted)))["job"]
    refused = await trade.market.refusal("close_bounty", by=buyer, bounty_id=posted["id"])
    assert (refused["code"], refused["details"]) == (
        "bounty_not_open",
        {"status": "awarded", "awarded_job_id": job["id"]},
    )


async def test_an_empty_search_says_what_is_missing(trade: Trade) -> None:
    for asked, says in (
        ({}, "There are no listings on live yet. Pass env=test"),
        ({"env": "test", "sort": "newest"}, "There are no listings on test yet. Or post"),
        ({"q": "poems"}, "No listing on live fits 'poems'. Use fewer words"),
        ({"max_price": 5}, "No listing on live fits these filters. Use fewer words"),
    ):
        assert (await trade.market.call("search_listings", **asked))["hint"].startswith(says)


async def test_a_search_that_finds_nothing_answers_a_bounty_that_can_be_posted_as_it_stands(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.listing(seller)
    for asked in (
        {"q": "weather in Oslo", "category": "data", "tag": "no", "max_price": PRICE},
        {"q": "翻訳\u0007\u202e  x" * 15},
        {"q": "!?"},
        {"q": EVIL},
        {"seller": "nobody"},
        {"category": "zz", "max_price": 0},
    ):
        page = await trade.market.call("search_listings", by=buyer, **asked)
        assert page["data"] == []
        ready = page["post_a_bounty"]
        assert (ready["method"], ready["path"], ready["tool"]) == ("POST", "/v1/bounties", "create_bounty")
        (posts,) = page["next_steps"]
        assert (posts["tool"], posts["arguments"]) == ("create_bounty", ready["body"])
        posted = await trade.market.call(ready["tool"], by=buyer, **ready["body"])
        assert posted["budget_max"] == asked.get("max_price", 1_000_000)
        assert posted["category"] == asked.get("category", "other")
    assert (await trade.market.call("search_listings", by=buyer))["post_a_bounty"] is None
