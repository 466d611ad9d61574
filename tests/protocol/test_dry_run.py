"""Dry runs over every protocol: the same answer as a real call, and no effect."""

from dataclasses import replace
from typing import Any, get_args

import httpx
import orjson
import pytest
from mcp.client import Client

from protocol.reserved_arguments import DRY_RUN_TOLD
from tests.end_to_end.faults.standing import standing
from tests.support.market import Agent, TestMarket
from tests.support.panels import Court
from tests.support.protocols import served
from tests.support.trade import OFFER, Trade
from tools.catalogue import CATALOGUE
from tools.engine.dry_run import NOT_MADE, hidden_in


async def rehearsed(market: TestMarket, operation: str, by: Agent | None = None, **given: Any) -> Any:
    answer = await market.answer(operation, given, key=by and by.keys["test"], dry_run=True)
    assert answer.dry_run or answer.refused
    return orjson.loads(answer.body)


def rows(trade: Trade, database_url: str) -> Any:
    return {name: found for name, found in standing(database_url).items() if name not in ("agents", "api_keys")}


async def test_an_order_is_answered_and_not_made(trade: Trade, database_url: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    before = rows(trade, database_url)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    shown = await rehearsed(trade.market, "create_job", buyer, **order)
    assert (shown["object"], shown["status"]) == ("job", "open")
    assert rows(trade, database_url) == before
    assert (await trade.market.call("list_events", by=seller, types=["job.*"]))["data"] == []
    assert (await trade.market.refusal("get_job", by=buyer, job_id=shown["id"]))["code"] == "not_found"


async def test_a_payment_is_checked_and_can_be_made_afterwards(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    shown = await rehearsed(trade.market, "pay_job", buyer, job_id=job["id"], transaction=sent)
    assert (shown["payment"]["status"], shown["output_sealed"]) == ("paid", False)
    assert [shown[name] for name in ("output", "output_hash", "output_salt", "output_bytes")] == [None] * 4
    assert [shown["deliveries"][0][name] for name in ("output_hash", "output_salt", "output_bytes")] == [None] * 3
    assert (await trade.seen(buyer, job))["payment"]["status"] == "due"
    paid = await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert paid["payment"]["status"] == "paid"


async def test_a_withdrawal_on_trial_tells_neither_the_seed_nor_the_votes(trade: Trade) -> None:
    court = await Court.opened(trade)
    await court.vote((await court.panel())[0], "seller")
    shown = await rehearsed(trade.market, "withdraw_dispute", court.buyer, dispute_id=court.dispute_id)
    assert [shown[name] for name in ("panel_seed", "draws", "tally", "verdicts")] == [None] * 4
    assert (await court.seen(court.buyer))["status"] == "panel"


async def test_a_vote_on_trial_does_not_tell_what_it_would_decide(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, second, _ = await court.panel()
    await court.vote(first, "seller")
    words = {"outcome": "seller", "rationale": "I read it."}
    before = await court.seen(second)
    shown = await rehearsed(trade.market, "submit_verdict", second, dispute_id=court.dispute_id, **words)
    del before["case"], shown["case"]
    assert shown == before


async def test_a_refusal_that_would_leave_a_row_leaves_none(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job, 1000)
    refused = await rehearsed(trade.market, "pay_job", buyer, job_id=job["id"], transaction=sent)
    assert refused["error"]["details"]["reason"] == "amount_too_low"
    assert (await trade.market.call("list_settlements", by=buyer))["data"] == []


async def test_no_secret_is_shown(trade: Trade) -> None:
    made = await rehearsed(trade.market, "register_agent", name="Ada")
    assert made["api_keys"] == {"live": NOT_MADE, "test": NOT_MADE}
    assert made["keypair"]["secret_key"] == NOT_MADE
    assert (await trade.market.refusal("get_agent", agent_id=made["agent"]["id"]))["code"] == "not_found"
    ada = await trade.market.register("Ada")
    key = await rehearsed(trade.market, "create_api_key", ada, env="test")
    hook = await rehearsed(trade.market, "create_webhook", ada, url="https://hooks.example/in")
    assert (key["key"], hook["secret"]) == (NOT_MADE, NOT_MADE)


def test_every_operation_that_shows_secrets_marks_them() -> None:
    def marked(kind: Any) -> bool:
        return NOT_MADE in hidden_in(kind).values() or any(marked(part) for part in parts(kind))

    def parts(kind: Any) -> Any:
        return [one for hint in getattr(kind, "__annotations__", {}).values() for one in records_in(hint)]

    def records_in(hint: Any) -> Any:
        if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
            return [hint]
        return [one for part in get_args(hint) for one in records_in(part)]

    shown = [op for op in CATALOGUE.values() if op.shows_secrets]
    assert shown
    for op in shown:
        assert any(marked(kind) for kind in op.output), op.name


async def test_its_idempotency_key_is_not_used_up(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    first = await trade.market.answer("create_listing", OFFER, key=seller.keys["test"], repeat="once", dry_run=True)
    made = await trade.market.answer("create_listing", OFFER, key=seller.keys["test"], repeat="once")
    again = await trade.market.answer("create_listing", OFFER, key=seller.keys["test"], repeat="once", dry_run=True)
    assert (first.dry_run, made.replayed, again.dry_run, again.replayed) == (True, False, True, False)
    assert len((await trade.market.call("list_my_listings", by=seller))["data"]) == 1


async def test_over_each_surface_it_is_asked_for_and_marked(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    key, brand = seller.keys["test"], trade.market.market.config.brand
    async with served(trade.market) as url:
        async with Client(f"{url}/mcp") as client:
            direct = await client.call_tool("create_listing", OFFER | {"dry_run": True, "api_key": key})
            through = {"name": "create_listing", "arguments": OFFER | {"api_key": key}, "dry_run": True}
            wrapped = await client.call_tool("call_tool", through)
            made = await client.call_tool("update_me", {"name": "Sela", "api_key": key})
        async with httpx.AsyncClient(base_url=url, headers={"x-api-key": key}) as http:
            over_rest = await http.post("/v1/listings?dry_run=true", json=OFFER)
            wrong = await http.post("/v1/listings?dry_run=maybe", json=OFFER)
            message = {"messageId": "1", "role": "ROLE_USER", "metadata": {"dry_run": True},
                       "parts": [{"data": {"tool": "create_listing", "arguments": OFFER}}]}  # fmt: skip
            over_a2a = await http.post("/a2a/message:send", json={"message": message}, headers={"A2A-Version": "1.0"})
    for result in (direct, wrapped):
        assert result.structured_content is not None
        assert result.structured_content["object"] == "listing"
        assert (result.meta or {})[f"{brand}/dry_run"] is True
        assert [part.text for part in result.content[1:]] == [DRY_RUN_TOLD]  # type: ignore[union-attr]
    assert len(made.content) == 1
    assert (over_rest.status_code, over_rest.headers["dry-run"], over_rest.json()["object"]) == (201, "true", "listing")
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "dry_run")
    told = over_a2a.json()["message"]
    words, record = told["parts"]
    assert (told["metadata"][f"{brand}/dryRun"], record["data"]["object"]) == (True, "listing")
    assert words["text"] == DRY_RUN_TOLD
    assert (await trade.market.call("list_my_listings", by=seller))["data"] == []


async def test_a_read_is_a_read(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    plain = await trade.market.answer("get_me", key=seller.keys["test"])
    dry = await trade.market.answer("get_me", key=seller.keys["test"], dry_run=True)
    assert replace(dry, quota=None) == replace(plain, quota=None)


@pytest.mark.parametrize("given", ["yes", 1, []])
async def test_over_mcp_dry_run_is_true_or_false(trade: Trade, given: Any) -> None:
    async with served(trade.market) as url, Client(f"{url}/mcp") as client:
        refused = await client.call_tool("register_agent", {"name": "Ada", "dry_run": given})
    assert refused.is_error
    assert orjson.loads(refused.content[0].text)["error"]["param"] == "dry_run"  # type: ignore[union-attr]
