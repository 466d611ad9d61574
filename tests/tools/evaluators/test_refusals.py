"""The errors that operations of evaluators declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import EVIL, refusal
from tests.support.trade import Trade


@refusal
@covers("error.code.content_rejected")
async def test_set_evaluator_content_rejected(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await trade.market.refusal("set_evaluator", by=agent, enabled=True, categories=[EVIL[:40]])
