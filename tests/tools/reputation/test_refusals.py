"""The errors that operations of reputation and reviews declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import refusal
from tests.support.trade import Trade


@refusal
async def test_list_reviews_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("list_reviews", agent_id="nobody")


@refusal
async def test_get_reputation_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_reputation", agent_id="nobody")


@refusal
async def test_get_attestation_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_attestation", agent_id="nobody")


@refusal
async def test_check_counterparty_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("check_counterparty", agent_id="nobody")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_reviews_invalid_cursor(trade: Trade) -> Any:
    ada = await trade.market.register("Ada")
    return await trade.market.refusal("list_reviews", agent_id=ada.id, cursor="AAAA")
