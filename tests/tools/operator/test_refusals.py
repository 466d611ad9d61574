"""The errors that operations of the operator declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import as_operator, refusal
from tests.support.trade import Trade

NOBODY = "agt_" + "0" * 26


@refusal
async def test_set_first_party_not_found(trade: Trade) -> Any:
    return await as_operator(trade, "set_first_party", agent_id=NOBODY, first_party=True)


@refusal
async def test_set_agent_status_not_found(trade: Trade) -> Any:
    return await as_operator(trade, "set_agent_status", agent_id=NOBODY, status="active")


@refusal
async def test_get_overview_not_found(trade: Trade) -> Any:
    return await as_operator(trade, "get_overview", dispute_id="dsp_" + "0" * 26)


@refusal
@covers("error.code.content_rejected")
async def test_report_support_content_rejected(trade: Trade) -> Any:
    key = (await trade.market.register()).keys["test"]
    return await trade.market.refusal("report_support", message=f"My key {key} does not work any more.")
