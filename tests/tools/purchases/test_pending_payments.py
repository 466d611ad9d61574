"""The worker step that follows up payments: waits, failures, and a facilitator removed from the settings."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest

from storage.vocabulary import Env
from tests.support import payment_flows
from tests.support.evm import Evm, pack
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import Relay, Shop, opened_shop
from tools.engine.ports import SettleNotSent, SettleResult
from tools.purchases.logic import LEASE


class Slow(Relay):
    """A facilitator whose first settlement fails late, with the payment not sent."""

    async def settle(self, body: Mapping[str, Any]) -> SettleResult:
        if not self.at_it.is_set():
            self.at_it.set()
            await self.go_on.wait()
            raise SettleNotSent("ClientConnectorError")
        return await super().settle(body)


async def left(shop: Shop, *words: str) -> str:
    """Lose the facilitator's answer and the client; return the payment, due to be followed."""
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
    shop, pulse = await opened_shop(trade), trade.market.market.services.health
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
    paid = []
    for _ in range(3):
        shop.wallet = trade.evm.person(PRICE, gas=False)
        paid.append(await left(shop, "forgets"))
    first = shop.relay.bodies[0]["paymentPayload"]["payload"]["authorization"]["nonce"]

    class Broken(Relay):
        async def settle(self, body: Mapping[str, Any]) -> SettleResult:
            if body["paymentPayload"]["payload"]["authorization"]["nonce"] == first:
                raise AssertionError("a fault of ours")
            return await super().settle(body)

    shop.relay = Broken(trade.evm, shop.relay.gas)
    market = trade.market.market
    market.services.world = replace(market.world, facilitators={Env.TEST: shop.relay})
    fault = (await asyncio.gather(trade.market.workers.follow_up_purchases(), return_exceptions=True))[0]
    assert isinstance(fault, AssertionError)
    assert shop.income == 2 * PRICE
    assert [(await shop.ask(pay=one)).status for one in paid[1:]] == [200, 200]


async def test_where_the_facilitator_was_taken_away_what_it_had_sent_is_found_and_what_it_had_not_is_kept(
    trade: Trade,
) -> None:
    shop = await opened_shop(trade)
    market = trade.market.market
    sent, unsent = await left(shop, "forgets"), await left(shop, "down")
    await asyncio.to_thread(shop.relay.send, shop.relay.bodies[0])
    market.services.world = replace(market.world, facilitators={})
    await trade.market.workers.follow_up_purchases()
    assert (await shop.ask(pay=sent)).status == 200
    refused = await shop.ask(pay=unsent)
    assert refused.error is not None
    assert (refused.error["code"], refused.error["retryable"]) == ("x402_settle_failed", True)
    assert "nothing was charged, and the payment was not handed over" in refused.error["message"]
    market.services.world = replace(market.world, facilitators={Env.TEST: shop.relay})
    assert (await shop.ask(pay=unsent)).status == 200
    assert shop.income == 2 * PRICE


@dataclass
class SlowSubmission:
    """A payment whose first submission is slow, in a call that waits; its lease has expired."""

    shop: Shop
    slow: Slow
    paid: str
    call: asyncio.Task[Any]


@pytest.fixture
async def submission(trade: Trade) -> SlowSubmission:
    shop = await opened_shop(trade)
    slow = Slow(trade.evm, shop.relay.gas)
    shop.relay, market = slow, trade.market.market
    market.services.world = replace(market.world, facilitators={Env.TEST: slow})
    paid = shop.sign(await shop.terms())
    async with shop.open():
        call = asyncio.create_task(shop.ask(pay=paid))
        await slow.at_it.wait()
    trade.market.pass_seconds(LEASE.total_seconds() + 1)
    return SlowSubmission(shop, slow, paid, call)


async def test_who_hears_late_that_it_was_not_sent_takes_back_nothing_that_another_has_sent(
    trade: Trade, submission: SlowSubmission
) -> None:
    """Its lease expired while it was slow, so its late result must not undo another's."""
    shop, slow, paid, call = submission.shop, submission.slow, submission.paid, submission.call
    slow.told, shop.node.down = ["lost"], True
    await trade.market.workers.follow_up_purchases()
    assert shop.income == PRICE
    slow.go_on.set()
    refused = await call
    assert refused.error is not None
    assert (refused.error["code"], refused.error["retryable"]) == ("chain_unavailable", True)
    shop.node.down = False
    trade.market.pass_seconds(900)
    await trade.market.workers.follow_up_purchases()
    answer = await shop.ask(pay=paid)
    assert (answer.status, shop.income) == (200, PRICE)


