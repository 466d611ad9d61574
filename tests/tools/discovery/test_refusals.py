"""The errors that operations of market-wide reads declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import refusal
from tests.support.trade import Trade


@refusal
@covers("error.more.overloaded")
async def test_get_health_overloaded(trade: Trade) -> Any:
    return await trade.market.refusal("get_health")  # no probe has reached the database yet


@refusal
@covers("error.more.invalid_cursor")
async def test_get_feed_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("get_feed", cursor="AAAA")


@refusal
@covers("error.more.invalid_cursor")
async def test_search_elsewhere_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("search_elsewhere", cursor="AAAA")
