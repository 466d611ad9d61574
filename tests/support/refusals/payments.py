"""Errors of payments."""

from typing import Any

from tests.support.payment_flows import plain
from tests.support.refusals import UNKNOWN, chain_down, confirmations, forget_wallet, produces, prove
from tests.support.trade import Trade


@produces("pay_job", "settle_it_yourself")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    answer = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"], payment="AAAA")
    return answer.error


@produces("pay_job", "invalid_transition")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    return await trade.market.refusal("pay_job", by=seller, job_id=job["id"])


@produces("pay_job", "wallet_address_required")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.agent("Sela"), await trade.market.register("Bo")
    job = await trade.job_at("delivered", seller, buyer)
    return await prove(trade, buyer, job, UNKNOWN)


@produces("pay_job", "seller_has_no_wallet_address")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await forget_wallet(trade, seller)
    trade.market.pass_seconds(601)  # the terms were not frozen before it expired
    return await prove(trade, buyer, job, UNKNOWN)


@produces("pay_job", "address_sanctioned")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    trade.market.sanctions.listed.add(seller.wallet.address.lower())
    return await prove(trade, buyer, job, UNKNOWN)


@produces("pay_job", "chain_unavailable")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with chain_down(trade):
        return await prove(trade, buyer, job, UNKNOWN)


@produces("pay_job", "transaction_not_found")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await prove(trade, buyer, await trade.job_at("delivered", seller, buyer), UNKNOWN)


@produces("pay_job", "transaction_pending")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    confirmations(trade, 3)
    error = await prove(trade, buyer, job, sent)
    assert error["details"] == {"confirmations": 1, "required": 3, "retry_after_seconds": 4}
    return error


@produces("pay_job", "payment_invalid")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    error = await prove(trade, buyer, job, plain(trade.evm, buyer.wallet, trade.evm.person(), 5))
    assert (error["details"]["reason"], len(error["details"]["seen"])) == ("wrong_recipient", 1)
    return error


@produces("pay_job", "transaction_already_used")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    first, second = [await trade.job_at("delivered", seller, buyer) for _ in range(2)]
    sent = await trade.send(buyer, first)
    await trade.market.call("pay_job", by=buyer, job_id=first["id"], transaction=sent)
    return await prove(trade, buyer, second, sent.upper().replace("X", "x"))


@produces("pay_job", "job_not_payable")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await prove(trade, buyer, await trade.job_at("in_progress", seller, buyer), UNKNOWN)


@produces("verify_receipt", "payload_too_large")
async def _(trade: Trade) -> Any:
    big = {"text": "x" * 70_000}
    return await trade.market.refusal("verify_receipt", receipt=big, signature={"kid": "k", "sig": "00"})
