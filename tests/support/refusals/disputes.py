"""Errors of disputes and evaluators, and of the operator's verdict."""

from typing import Any

from storage.tables import JobRow
from tests.requirements.probes import write_row
from tests.support.panels import Court, evaluator
from tests.support.refusals import EVIL, Scenario, produces
from tests.support.refusals.admin import as_operator
from tests.support.trade import Trade

NO_CASE, NO_JOB = "dsp_" + "0" * 26, "job_" + "0" * 26


def _unknown(operation: str, **given: Any) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        court = await Court.opened(trade, evaluators=1)
        stranger = await trade.market.register("Stranger")
        foreign = await trade.market.refusal(operation, by=stranger, dispute_id=court.dispute_id, **given)
        unknown = await trade.market.refusal(operation, by=stranger, dispute_id=NO_CASE, **given)
        assert foreign == unknown, "whether there is such a case is nobody's business"
        other = await trade.market.refusal(operation, by=court.buyer, on="live", dispute_id=court.dispute_id, **given)
        assert other["code"] == "not_found"
        return foreign

    return scenario


for _name, _given in {
    "get_dispute": {},
    "submit_verdict": {"outcome": "buyer", "rationale": "So."},
    "withdraw_dispute": {},
}.items():
    produces(_name, "not_found")(_unknown(_name, **_given))


@produces("list_disputes", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_disputes", by=await trade.market.register(), cursor="AAAA")


@produces("set_evaluator", "content_rejected")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await trade.market.refusal("set_evaluator", by=agent, enabled=True, categories=[EVIL[:40]])


@produces("submit_verdict", "already_voted")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    await court.vote(first, "buyer")
    return await court.vote(first, "split")


@produces("submit_verdict", "evidence_open")
async def _(trade: Trade) -> Any:
    """Vote on live before the first tenth of the time to vote is over."""
    judges = [await evaluator(trade, trust_tier=1) for _ in range(3)]
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    await write_row(trade.market, JobRow, job["id"], env="live")
    made = await trade.market.call("dispute_job", by=buyer, on="live", job_id=job["id"], reason="Empty.")
    given = {"dispute_id": made["dispute_id"], "outcome": "buyer", "rationale": "I was quick."}
    return await trade.market.refusal("submit_verdict", by=judges[0], on="live", **given)


@produces("submit_verdict", "dispute_closed")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (*_, last) = await court.panel()
    await court.votes("buyer", "buyer")
    return await court.vote(last, "buyer")


@produces("submit_verdict", "deadline_missed")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    await court.window_passes(swept=False)
    return await court.vote(first, "buyer")


@produces("submit_verdict", "content_rejected")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    return await court.vote(first, "buyer", f"my key is {first.keys['live']}")


@produces("withdraw_dispute", "invalid_transition")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    return await trade.market.refusal("withdraw_dispute", by=court.seller, dispute_id=court.dispute_id)


@produces("withdraw_dispute", "dispute_closed")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade, evaluators=1)
    await court.votes("seller")
    return await trade.market.refusal("withdraw_dispute", by=court.buyer, dispute_id=court.dispute_id)


@produces("resolve_job", "not_found")
async def _(trade: Trade) -> Any:
    return await as_operator(trade, "resolve_job", job_id=NO_JOB, verdict="buyer")


@produces("resolve_job", "invalid_transition")
async def _(trade: Trade) -> Any:
    court = await Court.opened(trade)
    undisputed = await trade.job_at("open", court.seller, court.buyer)
    never = await as_operator(trade, "resolve_job", job_id=undisputed["id"], verdict="buyer")
    assert never["code"] == "invalid_transition"
    return await as_operator(trade, "resolve_job", job_id=court.job["id"], verdict="buyer")
