"""Long pages of jobs: they are made in parts, with texts that are read ahead or one by one."""

from functools import partial

import pytest

from tests.support.trade import Trade
from tools.engine.paging import PART


async def test_a_long_page_is_the_same_if_its_texts_are_not_read_ahead(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, max_open_jobs=1000)
    ordered = [await trade.order(buyer, listing, input={"text": f"number {n}"}) for n in range(PART + 2)]
    asked = partial(trade.market.call, "list_jobs", by=buyer, limit=PART + 1)
    page = await asked()
    assert [one["id"] for one in page["data"]] == [one["id"] for one in reversed(ordered[1:])]
    assert page["has_more"]
    monkeypatch.setattr("tools.jobs.stored_texts.READ_AHEAD", 40)
    assert await asked() == page, "texts beyond the bound are read one by one, in the same transaction"
    monkeypatch.undo()
    monkeypatch.setattr("tools.engine.paging.MAX_PAGE", 3 * len(str(page["data"][0])))
    short = await asked()
    assert 1 < len(short["data"]) < PART
    rest = await asked(cursor=short["next_cursor"])
    assert rest["data"][0]["id"] == page["data"][len(short["data"])]["id"]
