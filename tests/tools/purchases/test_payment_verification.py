"""The facilitator checks a payment before any work begins; an invalid payment leaves no rows."""

import asyncio
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from storage.query import Query
from storage.rows import metadata
from tests.requirements import covers
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Relay, Shop, opened_shop
from tests.tools.operator.test_aggregate_checks import differing
from tests.tools.purchases.test_workflow_failures import SIGNED_FOR, left_behind, until_over

DAY = 86_400


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def rows(shop: Shop, table: str) -> list[Any]:
    return list(await shop.trade.market.store.read(lambda tx: tx.all(Query(select(metadata.tables[table])))))


async def buying(shop: Shop, paid: str, given: Any = None) -> tuple[int, Any]:
    async with shop.open():
        answer = await shop.ask(given, pay=paid)
    return answer.status, orjson.loads(answer.body)


@covers("second.empty.refused")
async def test_an_empty_wallet_is_refused_before_any_work_and_may_be_filled(shop: Shop) -> None:
    shop.wallet = shop.trade.evm.person(gas=False)
    paid, agents = shop.sign(await shop.terms()), await rows(shop, "agents")
    status, refused = await buying(shop, paid)
    assert (status, refused["error"], refused["required"]["error"]) == (402, "insufficient_funds", "insufficient_funds")
    assert "Nothing was begun" in refused["hint"]
    assert (await shop.orders(), await rows(shop, "agents"), shop.relay.bodies) == ([], agents, [])
    shop.trade.evm.fund(shop.wallet, PRICE)
    assert (await buying(shop, paid, {"text": "another"}))[0] == 200, "nothing was begun, so the order may change"


@covers("second.empty.unreachable")
@pytest.mark.parametrize("word", ["down", "silent"])
async def test_where_the_facilitator_does_not_answer_nothing_is_begun(
    shop: Shop, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.purchases.payment_verification.CHECK_SECONDS", 0.2 if word == "silent" else 5.0)
    shop.relay.checks, paid, agents = [word], shop.sign(await shop.terms()), await rows(shop, "agents")
    status, refused = await buying(shop, paid)
    assert (status, refused["error"]["code"], refused["error"]["retryable"]) == (502, "chain_unavailable", True)
    assert "nothing was begun and nothing was charged" in refused["error"]["message"]
    assert (await shop.orders(), await rows(shop, "agents"), shop.relay.bodies) == ([], agents, [])
    assert (await buying(shop, paid))[1]["output"] == WORK


@covers("second.empty.row_first")
async def test_the_row_stands_before_the_facilitator_is_asked_and_one_call_asks_at_a_time(trade: Trade) -> None:
    shop = await opened_shop(trade)
    seen = list[tuple[str, str, str]]()

    class Looking(Relay):
        async def verify(self, body: Any) -> str | None:
            (row,) = await rows(shop, "purchases")
            seen.append((row.status, row.agent_id, row.job_id))
            return await super().verify(body)

    shop.relay.__class__ = Looking
    paid = shop.sign(await shop.terms())
    async with shop.open():
        answers = await asyncio.gather(*(shop.ask(pay=paid) for _ in range(3)))
    assert [one.status for one in answers] == [200] * 3
    assert seen == [("checking", "", "")]


@covers("second.empty.forgotten")
async def test_what_was_never_paid_is_deleted_with_its_buyer_after_a_day(shop: Shop) -> None:
    agents = len(await rows(shop, "agents"))
    shop.relay.told, paid = ["refuses"] * 200, shop.sign(await shop.terms())
    assert (await buying(shop, paid))[0] == 409
    assert len(await rows(shop, "agents")) == agents + 1
    (unpaid,) = await shop.orders()
    await until_over(shop)
    assert len(await rows(shop, "purchases")) == 1
    shop.trade.market.pass_seconds(DAY)
    await shop.trade.market.workers.follow_up_purchases()
    tables = ("purchases", "x402_accounts", "settlements")
    assert ({one: await rows(shop, one) for one in tables}, len(await rows(shop, "agents"))) == (
        {one: [] for one in tables}, agents,
    )  # fmt: skip
    assert unpaid["buyer"]["handle"] not in [one.handle for one in await rows(shop, "handles")]
    market = shop.trade.market
    for operation in ("get_job", "get_receipt"):
        assert "(gone)" in str(await market.call(operation, by=shop.seller, job_id=unpaid["id"]))
    assert (await market.call("get_thread", by=shop.seller, thread_id=unpaid["thread_id"]))["job_id"] == unpaid["id"]
    assert await differing(market.store) == {}


@covers("second.empty.forgotten")
async def test_a_wallet_that_has_paid_keeps_its_account_and_a_check_without_an_order_goes(shop: Shop) -> None:
    _, bought = await shop.bought()
    await left_behind(shop, shop.sign(await shop.terms()))
    shop.relay.checks = ["insufficient_funds"]
    assert (await buying(shop, shop.sign(await shop.terms())))[0] == 402
    assert sorted(one.status for one in await rows(shop, "purchases")) == ["checking", "paid", "working"]
    await until_over(shop)
    shop.trade.market.pass_seconds(DAY)
    await shop.trade.market.workers.follow_up_purchases()
    assert [one.status for one in await rows(shop, "purchases")] == ["paid"]
    assert (await shop.claimed(bought["account"])).id == bought["account"]["agent_id"]


@covers("second.empty.left")
async def test_an_order_whose_client_has_gone_is_cancelled_after_a_minute(shop: Shop) -> None:
    paid = shop.sign(await shop.terms())
    job = await left_behind(shop, paid)
    for seconds, status in ((59, "open"), (2, "cancelled")):
        shop.trade.market.pass_seconds(seconds)
        await shop.trade.market.workers.follow_up_purchases()
        assert (await shop.orders())[0]["status"] == status
    refused = await shop.trade.market.refusal("accept_job", by=shop.seller, job_id=job["id"])
    assert refused["code"] == "invalid_transition"
    status, answer = await buying(shop, paid)
    assert (status, answer["error"]["code"], shop.relay.bodies) == (409, "x402_authorization_used", [])


@covers("second.empty.left")
async def test_the_same_payment_again_keeps_an_order_open(shop: Shop) -> None:
    paid = shop.sign(await shop.terms())
    await left_behind(shop, paid)
    shop.trade.market.pass_seconds(50)
    assert (await shop.ask(pay=paid, gone=lambda: True)).status == 409
    shop.trade.market.pass_seconds(30)
    await shop.trade.market.workers.follow_up_purchases()
    assert (await shop.orders())[0]["status"] == "open"
    assert (await buying(shop, paid))[1]["output"] == WORK


@covers("second.empty.left")
async def test_a_client_that_waits_keeps_its_order_open(shop: Shop) -> None:
    call = asyncio.create_task(shop.ask(INPUT, pay=shop.sign(await shop.terms())))
    await shop.ordered()
    for _ in range(4):
        shop.trade.market.pass_seconds(20)
        await asyncio.sleep(1.2)  # two polls of the waiting call
        await shop.trade.market.workers.follow_up_purchases()
    assert (await shop.orders())[0]["status"] == "open"
    async with shop.open():
        assert (await call).status == 200
    assert SIGNED_FOR > 4 * 20
