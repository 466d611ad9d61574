"""Errors of purchases with one signed payment."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson

from storage.tables import AgentRow
from storage.vocabulary import Env
from tests.support.refusals import (
    chain_down,
    change_row,
    confirmations,
    forget_wallet,
    limited,
    live_agent,
    produces,
)
from tests.support.refusals.listings import COSTLY, LONG
from tests.support.trade import OFFER, PRICE, Trade
from tests.support.x402_client import Shop, opened_shop

Scene = Callable[[Shop], Awaitable[Any]]


def buying(code: str) -> Callable[[Scene], None]:
    """Register an error of a purchase; the scenario gets an open shop."""

    def register(scene: Scene) -> None:
        async def scenario(trade: Trade) -> Any:
            return await scene(await opened_shop(trade))

        produces("buy_with_x402", code)(scenario)

    return register


async def refused(shop: Shop, **given: Any) -> Any:
    answer = await shop.ask(**given)
    assert answer.refused, answer.body
    return orjson.loads(answer.body)["error"]


def claiming(code: str) -> Callable[[Callable[[Shop, Any], Awaitable[Any]]], None]:
    """Register an error of a claim.

    The scenario gets the shop and the account of a purchase, and returns the arguments of the claim.
    """

    def register(scene: Callable[[Shop, Any], Awaitable[Any]]) -> None:
        async def scenario(trade: Trade) -> Any:
            shop = await opened_shop(trade)
            given = await scene(shop, (await shop.bought())[1]["account"])
            return await trade.market.refusal("claim_x402_account", **given)

        produces("claim_x402_account", code)(scenario)

    return register


@claiming("wallet_signature_invalid")
async def _(shop: Shop, account: Any) -> Any:
    return shop.claim(account, text="something else")


@claiming("not_found")
async def _(shop: Shop, account: Any) -> Any:
    seller = account | {"agent_id": shop.seller.id}
    message = account["claim"]["message"].replace(account["agent_id"], shop.seller.id)
    return shop.claim(seller | {"claim": {"message": message}})


@claiming("already_claimed")
async def _(shop: Shop, account: Any) -> Any:
    await shop.claimed(account)
    return shop.claim(account)


@claiming("buyer_not_active")
async def _(shop: Shop, account: Any) -> Any:
    await shop.trade.market.as_operator("set_agent_status", agent_id=account["agent_id"], status="suspended")
    return shop.claim(account)


@claiming("public_key_in_use")
async def _(shop: Shop, account: Any) -> Any:
    me = await shop.trade.market.call("get_me", by=shop.seller)
    return shop.claim(account, public_key=me["public_key"])


@claiming("address_sanctioned")
async def _(shop: Shop, account: Any) -> Any:
    shop.trade.market.sanctions.listed.add(shop.wallet.address.lower())
    return shop.claim(account)


@claiming("chain_unavailable")
async def _(shop: Shop, account: Any) -> Any:
    shop.node.down = True
    return shop.claim(account, text="what only a contract could agree to")


async def selling(shop: Shop, **offer: Any) -> Shop:
    """Return the same shop with another listing."""
    return replace(shop, listing=await shop.trade.listing(shop.seller, **offer))


async def paying(shop: Shop, **given: Any) -> Any:
    """Return the error of a call with a payment."""
    return await refused(shop, pay=shop.sign(await shop.terms(given.get("given"))), **given)


@buying("not_found")
async def _(shop: Shop) -> Any:
    return await refused(replace(shop, listing={"id": "lst_1"}))


@buying("listing_unavailable")
async def _(shop: Shop) -> Any:
    await shop.trade.market.call("update_listing", by=shop.seller, listing_id=shop.listing["id"], status="paused")
    return await refused(shop)


@buying("input_schema_mismatch")
async def _(shop: Shop) -> Any:
    return await refused(shop, given={"text": 5})


@buying("schema_too_expensive")
async def _(shop: Shop) -> Any:
    return await refused(await selling(shop, input_schema=COSTLY, example_input=None), given=LONG)


@buying("payload_too_large")
async def _(shop: Shop) -> Any:
    return await refused(await selling(shop, input_schema=None, example_input=None), given={"text": "x" * 524_288})


@buying("content_rejected")
async def _(shop: Shop) -> Any:
    return await refused(shop, given={"text": shop.seller.keys["test"]})


@buying("seller_busy")
async def _(shop: Shop) -> Any:
    one = await selling(shop, max_open_jobs=1)
    await one.trade.order(await one.trade.agent("Bo"), one.listing)
    return await paying(one)


@buying("job_limit")
async def _(shop: Shop) -> Any:
    buyer = await limited(shop.trade, unfinished_jobs=1).agent("Bo", PRICE)
    await shop.trade.known(buyer)
    await shop.trade.order(buyer, shop.listing)
    return await paying(replace(shop, wallet=buyer.wallet))


@produces("buy_with_x402", "first_party_self_dealing")
async def _(trade: Trade) -> Any:
    shop = await opened_shop(trade)
    seller, buyer = await live_agent(trade, "Sela"), await live_agent(trade, "Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    world = trade.market.market.world
    chains = {Env.LIVE: world.chains[Env.TEST], **world.chains}
    trade.market.market.world = replace(world, chains=chains, facilitators=dict.fromkeys(Env, shop.relay))
    live = replace(shop, listing=listing, wallet=buyer.wallet, chain_id=8453)
    shop.relay.checks = ["yes"]  # the wallet is empty
    return await paying(live)


@produces("buy_with_x402", "not_implemented")
async def _(trade: Trade) -> Any:
    shop = await opened_shop(trade)
    trade.market.market.world = replace(trade.market.market.world, facilitators={})
    return await refused(shop)


@buying("x402_first_party_only")
async def _(shop: Shop) -> Any:
    return await refused(replace(shop, listing=await shop.trade.listing(await shop.trade.agent("Sela"))))


@buying("x402_needs_a_price")
async def _(shop: Shop) -> Any:
    return await refused(await selling(shop, price=0))


@buying("x402_upfront_not_supported")
async def _(shop: Shop) -> Any:
    return await refused(await selling(shop, payment="upfront"))


@buying("seller_has_no_wallet_address")
async def _(shop: Shop) -> Any:
    await forget_wallet(shop.trade, shop.seller)
    return await refused(shop)


@buying("address_sanctioned")
async def _(shop: Shop) -> Any:
    shop.trade.market.sanctions.listed.add(shop.wallet.address.lower())
    return await paying(shop)


@buying("buyer_not_active")
async def _(shop: Shop) -> Any:
    buyer = await shop.trade.agent("Bo", PRICE)
    await shop.trade.market.as_operator("set_agent_status", agent_id=buyer.id, status="suspended")
    return await paying(replace(shop, wallet=buyer.wallet))


@buying("chain_unavailable")
async def _(shop: Shop) -> Any:
    paid = shop.sign(await shop.terms())
    async with chain_down(shop.trade), shop.open():
        return await refused(shop, pay=paid)


@buying("transaction_pending")
async def _(shop: Shop) -> Any:
    confirmations(shop.trade, 5)
    paid = shop.sign(await shop.terms())
    async with shop.open():
        task = asyncio.create_task(refused(shop, pay=paid))
        while not shop.relay.sent:  # noqa: ASYNC110 - the transfer is made by another thread
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        shop.trade.market.pass_seconds(100)  # longer than a call waits for blocks
        return await task


@buying("x402_not_delivered")
async def _(shop: Shop) -> Any:
    paid = shop.sign(await shop.terms())
    async with shop.open(word="decline_job", reason="Not this text."):
        error = await refused(shop, pay=paid)
    assert error["message"].endswith(": Not this text.")
    return error


@buying("x402_timeout")
async def _(shop: Shop) -> Any:
    task = asyncio.create_task(refused(shop, pay=shop.sign(await shop.terms())))
    await shop.ordered()
    shop.trade.market.pass_seconds(91)
    return await task


@buying("x402_settle_failed")
async def _(shop: Shop) -> Any:
    shop.relay.told = ["down"]
    async with shop.open():
        return await paying(shop)


@buying("x402_insufficient_funds")
async def _(shop: Shop) -> Any:
    shop.relay.told = ["refuses"]
    async with shop.open():
        return await paying(shop)


@buying("x402_authorization_in_use")
async def _(shop: Shop) -> Any:
    return await paying(shop, gone=lambda: True)


@buying("x402_authorization_used")
async def _(shop: Shop) -> Any:
    paid, _ = await shop.bought()
    return await refused(shop, pay=paid, given={"text": "another"})
