"""Refusals of what is shown of the whole market."""

from typing import Any

from tests.operations.refusals import produces
from tests.trading import Trade


@produces("get_feed", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_feed", cursor="AAAA")
