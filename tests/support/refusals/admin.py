"""Errors of the operator's routes."""

from typing import Any

import orjson

from tests.support.market import OPERATOR_SECRET
from tests.support.refusals import produces
from tests.support.trade import Trade

NOBODY = "agt_" + "0" * 26


async def as_operator(trade: Trade, operation: str, **given: Any) -> Any:
    answer = await trade.market.answer(operation, given, admin_token=OPERATOR_SECRET)
    return orjson.loads(answer.body)["error"]


@produces("set_first_party", "not_found")
async def _(trade: Trade) -> Any:
    return await as_operator(trade, "set_first_party", agent_id=NOBODY, first_party=True)


@produces("set_agent_status", "not_found")
async def _(trade: Trade) -> Any:
    return await as_operator(trade, "set_agent_status", agent_id=NOBODY, status="active")


@produces("get_overview", "not_found")
async def _(trade: Trade) -> Any:
    return await as_operator(trade, "get_overview", dispute_id="dsp_" + "0" * 26)
