"""Buying from the operator with one signed payment: quoted, signed, worked, settled, told; and told again for nothing."""

import orjson
import pytest

from tests.shopping import WORK, Shop, opened_shop
from tests.trading import PRICE, Trade


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def test_one_payment_buys_the_work_and_makes_an_agent_for_the_wallet(shop: Shop) -> None:
    before = shop.income
    _, result = await shop.bought()
    assert (result["object"], result["output"], result["listing_id"]) == ("x402_result", WORK, shop.listing["id"])
    assert shop.income - before == PRICE == result["paid"]["amount"]
    assert (result["paid"]["payer"], result["paid"]["pay_to"]) == (shop.wallet.address, shop.seller.wallet.address)
    assert result["paid"]["transaction"] == shop.relay.sent[0]
    key = result["account"]["api_keys"]["test"]
    me = orjson.loads((await shop.trade.market.answer("get_me", key=key)).body)
    assert (me["id"], me["wallet_address"]) == (result["account"]["agent_id"], shop.wallet.address)
    job = orjson.loads((await shop.trade.market.answer("get_job", {"job_id": result["job_id"]}, key=key)).body)
    assert (job["status"], job["payment"]["status"], job["output"]) == ("completed", "paid", WORK)
