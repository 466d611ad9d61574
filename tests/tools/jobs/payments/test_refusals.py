"""The errors that operations of payments and refunds declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.payment_flows import plain
from tests.support.refusals import UNKNOWN, chain_down, confirmations, forget_wallet, prove, refusal, refused_stranger
from tests.support.trade import PRICE, Trade


async def refund(trade: Trade, seller: Any, job: Any, transaction: str, **given: Any) -> Any:
    given |= {"job_id": job["id"], "transaction": transaction}
    return (await trade.market.answer("refund_job", given, key=seller.keys["test"])).error


@refusal
async def test_pay_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "pay_job")


@refusal
async def test_refund_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "refund_job", transaction=UNKNOWN)


@refusal
async def test_pay_job_settle_it_yourself(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    answer = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"], payment="AAAA")
    return answer.error


@refusal
async def test_pay_job_invalid_transition(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    return await trade.market.refusal("pay_job", by=seller, job_id=job["id"])


@refusal
async def test_pay_job_wallet_address_required(trade: Trade) -> Any:
    seller, buyer = await trade.agent("Sela"), await trade.market.register("Bo")
    job = await trade.job_at("delivered", seller, buyer)
    return await prove(trade, buyer, job, UNKNOWN)


@refusal
async def test_pay_job_seller_has_no_wallet_address(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await forget_wallet(trade, seller)
    trade.market.pass_seconds(601)  # the terms were not frozen before it expired
    return await prove(trade, buyer, job, UNKNOWN)


@refusal
async def test_pay_job_address_sanctioned(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    trade.market.sanctions.listed.add(seller.wallet.address.lower())
    return await prove(trade, buyer, job, UNKNOWN)


@refusal
async def test_pay_job_chain_unavailable(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with chain_down(trade):
        return await prove(trade, buyer, job, UNKNOWN)


@refusal
async def test_pay_job_transaction_not_found(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await prove(trade, buyer, await trade.job_at("delivered", seller, buyer), UNKNOWN)


@refusal
async def test_pay_job_transaction_pending(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    confirmations(trade, 3)
    error = await prove(trade, buyer, job, sent)
    assert error["details"] == {"confirmations": 1, "required": 3, "retry_after_seconds": 4}
    return error


@refusal
async def test_pay_job_payment_invalid(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    error = await prove(trade, buyer, job, plain(trade.evm, buyer.wallet, trade.evm.person(), 5))
    assert (error["details"]["reason"], len(error["details"]["seen"])) == ("wrong_recipient", 1)
    return error


@refusal
async def test_pay_job_transaction_already_used(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    first, second = [await trade.job_at("delivered", seller, buyer) for _ in range(2)]
    sent = await trade.send(buyer, first)
    await trade.market.call("pay_job", by=buyer, job_id=first["id"], transaction=sent)
    return await prove(trade, buyer, second, sent.upper().replace("X", "x"))


@refusal
async def test_pay_job_job_not_payable(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await prove(trade, buyer, await trade.job_at("in_progress", seller, buyer), UNKNOWN)


@refusal
async def test_refund_job_invalid_transition(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, buyer, await trade.failed(seller, buyer), UNKNOWN)


@refusal
@covers("error.more.not_paid")
async def test_refund_job_not_paid(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.job_at("delivered", seller, buyer), UNKNOWN)


@refusal
@covers("error.code.content_rejected")
async def test_refund_job_content_rejected(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.failed(seller, buyer), UNKNOWN, note=seller.keys["live"])


@refusal
async def test_refund_job_wallet_address_required(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(601)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)  # no frozen terms: all of it is owed
    await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": stray}, key=buyer.keys["test"])
    await forget_wallet(trade, seller)
    return await refund(trade, seller, job, UNKNOWN)


@refusal
async def test_refund_job_address_sanctioned(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    trade.market.sanctions.listed.add(buyer.wallet.address.lower())
    return await refund(trade, seller, job, UNKNOWN)


@refusal
async def test_refund_job_chain_unavailable(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    async with chain_down(trade):
        return await refund(trade, seller, job, UNKNOWN)


@refusal
async def test_refund_job_transaction_not_found(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refund(trade, seller, await trade.failed(seller, buyer), UNKNOWN)


@refusal
async def test_refund_job_transaction_pending(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    sent = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    confirmations(trade, 3)
    return await refund(trade, seller, job, sent)


@refusal
async def test_refund_job_payment_invalid(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    sent = trade.evm.transfer(seller.wallet, trade.evm.person(), PRICE)
    error = await refund(trade, seller, job, sent)
    assert (error["details"]["reason"], len(error["details"]["seen"])) == ("wrong_recipient", 1)
    return error


@refusal
async def test_refund_job_transaction_already_used(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    first, second = [await trade.failed(seller, buyer) for _ in range(2)]
    sent = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    assert await refund(trade, seller, first, sent) is None
    return await refund(trade, seller, second, sent.upper().replace("X", "x"))


@refusal
@covers("error.more.invalid_cursor")
async def test_list_settlements_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_settlements", by=await trade.market.register(), cursor="AAAA")
