"""Hostile buyers with one signed payment: lying or gas-burning contracts, replays from the chain, many payments."""

import asyncio
from typing import Any

import orjson
import pytest
from eth_utils.address import to_checksum_address

from tests.requirements import covers
from tests.support import payment_flows
from tests.support.evm import Evm
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import WORK, Shop, opened_shop
from tools.engine.idempotency import Response
from tools.purchases.quotes import header

YES = "7f1626ba7e" + 28 * "00" + "60005260206000f3"  # returns EIP-1271's success value for every call
FOR_EVER = "5b600056"
ECHO = "0x0000000000000000000000000000000000000004"  # precompile: returns its input, which begins with the selector
SIGNATURE_FAULT = "invalid_exact_evm_payload_signature"


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


def deployed(evm: Evm, runtime: str) -> str:
    code = bytes.fromhex(runtime)
    copies = bytes.fromhex(f"60{len(code):02x}80600b6000396000f3")
    sent = evm.send(evm.person(), None, copies + code)
    return to_checksum_address(evm.receipt(sent)["contractAddress"])


async def bought_by(shop: Shop, payer: str, **beside: Any) -> Response:
    paid = shop.sign(await shop.terms(), **beside, **{"from": payer})
    async with shop.open():
        return await shop.ask(pay=paid)


def told(answer: Response) -> Any:
    return orjson.loads(answer.body)


async def test_a_contract_wallet_buys_with_its_owners_signature(shop: Shop) -> None:
    wallet = payment_flows.smart_wallet(shop.trade.evm, PRICE)
    answer = await bought_by(shop, wallet.address, signer=wallet.owner)
    assert (answer.status, told(answer)["output"], told(answer)["paid"]["payer"]) == (200, WORK, wallet.address)
    assert shop.trade.evm.balance(wallet.address) == 0


@pytest.mark.parametrize("payer", ["burns", "echoes", "is empty"])
async def test_who_does_not_say_yes_as_eip_1271_wants_it_has_not_signed(shop: Shop, payer: str) -> None:
    evm = shop.trade.evm
    there = {"burns": lambda: deployed(evm, FOR_EVER), "echoes": lambda: ECHO, "is empty": lambda: evm.person().address}
    answer = await bought_by(shop, there[payer]())
    assert (answer.status, told(answer)["error"]) == (402, SIGNATURE_FAULT)
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


async def test_a_contract_that_says_yes_to_everything_gets_nothing_for_nothing(shop: Shop) -> None:
    """The signature is accepted, but the wallet has no money, so no work begins."""
    income = shop.income
    answer = await bought_by(shop, deployed(shop.trade.evm, YES))
    assert (answer.status, told(answer)["error"]) == (402, "insufficient_funds")
    assert (await shop.orders(), shop.income, shop.relay.bodies) == ([], income, [])


@covers("second.account.relayed")
async def test_what_a_stranger_reads_from_the_chain_gets_it_no_keys_and_no_other_order(shop: Shop) -> None:
    """A stranger that replays the payment with the same input gets only the same result."""
    _, result = await shop.bought()
    seen = shop.relay.bodies[0]["paymentPayload"]["payload"]
    forged = header({"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": seen})
    guessed = await shop.ask(pay=forged, ip="198.51.100.9")
    assert told(guessed)["paid"] == result["paid"]
    missed = await shop.ask({"text": "something else"}, pay=forged)
    assert missed.error is not None
    assert missed.error["code"] == "x402_authorization_used"
    assert (len(await shop.orders()), len(shop.relay.bodies)) == (1, 1)


@pytest.mark.parametrize("word", ["honest", "lies"])
async def test_a_payment_that_was_taken_before_it_was_brought_here_buys_nothing(shop: Shop, word: str) -> None:
    """The transfer paid for another sale; the facilitator may name it as this payment's."""
    one = shop.payload(await shop.terms())
    sent = await asyncio.to_thread(shop.relay.send, {"paymentPayload": one})
    assert sent is not None
    shop.relay.told, shop.relay.lie, income = [word], sent, shop.income
    async with shop.open():
        refused = await shop.ask(pay=header(one))
    assert (refused.status, refused.error is not None and refused.error["code"]) == (409, "x402_settle_failed")
    (job,) = await shop.orders()
    assert (job["output_sealed"], job["payment"]["status"], shop.income) == (True, "due", income)


async def test_many_payments_of_one_new_wallet_at_once_are_booked_on_one_account(shop: Shop) -> None:
    """The wallet can pay two of them; the others' results are not revealed."""
    shop.wallet = shop.trade.evm.person(3 * PRICE, gas=False)
    await shop.bought()  # a wallet holds one place until it has paid once
    paid, income = [shop.sign(await shop.terms()) for _ in range(5)], shop.income
    async with shop.open():
        answers = await asyncio.gather(*(shop.ask(pay=one) for one in paid))
    done = [told(one) for one in answers if one.status == 200]
    assert (len(done), shop.income - income) == (2, 2 * PRICE)
    assert len({one["account"]["agent_id"] for one in done}) == 1
    assert len({one["paid"]["transaction"] for one in done}) == 2
    refused = [one.error["code"] for one in answers if one.error is not None]
    assert set(refused) <= {"x402_settle_failed", "seller_busy"}
    assert len(refused) == 3
