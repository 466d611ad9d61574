"""A seller's own ids for its listings: the same one again changes the same listing."""

from typing import Any

import orjson
import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import limited
from tests.support.trade import OFFER, Trade

pytestmark = pytest.mark.both_databases


async def offered(trade: Trade, seller: Agent, on: str = "test", **changes: Any) -> tuple[int, Any]:
    """Offer it under the id a/1; return the status and the listing."""
    answer = await trade.market.answer("create_listing", OFFER | {"external_id": "a/1"} | changes, key=seller.keys[on])
    return answer.status, answer.error or orjson.loads(answer.body)


@covers("second.external_id.made", "second.external_id.changed")
async def test_the_same_external_id_changes_the_same_listing(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    status, made = await offered(trade, seller)
    assert (status, made["external_id"]) == (201, "a/1")
    told = (await trade.market.call("list_events", by=seller, since="now"))["next_since"]
    trade.market.pass_seconds(5)
    status, same = await offered(trade, seller)
    assert (status, same["updated_at"], same["id"]) == (200, made["created_at"], made["id"])
    status, changed = await offered(trade, seller, title="Translate at once", tags=[], price=7, output_schema=None)
    assert (status, changed["id"], changed["created_at"]) == (200, made["id"], made["created_at"])
    assert (changed["title"], changed["tags"], changed["output_schema"]) == ("Translate at once", [], None)
    assert (changed["pricing"]["price"], changed["updated_at"] > made["updated_at"]) == (7, True)
    assert (await trade.market.call("get_listing", listing_id=made["id"], env="test"))["title"] == "Translate at once"
    assert (await trade.market.call("list_events", by=seller, since=told))["data"] == [], "nobody is told"
    found = await trade.market.call("search_listings", env="test", q="at once")
    assert [one["id"] for one in found["data"]] == [made["id"]]


@covers("second.external_id.made")
async def test_an_external_id_is_of_one_seller_in_one_environment(trade: Trade) -> None:
    seller, other = await trade.agent("Sela"), await trade.agent("Sam")
    first = (await offered(trade, seller))[1]
    status, second = await offered(trade, other)
    assert (status, second["id"] != first["id"]) == (201, True)
    assert len((await trade.market.call("list_my_listings", by=seller))["data"]) == 1


@covers("second.external_id.paused")
async def test_the_same_external_id_never_un_pauses(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    made = (await offered(trade, seller))[1]
    await trade.market.call("update_listing", by=seller, listing_id=made["id"], status="paused")
    status, changed = await offered(trade, seller, price=7)
    assert (status, changed["status"], changed["pricing"]["price"]) == (200, "paused", 7)


@covers("second.external_id.freed")
async def test_an_archived_listing_frees_its_external_id(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    made = (await offered(trade, seller))[1]
    archived = await trade.market.call("archive_listing", by=seller, listing_id=made["id"])
    assert archived["external_id"] == "a/1"
    status, other = await offered(trade, seller)
    assert (status, other["id"] != made["id"]) == (201, True)


async def test_an_external_id_known_needs_no_further_place(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    limited(trade, active_listings=1, kept_listings=1)
    assert (await offered(trade, seller))[0] == 201
    assert (await offered(trade, seller, price=7))[0] == 200
    assert (await offered(trade, seller, external_id="a/2"))[1]["code"] == "listing_limit"


@pytest.mark.parametrize("external_id", ["", "a b", "x" * 65, "\u00fc"])
async def test_an_external_id_is_printable_ascii(trade: Trade, external_id: str) -> None:
    refused = (await offered(trade, await trade.agent("Sela"), external_id=external_id))[1]
    assert (refused["code"], refused["param"]) == ("invalid_request", "external_id")
