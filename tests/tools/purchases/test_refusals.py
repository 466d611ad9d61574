"""The errors that operations of purchases with one signed payment declare: a call produces each."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from storage.tables import AgentRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.support.archives import mark_archived
from tests.support.refusals import (
    COSTLY,
    LONG,
    chain_down,
    change_row,
    confirmations,
    fill,
    forget_wallet,
    limited,
    live_agent,
    refusal,
)
from tests.support.trade import OFFER, PRICE, Trade
from tests.support.x402_client import Shop, opened_shop


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def refused(shop: Shop, **given: Any) -> Any:
    answer = await shop.ask(**given)
    assert answer.refused, answer.body
    return orjson.loads(answer.body)["error"]


async def selling(shop: Shop, **offer: Any) -> Shop:
    """Return the same shop with another listing."""
    return replace(shop, listing=await shop.trade.listing(shop.seller, **offer))


async def paying(shop: Shop, **given: Any) -> Any:
    """Return the error of a call with a payment."""
    return await refused(shop, pay=shop.sign(await shop.terms(given.get("given"))), **given)


async def refused_claim(shop: Shop, given: dict[str, Any]) -> Any:
    return await shop.trade.market.refusal("claim_x402_account", **given)


@refusal
async def test_claim_x402_account_wallet_signature_invalid(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    return await refused_claim(shop, shop.claim(account, text="something else"))


@refusal
async def test_claim_x402_account_not_found(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    seller = account | {"agent_id": shop.seller.id}
    message = account["claim"]["message"].replace(account["agent_id"], shop.seller.id)
    return await refused_claim(shop, shop.claim(seller | {"claim": {"message": message}}))


@refusal
async def test_claim_x402_account_already_claimed(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    await shop.claimed(account)
    return await refused_claim(shop, shop.claim(account))


@refusal
@covers("error.decided.buyer_not_active")
async def test_claim_x402_account_buyer_not_active(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    await shop.trade.market.as_operator("set_agent_status", agent_id=account["agent_id"], status="suspended")
    return await refused_claim(shop, shop.claim(account))


@refusal
@covers("error.more.public_key_in_use")
async def test_claim_x402_account_public_key_in_use(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    me = await shop.trade.market.call("get_me", by=shop.seller)
    return await refused_claim(shop, shop.claim(account, public_key=me["public_key"]))


@refusal
async def test_claim_x402_account_address_sanctioned(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    shop.trade.market.sanctions.listed.add(shop.wallet.address.lower())
    return await refused_claim(shop, shop.claim(account))


@refusal
async def test_claim_x402_account_chain_unavailable(shop: Shop) -> Any:
    account = (await shop.bought())[1]["account"]
    shop.node.down = True
    return await refused_claim(shop, shop.claim(account, text="what only a contract could agree to"))


@refusal
async def test_buy_with_x402_not_found(shop: Shop) -> Any:
    return await refused(replace(shop, listing={"id": "lst_1"}))


@refusal
@covers("error.more.listing_unavailable")
async def test_buy_with_x402_listing_unavailable(shop: Shop) -> Any:
    await shop.trade.market.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], status="paused")
    return await refused(shop)


@refusal
@covers("error.more.input_schema_mismatch")
async def test_buy_with_x402_input_schema_mismatch(shop: Shop) -> Any:
    return await refused(shop, given={"text": 5})


@refusal
async def test_buy_with_x402_schema_too_expensive(shop: Shop) -> Any:
    return await refused(await selling(shop, input_schema=COSTLY, example_input=None), given=LONG)


@refusal
async def test_buy_with_x402_payload_too_large(shop: Shop) -> Any:
    return await refused(await selling(shop, input_schema=None, example_input=None), given={"text": "x" * 524_288})


@refusal
@covers("error.code.content_rejected")
async def test_buy_with_x402_content_rejected(shop: Shop) -> Any:
    return await refused(shop, given={"text": shop.seller.keys["test"]})


@refusal
@covers("error.more.seller_busy")
async def test_buy_with_x402_seller_busy(shop: Shop) -> Any:
    one = await selling(shop, max_open_jobs=1)
    await one.trade.order(await one.trade.agent("Bo"), one.listing)
    return await paying(one)


@refusal
@covers("error.more.job_limit")
async def test_buy_with_x402_job_limit(shop: Shop) -> Any:
    buyer = await limited(shop.trade, unfinished_jobs=1).agent("Bo", PRICE)
    await shop.trade.known(buyer)
    await shop.trade.order(buyer, shop.listing)
    return await paying(replace(shop, wallet=buyer.wallet))


@refusal
@covers("error.code.first_party_self_dealing", "invariant.8.self_dealing")
async def test_buy_with_x402_first_party_self_dealing(trade: Trade) -> Any:
    shop = await opened_shop(trade)
    seller, buyer = await live_agent(trade, "Sela"), await live_agent(trade, "Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    world = trade.market.market.world
    chains = {Env.LIVE: world.chains[Env.TEST], **world.chains}
    trade.market.market.services.world = replace(world, chains=chains, facilitators=dict.fromkeys(Env, shop.relay))
    live = replace(shop, listing=listing, wallet=buyer.wallet, chain_id=8453)
    shop.relay.checks = ["yes"]  # the wallet is empty
    return await paying(live)


@refusal
@covers("error.code.not_implemented")
async def test_buy_with_x402_not_implemented(trade: Trade) -> Any:
    shop = await opened_shop(trade)
    trade.market.market.services.world = replace(trade.market.market.world, facilitators={})
    return await refused(shop)


@refusal
@covers("error.decided.x402_first_party_only")
async def test_buy_with_x402_x402_first_party_only(shop: Shop) -> Any:
    return await refused(replace(shop, listing=await shop.trade.listing(await shop.trade.agent("Sela"))))


@refusal
@covers("error.decided.x402_needs_a_price")
async def test_buy_with_x402_x402_needs_a_price(shop: Shop) -> Any:
    return await refused(await selling(shop, price=0))


@refusal
@covers("error.decided.x402_upfront_not_supported")
async def test_buy_with_x402_x402_upfront_not_supported(shop: Shop) -> Any:
    return await refused(await selling(shop, payment="upfront"))


@refusal
async def test_buy_with_x402_seller_has_no_wallet_address(shop: Shop) -> Any:
    await forget_wallet(shop.trade, shop.seller)
    return await refused(shop)


@refusal
async def test_buy_with_x402_address_sanctioned(shop: Shop) -> Any:
    shop.trade.market.sanctions.listed.add(shop.wallet.address.lower())
    return await paying(shop)


@refusal
@covers("error.decided.buyer_not_active")
async def test_buy_with_x402_buyer_not_active(shop: Shop) -> Any:
    buyer = await shop.trade.agent("Bo", PRICE)
    await shop.trade.market.as_operator("set_agent_status", agent_id=buyer.id, status="suspended")
    return await paying(replace(shop, wallet=buyer.wallet))


@refusal
async def test_buy_with_x402_chain_unavailable(shop: Shop) -> Any:
    paid = shop.sign(await shop.terms())
    async with chain_down(shop.trade), shop.open():
        return await refused(shop, pay=paid)


@refusal
async def test_buy_with_x402_transaction_pending(shop: Shop) -> Any:
    confirmations(shop.trade, 5)
    paid = shop.sign(await shop.terms())
    async with shop.open():
        task = asyncio.create_task(refused(shop, pay=paid))
        while not shop.relay.sent:  # noqa: ASYNC110 - the transfer is made by another thread
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        shop.trade.market.pass_seconds(100)  # longer than a call waits for blocks
        return await task


@refusal
@covers("error.decided.x402_not_delivered")
async def test_buy_with_x402_x402_not_delivered(shop: Shop) -> Any:
    paid = shop.sign(await shop.terms())
    async with shop.open(word="decline_job", reason="Not this text."):
        error = await refused(shop, pay=paid)
    assert error["message"].endswith(": Not this text.")
    return error


@refusal
@covers("error.decided.x402_timeout")
async def test_buy_with_x402_x402_timeout(shop: Shop) -> Any:
    task = asyncio.create_task(refused(shop, pay=shop.sign(await shop.terms())))
    await shop.ordered()
    shop.trade.market.pass_seconds(91)
    return await task


@refusal
async def test_buy_with_x402_x402_settle_failed(shop: Shop) -> Any:
    shop.relay.told = ["down"]
    async with shop.open():
        return await paying(shop)


@refusal
async def test_buy_with_x402_x402_insufficient_funds(shop: Shop) -> Any:
    shop.relay.told = ["refuses"]
    async with shop.open():
        return await paying(shop)


@refusal
async def test_buy_with_x402_x402_authorization_in_use(shop: Shop) -> Any:
    return await paying(shop, gone=lambda: True)


@refusal
@covers("error.decided.x402_authorization_used")
async def test_buy_with_x402_x402_authorization_used(shop: Shop) -> Any:
    paid, _ = await shop.bought()
    return await refused(shop, pay=paid, given={"text": "another"})


@refusal
async def test_buy_with_x402_storage_full(shop: Shop) -> Any:
    buyer = await shop.trade.agent("Bo", PRICE)
    await fill(shop.trade, buyer)
    return await paying(replace(shop, wallet=buyer.wallet))


@refusal
async def test_buy_with_x402_archived(shop: Shop) -> Any:
    paid, result = await shop.bought()
    await mark_archived(shop.trade.market, result["job_id"])
    return await refused(shop, pay=paid)
