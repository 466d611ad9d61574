"""Scopes: every operation names the scopes that it accepts, and `Market.call` checks them for all."""

from typing import Any

import orjson
import pytest

from tests.support.market import Agent, TestMarket
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.engine.context import CallRequest, Surface
from tools.engine.idempotency import Response
from tools.engine.scopes import EVERYTHING, SCOPES, beyond, opens

KEYED = [op for op in CATALOGUE.values() if op.auth == "key"]
OF_BOTH_SIDES = {"accept_job", "cancel_job", "review_job"}
OWN = ("buy", "sell", "message")  # personal data, for agents of any kind


async def key_for(market: TestMarket, agent: Agent, *scopes: str) -> str:
    made = await market.call("create_api_key", by=agent, env="test", scopes=list(scopes))
    key: str = made["key"]
    return key


async def said(market: TestMarket, op: Any, key: str | None) -> Any:
    """Return the error for invalid arguments; errors about the key come first."""
    if not op.streams:
        answer = await market.answer(op.name, {"nonsense": 1}, key=key)
    else:
        approach = CallRequest(Surface.REST, "203.0.113.9", "req_test", credential=key)
        opened = await market.market.stream(op, {"nonsense": 1}, approach)
        assert isinstance(opened, Response)
        answer = opened
    return orjson.loads(answer.body)["error"]


@pytest.mark.parametrize("op", KEYED, ids=lambda op: op.name)
async def test_a_key_with_one_of_the_scopes_of_an_operation_opens_it(market: TestMarket, op: Any) -> None:
    """A key without any of the scopes is refused."""
    agent = await market.register()
    assert op.scopes, "an operation that needs a key names the scopes of which one will do"
    assert set(op.scopes) <= set(SCOPES) - {EVERYTHING}
    for scope in (*op.scopes, EVERYTHING):
        assert (await said(market, op, await key_for(market, agent, scope, *op.scopes_beside)))[
            "code"
        ] == "invalid_request"


def test_what_needs_no_key_needs_no_scope() -> None:
    assert {op.name: op.scopes for op in CATALOGUE.values() if op.auth != "key" and op.scopes} == {}


async def test_a_key_of_any_scope_reads_what_everybody_may_read(market: TestMarket) -> None:
    agent = await market.register()
    key = await key_for(market, agent, "message")
    for name in ("get_payments_info", "search_listings", "search_agents"):
        assert (await market.answer(name, key=key)).status == 200
    assert (await market.answer("get_agent", {"agent_id": agent.id}, key=key)).status == 200


async def test_a_key_that_may_not_read_has_nothing_posted_to_it_either(market: TestMarket) -> None:
    agent = await market.register()
    hook = await market.call("create_webhook", by=agent, url="https://agent.example/hook")
    key = await key_for(market, agent, "admin:self")
    for operation, given in (
        ("create_webhook", {"url": "https://other.example/hook"}),
        ("update_webhook", {"webhook_id": hook["id"], "url": "https://other.example/hook"}),
        ("redeliver_webhook", {"webhook_id": hook["id"], "delivery_id": "dlv_01KDVDNA00E180C7WM7TDHNQEX"}),
        ("update_me", {"endpoints": {"webhook_url": "https://other.example/hook"}}),
    ):
        error = orjson.loads((await market.answer(operation, given, key=key)).body)["error"]
        assert (error["code"], error["details"]["scope"]) == ("forbidden", "read"), operation
    (left,) = (await market.call("list_webhooks", by=agent))["data"]
    assert (left["id"], left["url"]) == (hook["id"], hook["url"])
    assert "webhook_url" not in (await market.call("get_me", by=agent))["endpoints"]
    both = await key_for(market, agent, "admin:self", "read")
    assert (await market.answer("create_webhook", {"url": "https://other.example/hook"}, key=both)).status == 201


def test_the_scope_of_an_operation_is_that_of_what_it_does() -> None:
    reads = {op.name for op in KEYED if op.safe}
    of_oneself = {"list_api_keys", "create_api_key", "revoke_api_key", "update_me", "delete_me", "set_wallet_address"}
    of_oneself |= {"export_me"}  # it exports the keys; test_contract_exports.py checks that it needs read too
    for op in KEYED:
        if op.name in of_oneself:
            assert op.scopes == ("admin:self",), op.name
        elif op.name in reads:
            assert op.scopes == ("read",), op.name
        elif op.name in OF_BOTH_SIDES:
            assert op.scopes == ("buy", "sell"), op.name
        else:
            assert op.scopes in (("buy",), ("sell",), ("message",), ("admin:self",), ("buy", "sell"), OWN), op.name


async def test_a_key_for_selling_does_not_accept_what_was_bought(trade: Trade) -> None:
    """One agent sells and buys: its key's rights depend on its side of the job."""
    seller, buyer = await trade.parties()
    order = await trade.job_at("open", seller, buyer)
    bought = await trade.job_at("revealed", seller, buyer)
    selling, buying = [await key_for(trade.market, seller, scope) for scope in ("sell", "buy")]
    refused = await trade.market.answer("accept_job", {"job_id": order["id"]}, key=buying)
    assert refused.error is not None
    assert (refused.error["code"], refused.error["details"]["scope"]) == ("forbidden", "sell")
    assert (await trade.market.answer("accept_job", {"job_id": order["id"]}, key=selling)).status == 200
    theirs = await key_for(trade.market, buyer, "sell")
    assert (await trade.market.answer("accept_job", {"job_id": bought["id"]}, key=theirs)).status == 403
    await trade.market.call("accept_job", by=buyer, job_id=bought["id"])
    review = {"job_id": bought["id"], "rating": 5}
    assert (await trade.market.answer("review_job", review, key=theirs)).status == 403
    assert (
        await trade.market.answer("review_job", review, key=await key_for(trade.market, buyer, "buy"))
    ).status == 201


def test_everything_opens_everything_and_nothing_is_beyond_it() -> None:
    assert opens([EVERYTHING], ["buy"])
    assert opens(["read", "buy"], ["buy", "sell"])
    assert opens([], [])
    assert not opens(["read"], ["buy", "sell"])
    assert not opens([], ["read"])
    assert beyond([EVERYTHING], SCOPES) == []
    assert beyond(["read", "buy"], ["buy"]) == []
    assert beyond(["read"], ["sell", "*", "read"]) == ["*", "sell"]
