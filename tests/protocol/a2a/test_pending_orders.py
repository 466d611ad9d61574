"""Tasks of purchases over A2A: a payment that came before is never followed by new terms, and its task stays readable."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from protocol.a2a import payment as x402
from protocol.a2a.pending_orders import PREFIX, SUBMITTED, PendingOrder, PendingOrders, Progress, mark_of
from protocol.a2a.purchases import ANOTHER, NOT_REJECTED
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.tasks import FORGOTTEN
from tests.protocol.a2a.test_purchases import ACTIVE, asked, buyer, order, pay, task_of
from tests.support.a2a_requests import RPC_1, A2a, Heard
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Shop, opened_shop
from tools.purchases.quotes import header

OFFER = Progress("TASK_STATE_INPUT_REQUIRED", {x402.STATUS: "payment-required"}, "Pay.")
DONE = Progress("TASK_STATE_COMPLETED", {x402.STATUS: "payment-completed"}, "Bought.", {"output": WORK})
FAILED = Progress("TASK_STATE_FAILED", {x402.STATUS: "payment-failed"}, "The work did not come.")
MINE, THEIRS = "203.0.113.7", "198.51.100.1"


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


@pytest.fixture
async def a2a(shop: Shop) -> AsyncIterator[A2a]:
    async with buyer(shop) as client:
        yield client


def text_of(task: Any) -> str:
    return str(task["status"]["message"]["parts"][0]["text"])


def hint_in(heard: Heard) -> str:
    assert heard.error[0] == -32001
    (detail,) = heard.body["error"]["data"]
    return str(detail["metadata"]["hint"])


def paid_for(shop: Shop, task: Any, **changed: Any) -> Any:
    return shop.payload({"required": task["payment"][x402.REQUIRED]}, **changed)


async def say(a2a: A2a, task_id: str, status: str = "", **more: Any) -> Any:
    metadata = {"metadata": {x402.STATUS: status}} if status else {}
    return task_of(await a2a.say(RPC_1, ["And now?"], headers=ACTIVE, taskId=task_id, **metadata, **more))


async def got(a2a: A2a, task_id: str) -> Any:
    heard = await a2a.ask(RPC_1, "GetTask", {"id": task_id})
    return task_of(Heard(RPC_1, heard.status, heard.headers, heard.raw, {"result": {"task": heard.body["result"]}}))


async def test_a_paid_order_is_never_offered_again_and_shows_its_output_to_the_payment_alone(
    shop: Shop, a2a: A2a
) -> None:
    task = await asked(a2a, shop)
    assert (await got(a2a, task["id"]))["payment"] == task["payment"]
    payment, other = paid_for(shop, task), paid_for(shop, task)
    async with shop.open():
        bought = task_of(await pay(a2a, payment, task["id"]))
        no, plain = await say(a2a, task["id"], "payment-rejected"), await say(a2a, task["id"])
        second = task_of(await pay(a2a, other, task["id"]))
        shown = await got(a2a, task["id"])
        again = task_of(await pay(a2a, payment, task["id"]))
        anew = task_of(await pay(a2a, payment, "", parts=[order(shop)]))
    for one in (no, plain, second, shown):
        assert (one["id"], one["state"], one["payment"]) == (task["id"], "completed", bought["payment"])
        assert one["outputs"] == []
        assert "same payment again" in text_of(one)
    assert text_of(no).startswith(NOT_REJECTED)
    assert text_of(second).startswith(ANOTHER)
    for one in (bought, again, anew):
        assert (one["id"], one["contextId"], one["outputs"]) == (task["id"], task["contextId"], [WORK])
    assert (shop.income, len(shop.relay.sent), len(await shop.orders())) == (PRICE, 1, 1)


async def test_while_a_payment_is_under_way_its_order_is_neither_rejected_nor_paid_again(shop: Shop, a2a: A2a) -> None:
    shop.relay.told += ["waits"]
    task = await asked(a2a, shop)
    payment, other = paid_for(shop, task), paid_for(shop, task)
    async with shop.open():
        first = asyncio.create_task(pay(a2a, payment, task["id"]))
        await shop.relay.at_it.wait()
        twin = asyncio.create_task(pay(a2a, payment, task["id"]))
        standing = [await say(a2a, task["id"], "payment-rejected"), await say(a2a, task["id"])]
        standing += [task_of(await pay(a2a, other, task["id"])), await got(a2a, task["id"])]
        ended = await a2a.ask(RPC_1, "CancelTask", {"id": task["id"]})
        shop.relay.go_on.set()
        done = [task_of(one) for one in await asyncio.gather(first, twin)]
    for one in standing:
        assert (one["id"], one["state"], one["payment"]) == (task["id"], "working", {x402.STATUS: "payment-submitted"})
    assert ended.error[0] == -32002
    assert [(one["id"], one["outputs"]) for one in done] == [(task["id"], [WORK])] * 2
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)


async def test_two_payments_at_once_for_one_task_buy_once(shop: Shop, a2a: A2a) -> None:
    task = await asked(a2a, shop)
    payments = [paid_for(shop, task) for _ in range(4)]
    async with shop.open():
        heard = await asyncio.gather(*(pay(a2a, one, task["id"]) for one in payments))
    tasks = [task_of(one) for one in heard]
    assert {one["id"] for one in tasks} == {task["id"]}
    assert sorted(one["outputs"] for one in tasks) == [[], [], [], [WORK]]
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)


@pytest.mark.parametrize("word", ["reject", "pay"])
async def test_terms_that_another_message_overtook_are_not_shown(
    shop: Shop, a2a: A2a, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await asked(a2a, shop)
    overtaking, plain = [word], CallState.ask
    shop.relay.told += ["refuses"]

    async def ask(call: CallState, *given: Any, **changes: Any) -> Any:
        answer = await plain(call, *given, **changes)
        match overtaking and overtaking.pop():
            case "reject":
                await say(a2a, task["id"], "payment-rejected")
            case "pay":
                await pay(a2a, paid_for(shop, task), task["id"])
        return answer

    monkeypatch.setattr(CallState, "ask", ask)
    async with shop.open():
        late = await say(a2a, task["id"])
    assert x402.REQUIRED not in late["payment"]
    assert late["payment"][x402.STATUS] == {"reject": "payment-rejected", "pay": "payment-failed"}[word]


async def test_a_payment_whose_outcome_is_unknown_keeps_its_task_and_gets_no_new_terms(shop: Shop, a2a: A2a) -> None:
    task = await asked(a2a, shop)
    payment = paid_for(shop, task)
    shop.relay.told += ["refuses"]
    async with shop.open():
        poor = task_of(await pay(a2a, payment, task["id"]))
        plain, other = await say(a2a, task["id"]), task_of(await pay(a2a, paid_for(shop, task), task["id"]))
        for one in (poor, plain, other, await got(a2a, task["id"])):
            assert (one["state"], one["payment"][x402.STATUS]) == ("input-required", "payment-failed")
            assert x402.REQUIRED not in one["payment"], "a client that sees terms signs again"
        shop.node.down = True
        unknown, lost = task_of(await pay(a2a, payment, task["id"])), await say(a2a, task["id"], "payment-rejected")
        shop.node.down = False
        bought = task_of(await pay(a2a, payment, task["id"]))
    assert (unknown["state"], lost["state"]) == ("working", "working")
    assert (bought["id"], bought["outputs"]) == (task["id"], [WORK])
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)


async def test_a_payment_that_does_not_fit_leaves_the_order_open(shop: Shop, a2a: A2a) -> None:
    task = await asked(a2a, shop)
    async with shop.open():
        bad = task_of(await pay(a2a, paid_for(shop, task, value=PRICE - 1), task["id"]))
        fresh = await say(a2a, task["id"])
        assert x402.REQUIRED in bad["payment"]
        assert (fresh["id"], fresh["payment"][x402.STATUS]) == (task["id"], "payment-required")
        assert task_of(await pay(a2a, paid_for(shop, fresh), task["id"]))["outputs"] == [WORK]


async def test_a_rejected_order_stays_rejected_and_uses_no_payment(shop: Shop, a2a: A2a) -> None:
    task, other = await asked(a2a, shop), await asked(a2a, shop)
    canceled = await a2a.ask(RPC_1, "CancelTask", {"id": other["id"]})
    assert canceled.body["result"]["status"]["state"] == "TASK_STATE_CANCELED"
    no = [await say(a2a, task["id"], "payment-rejected") for _ in range(2)]
    async with shop.open():
        late = [task_of(await pay(a2a, paid_for(shop, one), one["id"])) for one in (task, other)]
    for one in (*no, *late, await say(a2a, task["id"]), await got(a2a, other["id"])):
        assert (one["state"], one["payment"]) == ("canceled", {x402.STATUS: "payment-rejected"})
    assert "without a taskId" in text_of(late[0])
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


async def test_a_forgotten_task_names_the_way_on_with_the_same_payment(shop: Shop, a2a: A2a) -> None:
    task = await asked(a2a, shop)
    payment = paid_for(shop, task)
    async with shop.open():
        bought = task_of(await pay(a2a, payment, task["id"]))
        shop.trade.market.clock.pass_seconds(3_601)
        assert hint_in(await pay(a2a, payment, task["id"])) == FORGOTTEN
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            assert hint_in(await a2a.ask(RPC_1, method, {"id": task["id"]})) == FORGOTTEN
        anew = task_of(await pay(a2a, payment, "", parts=[order(shop)]))
    assert anew["id"].startswith(PREFIX)
    assert (anew["outputs"], anew["payment"]) == ([WORK], bought["payment"])
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)


async def test_the_context_of_an_order_stays_and_another_is_refused(shop: Shop, a2a: A2a) -> None:
    task = task_of(await a2a.say(RPC_1, [order(shop)], headers=ACTIVE, contextId="mine"))
    assert (await say(a2a, task["id"]))["contextId"] == task["contextId"] == "mine"
    heard = await a2a.say(RPC_1, ["And now?"], headers=ACTIVE, taskId=task["id"], contextId="other")
    assert heard.error[0] == -32602
    heard = await a2a.say(RPC_1, [order(shop)], headers=ACTIVE, contextId="x" * 257)
    assert heard.error == (-32602, "contextId is longer than 256 characters")


async def test_a_message_that_does_not_activate_the_extension_is_told_to(shop: Shop, a2a: A2a) -> None:
    task = await asked(a2a, shop)
    heard = await a2a.say(RPC_1, ["Here."], taskId=task["id"], metadata={x402.PAYLOAD: paid_for(shop, task)})
    assert hint_in(heard) == FORGOTTEN
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


# --- what is kept ---------------------------------------------------------------------------------------------------


@pytest.fixture
def orders(shop: Shop) -> PendingOrders:
    return PendingOrders(shop.trade.market.market)


def put(orders: PendingOrders, ip: str = MINE, **given: Any) -> PendingOrder:
    return orders.put(given, OFFER, context_id="", ip=ip)


async def test_an_address_with_many_orders_displaces_its_own(
    orders: PendingOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.a2a.pending_orders.MAX_ORDERS", 10)
    mine = [put(orders, number=number) for number in range(2)]
    theirs = [put(orders, THEIRS, number=number) for number in range(30)]
    assert [orders.get(one.task_id) for one in (*mine, *theirs[-8:])] == [*mine, *theirs[-8:]]
    assert len(orders.kept) == 10
    orders.note(theirs[-8], SUBMITTED, taken=True)
    put(orders, THEIRS)
    assert orders.get(theirs[-8].task_id) is not None, "its unpaid ones go first"
    assert orders.get(theirs[-7].task_id) is None
    network = [put(orders, f"2001:db8::{number}") for number in range(30)]
    assert [orders.get(one.task_id) for one in mine] == mine, "a network of IPv6 counts as one address"
    assert orders.get(network[-1].task_id) is not None


async def test_the_orders_are_bounded_in_bytes_and_large_ones_go_first(
    orders: PendingOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.a2a.pending_orders.MAX_BYTES", 1_000)
    monkeypatch.setattr("protocol.a2a.pending_orders.MAX_ORDERS", 100)
    small, large = put(orders, text="x"), [put(orders, THEIRS, text="x" * 400) for _ in range(3)]
    assert [orders.get(one.task_id) for one in (small, *large)] == [small, None, *large[1:]]
    assert orders.size == sum(len(one.body) for one in orders.kept.values()) <= 1_000


async def test_an_order_is_kept_while_it_can_be_signed_and_an_hour_after_a_payment(
    shop: Shop, orders: PendingOrders
) -> None:
    waits, paid = put(orders), put(orders)
    orders.note(paid, DONE, taken=True)
    shop.trade.market.clock.pass_seconds(899)
    assert orders.get(waits.task_id) is waits
    shop.trade.market.clock.pass_seconds(2)
    assert (orders.get(waits.task_id), orders.get(paid.task_id)) == (None, paid)
    shop.trade.market.clock.pass_seconds(2_700)
    assert orders.get(paid.task_id) is None
    assert (orders.size, orders.kept) == (0, {})


async def test_old_orders_go_before_any_other(
    shop: Shop, orders: PendingOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.a2a.pending_orders.MAX_ORDERS", 3)
    old = [put(orders, THEIRS, number=number) for number in range(2)]
    shop.trade.market.clock.pass_seconds(901)
    mine = [put(orders, number=number) for number in range(3)]
    assert [orders.get(one.task_id) for one in (*old, *mine)] == [None, None, *mine]


async def test_no_output_is_kept_and_an_ended_order_does_not_go_back(orders: PendingOrders) -> None:
    one = put(orders)
    assert orders.note(one, DONE, taken=True) is DONE
    assert (one.last.state, one.last.result) == (DONE.state, None)
    assert orders.note(one, SUBMITTED, taken=True) is one.last
    assert (one.reject(), one.shown.state) == (False, DONE.state)
    vain = put(orders)
    orders.note(vain, FAILED, taken=False)
    assert (vain.reject(), vain.shown) == (False, FAILED)


async def test_a_payment_whose_call_broke_off_counts_as_taken(shop: Shop, orders: PendingOrders) -> None:
    one, begun = put(orders), asyncio.Event()

    async def brings() -> None:
        with orders.paying(one, "first"):
            begun.set()
            await asyncio.Event().wait()

    call = asyncio.create_task(brings())
    await begun.wait()
    assert (one.is_paid, one.calls, one.shown) == (True, 1, SUBMITTED)
    call.cancel()
    await asyncio.wait([call])
    assert (one.is_paid, one.calls, one.shown, one.reject()) == (True, 0, SUBMITTED, False)
    shop.trade.market.clock.pass_seconds(3_599)
    assert orders.get(one.task_id) is one


async def test_an_order_is_found_by_its_payment_only_with_all_of_it(shop: Shop, orders: PendingOrders) -> None:
    payload = shop.payload(await shop.terms())
    mark, given = mark_of(header(payload)), {"listing_id": "lst_1", "input": INPUT}
    one = put(orders, **given)
    one.payment = mark
    assert orders.find("", mark, given) is None, "its payment was not taken"
    orders.note(one, SUBMITTED, taken=True)
    assert orders.find("", mark, dict(reversed(given.items()))) is one
    assert orders.find("", mark, given | {"units": 2}) is None
    assert orders.find(f"{PREFIX}0", mark, given) is None
    forged = payload | {"payload": payload["payload"] | {"signature": "0x00"}}
    assert mark_of(header(forged)) not in ("", mark)
    assert [mark_of(header(none)) for none in ("text", {}, {"x402Version": 2})] == [""] * 3
    assert orders.find("", "", given) is None


async def test_an_order_does_not_end_while_its_payment_is_under_way(shop: Shop, a2a: A2a) -> None:
    shop.relay.told += ["waits"]
    task = await asked(a2a, shop)
    shop.trade.market.clock.pass_seconds(895)
    payment, other = paid_for(shop, task), paid_for(shop, task)
    call = [{"tool": "buy_with_x402", "arguments": order(shop)}]
    async with shop.open():
        first = asyncio.create_task(pay(a2a, payment, task["id"]))
        await shop.relay.at_it.wait()
        shop.trade.market.clock.pass_seconds(6)
        assert (await got(a2a, task["id"]))["payment"] == SUBMITTED.payment
        assert text_of(task_of(await pay(a2a, other, task["id"], parts=call))).startswith(ANOTHER)
        shop.relay.go_on.set()
        assert task_of(await first)["id"] == task["id"]
    assert (await got(a2a, task["id"]))["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)