async def test_a_clock_that_goes_back_does_not_take_back_a_payment_that_another_process_submits(
    trade: Trade, submission: SlowSubmission
) -> None:
    """The other process has leased the payment and ends before it writes the result."""
    shop, slow, paid, call = submission.shop, submission.slow, submission.paid, submission.call
    await slow.turn.acquire()  # the second submission waits here
    other = asyncio.create_task(trade.market.workers.follow_up_purchases())
    await comes(lambda: len(slow.bodies) == 1)
    trade.market.pass_seconds(-LEASE.total_seconds() - 1)
    slow.go_on.set()
    refused = await call
    assert refused.error is not None
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    await asyncio.to_thread(slow.send, slow.bodies[0])
    slow.turn.release()
    trade.market.pass_seconds(900)
    await trade.market.workers.follow_up_purchases()
    answer = await shop.ask(pay=paid)
    assert (answer.status, shop.income) == (200, PRICE)


async def test_who_waits_when_the_market_stops_is_told_so_and_charged_nothing(trade: Trade) -> None:
    shop, notifier = await opened_shop(trade), trade.market.market.services.notifier
    paid = shop.sign(await shop.terms())
    call = asyncio.create_task(shop.ask(pay=paid))
    await comes(lambda: bool(notifier.streams))
    notifier.close()
    refused = await call
    assert refused.error is not None
    assert (refused.error["code"], refused.error["retryable"]) == ("x402_authorization_in_use", True)
    assert refused.error["message"] == "the market is stopping; nothing was charged yet"
    notifier.closed = False  # the market serves again
    async with shop.open():
        assert (await shop.ask(pay=paid)).status == 200
    assert (shop.income, len(shop.relay.bodies)) == (PRICE, 1)


async def test_of_two_payments_taken_in_one_transaction_one_is_recorded_and_the_other_ends(trade: Trade) -> None:
    """A payer may submit both itself; the second must not be looked for without end."""
    shop = await opened_shop(trade)
    paid = [await left(shop, "forgets") for _ in range(2)]
    sent = shop.trade.evm.receipt(together(trade.evm, shop.relay.bodies))
    assert (sent["status"], shop.income) == ("0x1", 2 * PRICE)
    first, second = [await shop.ask(pay=one) for one in paid]
    assert orjson.loads(first.body)["paid"]["transaction"] == sent["transactionHash"]
    assert second.error is not None
    assert second.error["details"]["transaction"] == sent["transactionHash"]
    assert (second.error["code"], second.error["retryable"]) == ("x402_not_delivered", False)
    assert "the seller owes this one back" in second.error["message"]
    assert "report_support" in second.error["hint"]
    bought, ended = reversed(await shop.orders())
    (recorded,) = (await trade.market.call("list_settlements", by=shop.seller))["data"]
    assert (recorded["job_id"], recorded["amount"]) == (bought["id"], 2 * PRICE), (
        "so that what is owed is on the record"
    )
    assert (ended["status"], ended["output_sealed"]) == ("cancelled", True)
    trade.market.pass_seconds(3600)
    assert await trade.market.workers.follow_up_purchases() == 0


def together(evm: Evm, bodies: list[Any]) -> str:
    """Submit several payments in one transaction; return its hash."""
    calls, sender = [], payment_flows.smart_wallet(evm)
    for body in bodies:
        payload = body["paymentPayload"]["payload"]
        one = payload["authorization"]
        values = one["from"], one["to"], int(one["value"]), int(one["validAfter"]), int(one["validBefore"])
        signed = *values, bytes.fromhex(one["nonce"][2:]), bytes.fromhex(payload["signature"][2:])
        calls.append((evm.usdc, 0, pack(f"transferWithAuthorization{payment_flows._AUTHORIZED}bytes)", *signed)))
    batch = pack("executeBatch((address,uint256,bytes)[])", calls)
    return evm.send(sender.owner, sender.address, batch, gas=1_500_000)
