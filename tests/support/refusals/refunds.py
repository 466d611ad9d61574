"""Errors of refunds."""

from typing import Any

from tests.support.refusals import UNKNOWN, chain_down, confirmations, forget_wallet, produces
from tests.support.trade import PRICE, Trade


async def refund(trade: Trade, seller: Any, job: Any, transaction: str, **given: Any) -> Any:
    given |= {"job_id": job["id"], "transaction": transaction}
    return (await trade.market.answer("refund_job", given, key=seller.keys["test"])).error


@produces("refund_job", "invalid_transition")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, buyer, await trade.failed(seller, buyer), UNKNOWN)


@produces("refund_job", "not_paid")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.job_at("delivered", seller, buyer), UNKNOWN)


@produces("refund_job", "content_rejected")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.failed(seller, buyer), UNKNOWN, note=seller.keys["live"])


@produces("refund_job", "wallet_address_required")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(601)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)  # no frozen terms: all of it is owed
    await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": stray}, key=buyer.keys["test"])
    await forget_wallet(trade, seller)
    return await refund(trade, seller, job, UNKNOWN)


@produces("refund_job", "address_sanctioned")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    trade.market.sanctions.listed.add(buyer.wallet.address.lower())
    return await refund(trade, seller, job, UNKNOWN)


@produces("refund_job", "chain_unavailable")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    async with chain_down(trade):
        return await refund(trade, seller, job, UNKNOWN)


@produces("refund_job", "transaction_not_found")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.failed(seller, buyer), UNKNOWN)


@produces("refund_job", "transaction_pending")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    sent = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    confirmations(trade, 3)
    return await refund(trade, seller, job, sent)


@produces("refund_job", "payment_invalid")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    sent = trade.evm.transfer(seller.wallet, trade.evm.person(), PRICE)
    error = await refund(trade, seller, job, sent)
    assert (error["details"]["reason"], len(error["details"]["seen"])) == ("wrong_recipient", 1)
    return error


@produces("refund_job", "transaction_already_used")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    first, second = [await trade.failed(seller, buyer) for _ in range(2)]
    sent = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    assert await refund(trade, seller, first, sent) is None
    return await refund(trade, seller, second, sent.upper().replace("X", "x"))


@produces("list_settlements", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_settlements", by=await trade.market.register(), cursor="AAAA")
