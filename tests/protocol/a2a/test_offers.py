"""Words without a listing over A2A are answered with the listings that fit best, and with how to order one."""

import pytest

from tests.support.a2a_requests import FORMS
from tests.support.a2a_tasks import desk_of
from tests.support.trade import Trade

WORDS = "Hello, I need somebody to translate a German text into English."


@pytest.mark.parametrize("form", FORMS)
async def test_words_are_answered_with_the_three_listings_that_fit_best(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    made = [(await trade.listing(seller, title=f"Translate German, number {n}"))["id"] for n in range(4)]
    for agent in (buyer, None):  # a caller without a key is shown the test market if nothing fits on live
        async with desk_of(trade, agent) as desk:
            heard = await desk.say(form, WORDS)
        parts = heard.message.get("parts", heard.message.get("content"))
        text = next(part["text"] for part in parts if "text" in part)
        assert len(heard.data["data"]) == 3
        assert {one["id"] for one in heard.data["data"]} <= set(made)
        assert 'send its how_to_order.body_example, adapted, as one data part: {"listing_id"' in text
        for one in heard.data["data"]:
            assert one["how_to_order"]["body_example"]["listing_id"] == one["id"]
        assert '"tool": "find_tools"' in text


async def test_words_that_fit_nothing_are_answered_with_every_tool(trade: Trade) -> None:
    buyer = await trade.agent("Bo")
    async with desk_of(trade, buyer) as desk:
        heard = await desk.say(FORMS[0], WORDS)
    assert heard.data["object"] == "tools"


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_that_is_over_promises_nothing_more(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller))
    await trade.market.call("decline_job", by=seller, job_id=job["id"])
    async with desk_of(trade, buyer) as desk:
        heard = await desk.task(form, job["id"])
    assert "nothing more comes" in str(heard.body)


@pytest.mark.parametrize("form", FORMS)
async def test_one_possible_step_is_not_offered_as_a_choice(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller))
    async with desk_of(trade, buyer) as desk:
        opened = await desk.task(form, job["id"])
    assert 'and the data part {"action":"cancel"};' in str(opened.body).replace("\\", "")
