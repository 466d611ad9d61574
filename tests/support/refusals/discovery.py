"""Errors of market-wide reads: statistics, the feed, opportunities and demand."""

from typing import Any

from tests.support.refusals import produces
from tests.support.trade import Trade


@produces("get_feed", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_feed", cursor="AAAA")
