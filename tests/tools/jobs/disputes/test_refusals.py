"""The errors that operations of disputes declare: a call produces each."""

from typing import Any

from storage.tables import JobRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.panels import Court, evaluator
from tests.support.refusals import as_operator, refusal
from tests.support.trade import Trade

NO_CASE, NO_JOB = "dsp_" + "0" * 26, "job_" + "0" * 26


async def refused_unknown(trade: Trade, operation: str, **given: Any) -> Any:
    court = await Court.opened(trade, evaluators=1)
    stranger = await trade.market.register("Stranger")
    foreign = await trade.market.refusal(operation, by=stranger, dispute_id=court.dispute_id, **given)
    unknown = await trade.market.refusal(operation, by=stranger, dispute_id=NO_CASE, **given)
    assert foreign == unknown, "whether there is such a case is nobody's business"
    other = await trade.market.refusal(operation, by=court.buyer, on="live", dispute_id=court.dispute_id, **given)
    assert other["code"] == "not_found"
    return foreign


@refusal
@covers("error.more.invalid_cursor")
async def test_list_disputes_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_disputes", by=await trade.market.register(), cursor="AAAA")


@refusal
async def test_submit_verdict_already_voted(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    await court.vote(first, "buyer")
    return await court.vote(first, "split")


@refusal
async def test_submit_verdict_evidence_open(trade: Trade) -> Any:
    """Vote on live before the first tenth of the time to vote is over."""
    judges = [await evaluator(trade, trust_tier=1) for _ in range(3)]
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    await write_row(trade.market, JobRow, job["id"], env="live")
    made = await trade.market.call("dispute_job", by=buyer, on="live", job_id=job["id"], reason="Empty.")
    given = {"dispute_id": made["dispute_id"], "outcome": "buyer", "rationale": "I was quick."}
    return await trade.market.refusal("submit_verdict", by=judges[0], on="live", **given)


@refusal
async def test_submit_verdict_dispute_closed(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (*_, last) = await court.panel()
    await court.votes("buyer", "buyer")
    return await court.vote(last, "buyer")


@refusal
async def test_submit_verdict_deadline_missed(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    await court.window_passes(swept=False)
    return await court.vote(first, "buyer")


@refusal
@covers("error.code.content_rejected")
async def test_submit_verdict_content_rejected(trade: Trade) -> Any:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    return await court.vote(first, "buyer", f"my key is {first.keys['live']}")


@refusal
async def test_withdraw_dispute_invalid_transition(trade: Trade) -> Any:
    court = await Court.opened(trade)
    return await trade.market.refusal("withdraw_dispute", by=court.seller, dispute_id=court.dispute_id)


@refusal
async def test_withdraw_dispute_dispute_closed(trade: Trade) -> Any:
    court = await Court.opened(trade, evaluators=1)
    await court.votes("seller")
    return await trade.market.refusal("withdraw_dispute", by=court.buyer, dispute_id=court.dispute_id)


@refusal
async def test_resolve_job_not_found(trade: Trade) -> Any:
    return await as_operator(trade, "resolve_job", job_id=NO_JOB, verdict="buyer")


@refusal
async def test_resolve_job_invalid_transition(trade: Trade) -> Any:
    court = await Court.opened(trade)
    undisputed = await trade.job_at("open", court.seller, court.buyer)
    never = await as_operator(trade, "resolve_job", job_id=undisputed["id"], verdict="buyer")
    assert never["code"] == "invalid_transition"
    return await as_operator(trade, "resolve_job", job_id=court.job["id"], verdict="buyer")


@refusal
async def test_get_dispute_not_found(trade: Trade) -> Any:
    return await refused_unknown(trade, "get_dispute")


@refusal
async def test_submit_verdict_not_found(trade: Trade) -> Any:
    return await refused_unknown(trade, "submit_verdict", outcome="buyer", rationale="So.")


@refusal
async def test_withdraw_dispute_not_found(trade: Trade) -> Any:
    return await refused_unknown(trade, "withdraw_dispute")
