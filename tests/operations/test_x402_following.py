"""The step that follows up payments: what it waits for, what goes wrong with one, what the operator took away keeps nothing else waiting."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.shopping import Relay, Shop, opened_shop
from tests.trading import PRICE, Trade
from tools.ports import Env, Settled
from tools.steps.purchases import LEASE


async def left(shop: Shop, *words: str) -> str:
    """A payment that the facilitator had and whose answer was lost, its client gone, due to be followed; its header."""
    paid = shop.sign(await shop.terms())
    shop.relay.told = list(words)
    async with shop.open():
        refused = await shop.ask(pay=paid)
    assert refused.refused, refused.body
    shop.trade.market.clock.pass_seconds(LEASE.total_seconds() + 1)
    return paid


async def comes(met: Callable[[], bool]) -> None:
    for _ in range(400):
        if met():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come about")


async def test_deadlines_do_not_wait_for_a_slow_facilitator(trade: Trade) -> None:
    shop, pulse = await opened_shop(trade), trade.market.market.pulse
    await left(shop, "forgets", "waits")
    running = asyncio.create_task(trade.market.workers.run())
    await shop.relay.at_it.wait()
    before = pulse.rounds
    await comes(lambda: pulse.rounds >= before + 2)
    assert shop.income == 0
    shop.relay.go_on.set()
    await comes(lambda: shop.income == PRICE)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_payment_that_goes_wrong_keeps_no_other_waiting(trade: Trade) -> None:
    shop = await opened_shop(trade)
    paid = [await left(shop, "forgets") for _ in range(2)]
    first = shop.relay.bodies[0]["paymentPayload"]["payload"]["authorization"]["nonce"]

    class Broken(Relay):
        async def settle(self, body: Mapping[str, Any]) -> Settled:
            if body["paymentPayload"]["payload"]["authorization"]["nonce"] == first:
                raise AssertionError("a fault of ours")
            return await super().settle(body)

    shop.relay = Broken(trade.evm, shop.relay.gas)
    market = trade.market.market
    market.world = replace(market.world, facilitators={Env.TEST: shop.relay})
    fault = (await asyncio.gather(trade.market.workers.settle(), return_exceptions=True))[0]
    assert isinstance(fault, AssertionError)
    assert shop.income == PRICE
    assert (await shop.ask(pay=paid[1])).status == 200


async def test_where_the_facilitator_was_taken_away_what_it_had_sent_is_found_and_what_it_had_not_is_kept(
    trade: Trade,
) -> None:
    shop = await opened_shop(trade)
    market = trade.market.market
    sent, unsent = await left(shop, "forgets"), await left(shop, "down")
    await asyncio.to_thread(shop.relay.send, shop.relay.bodies[0])
    market.world = replace(market.world, facilitators={})
    await trade.market.workers.settle()
    assert (await shop.ask(pay=sent)).status == 200
    refused = await shop.ask(pay=unsent)
    assert refused.error is not None
    assert (refused.error["code"], refused.error["retryable"]) == ("x402_settle_failed", True)
    assert "nothing was charged, and the payment was not handed over" in refused.error["message"]
    market.world = replace(market.world, facilitators={Env.TEST: shop.relay})
    assert (await shop.ask(pay=unsent)).status == 200
    assert shop.income == 2 * PRICE
