"""Clauses of the contract about the operator's routes: their callers, their effects, and that there are no others."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rest.routes import Rest
from storage.tables import AgentRow, JobRow
from tests.requirements import covers
from tests.support.bounties import bounty, propose
from tests.support.fixed_market import HOST, approach_of, edged
from tests.support.market import OPERATOR_SECRET, TestMarket
from tests.support.trade import OFFER, PRICE, Trade
from tests.support.x402_client import opened_shop
from tools.account.deletion import BATCH
from tools.catalogue import CATALOGUE
from tools.engine.caller import Surface
from tools.engine.rate_limits import ALLOWANCES, Rate

ADMIN = {op.name: op for op in CATALOGUE.values() if op.auth == "admin"}
WRONG = ("", "x", OPERATOR_SECRET[:-1], OPERATOR_SECRET + "x", OPERATOR_SECRET.upper(), "ä" * 20)


def arguments_of(name: str, agent_id: str) -> dict[str, Any]:
    said = {"first_party": True, "status": "suspended", "verdict": "split", "outcome": "split", "note": "So."}
    return {field: said.get(field, agent_id) for field in ADMIN[name].input.model_fields}


@covers("auth.8.admin", "endpoint.auth.admin")
@pytest.mark.parametrize("name", ADMIN)
async def test_the_operators_routes_open_to_its_secret_alone(market: TestMarket, name: str) -> None:
    agent = await market.register()
    given = arguments_of(name, agent.id)
    for sent in ({}, *({"admin_token": wrong} for wrong in WRONG)):
        for key in (None, agent.keys["live"]):
            answer = await market.answer(name, given, key=key, **sent)
            assert answer.error is not None
            assert (answer.status, answer.error["code"]) == (401, "unauthenticated")
            assert answer.error["hint"] == "Send the operator's secret as X-Admin-Token."
    opened = await market.answer(name, given, admin_token=OPERATOR_SECRET)
    assert opened.status == (404 if {"job_id", "dispute_id"} & given.keys() else 200), "an agent's id names neither"


@pytest.mark.parametrize("name", ADMIN)
async def test_a_market_without_an_operators_secret_has_no_open_route_of_its_operator(
    market: TestMarket, name: str
) -> None:
    agent = await market.register()
    market.market.services.config = replace(market.market.config, operator_secret=None)
    for token in (None, "", OPERATOR_SECRET):
        answer = await market.answer(name, arguments_of(name, agent.id), admin_token=token)
        assert (answer.status, answer.error and answer.error["code"]) == (403, "forbidden")


async def test_the_secret_is_read_from_its_header_over_http(market: TestMarket) -> None:
    agent = await market.register()
    wire = httpx.ASGITransport(edged(Rest(market.market, approach_of), market.market))
    async with httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}") as http:

        async def ask(*tokens: str, **more: str) -> int:
            sent = [("X-Admin-Token", token) for token in tokens] + list(more.items())
            path = f"/v1/admin/agents/{agent.id}/first-party"
            return (await http.post(path, headers=sent, json={"first_party": True})).status_code

        assert await ask() == 401
        assert await ask(OPERATOR_SECRET[1:]) == 401
        assert await ask(OPERATOR_SECRET, "another") == 401
        assert await ask(Authorization=f"Bearer {OPERATOR_SECRET}") == 401
        assert await ask(OPERATOR_SECRET, Authorization="Bearer as_test_" + "0" * 40) == 401
        assert await ask(OPERATOR_SECRET) == 200
        assert await ask(OPERATOR_SECRET, Authorization=f"Bearer {agent.keys['live']}") == 200


async def test_who_guesses_the_secret_is_counted_by_address(market: TestMarket) -> None:
    agent = await market.register()
    limits = replace(market.market.config.limits, enforced=True)
    market.market.services.config = replace(market.market.config, limits=limits)
    given = arguments_of("set_first_party", agent.id)
    codes = {
        (await market.answer("set_first_party", given, admin_token=f"guess {at}")).status
        for at in range(ALLOWANCES[Rate.ANONYMOUS_FAILURES].calls + 2)
    }
    assert codes == {401, 429}


@covers("invariant.12.nothing_else")
def test_the_operators_routes_are_those_of_the_contract_and_stand_on_http_alone() -> None:
    assert {f"{op.method} {op.path}" for op in ADMIN.values()} == {
        "POST /v1/admin/agents/{agent_id}/first-party",
        "POST /v1/admin/agents/{agent_id}/status",
        "POST /v1/admin/jobs/{job_id}/resolve",
        "GET /v1/admin/overview",
    }
    assert all(op.surfaces == frozenset({Surface.REST}) for op in ADMIN.values())
    assert {op.name for op in CATALOGUE.values() if "/admin/" in op.path} == set(ADMIN)


@covers("route.agents.admin.first_party", "invariant.12.first_party")
async def test_r3_the_label_holds_from_now_on_and_rewrites_nothing(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    before = await trade.job_at("completed", seller, buyer)
    labelled = await trade.market.as_operator("set_first_party", agent_id=seller.handle, first_party=True)
    assert (labelled["id"], labelled["first_party"]) == (seller.id, True)
    listing = await trade.market.call("get_listing", listing_id=before["listing_id"], env="test")
    assert (listing["first_party"], listing["seller"]["first_party"]) == (True, True)
    after = await trade.order(buyer, listing)
    labelled = await trade.market.as_operator("set_first_party", agent_id=seller.id, first_party=False)
    assert labelled["first_party"] is False
    assert [await frozen(trade, job["id"]) for job in (before, after)] == [False, True]
    unlabelled = await trade.market.call("get_listing", listing_id=before["listing_id"], env="test")
    assert (unlabelled["first_party"], unlabelled["seller"]["first_party"]) == (False, False)


async def frozen(trade: Trade, job_id: str) -> bool:
    row = await trade.market.store.read(lambda tx: tx.get(JobRow, job_id))
    assert row is not None
    return row.first_party


@covers("route.agents.admin.status", "state.agent.set", "invariant.12.status")
async def test_the_operator_moves_an_agent_to_every_status_and_back(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    assert (await market.call("get_me", by=seller))["status"] == "active"

    held = await market.as_operator("set_agent_status", agent_id=seller.id, status="suspended")
    assert held["status"] == "suspended"
    for key in seller.keys.values():
        assert (await market.answer("get_me", key=key)).status == 401
    assert (await market.call("get_agent", agent_id=seller.handle))["status"] == "suspended"
    assert (await market.call("search_agents", q="Sela"))["data"] == []
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    assert (await market.refusal("create_job", by=buyer, **order))["code"] == "listing_unavailable"

    assert (await market.as_operator("set_agent_status", agent_id=seller.id, status="active"))["status"] == "active"
    assert (await market.call("get_me", by=seller))["status"] == "active"
    assert (await market.refusal("create_job", by=buyer, **order))["code"] == "listing_unavailable"
    await market.call("update_listing", by=seller, listing_id=listing["id"], status="active")
    job = await trade.order(buyer, listing)

    assert (await market.as_operator("set_agent_status", agent_id=seller.id, status="deleted"))["status"] == "deleted"
    assert (await market.answer("get_me", key=seller.keys["test"])).status == 401
    assert (await market.refusal("get_agent", agent_id=seller.id))["code"] == "not_found"
    assert (await market.call("get_job", by=buyer, job_id=job["id"]))["status"] == "declined"

    back = await market.as_operator("set_agent_status", agent_id=seller.handle, status="active")
    assert (back["status"], back["handle"]) == ("active", seller.handle)
    assert (await market.call("get_agent", agent_id=seller.id))["id"] == seller.id
    assert [one["id"] for one in (await market.call("search_agents", q="Sela"))["data"]] == [seller.id]
    assert (await market.answer("get_me", key=seller.keys["test"])).status == 401  # keys are not restored
    assert (await market.refusal("get_listing", listing_id=listing["id"], env="test"))[
        "code"
    ] == "not_found"  # it is archived


async def test_a_suspension_closes_the_bounties_nobody_could_award(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await propose(trade, seller, posted)
    await trade.market.as_operator("set_agent_status", agent_id=buyer.id, status="suspended")
    await trade.market.workers.close_deleted_accounts()
    assert (await trade.market.call("get_bounty", bounty_id=posted["id"], env="test"))["status"] == "closed"
    (mine,) = (await trade.market.call("list_proposals", by=seller, bounty_id=posted["id"]))["data"]
    assert mine["status"] == "rejected"


async def test_a_suspension_takes_listings_from_everything_that_shows_them(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    kept = await trade.listing(buyer)
    theirs = [await trade.listing(seller) for _ in range(BATCH + 2)]
    await market.as_operator("set_agent_status", agent_id=seller.id, status="suspended")
    shown = [await market.call("get_listing", listing_id=one["id"], env="test") for one in theirs]
    assert [one["status"] for one in shown].count("paused") == BATCH, "so many at once"
    await market.workers.close_deleted_accounts()
    shown = [await market.call("get_listing", listing_id=one["id"], env="test") for one in theirs]
    assert {one["status"] for one in shown} == {"paused"}
    found = (await market.call("search_listings", env="test"))["data"]
    assert [one["id"] for one in found] == [kept["id"]]
    assert (await market.call("get_stats", env="test"))["listings_active"] == 1
    await market.as_operator("set_agent_status", agent_id=seller.id, status="active")
    market.pass_seconds(61)
    await market.workers.close_deleted_accounts()
    own = (await market.call("list_my_listings", by=seller, limit=100))["data"]
    assert {one["status"] for one in own} == {"paused"}, "it activates them itself"


async def test_setting_the_status_an_agent_has_changes_nothing(market: TestMarket) -> None:
    agent = await market.register()
    row = await market.store.read(lambda tx: tx.get(AgentRow, agent.id))
    await market.as_operator("set_agent_status", agent_id=agent.id, status="active")
    assert await market.store.read(lambda tx: tx.get(AgentRow, agent.id)) == row


async def test_a_suspension_moves_the_epoch_that_tokens_are_held_to(market: TestMarket) -> None:
    agent = await market.register()
    for status, epoch in (("suspended", 2), ("active", 2), ("deleted", 3), ("active", 3)):
        await market.as_operator("set_agent_status", agent_id=agent.id, status=status)
        row = await market.store.read(lambda tx: tx.get(AgentRow, agent.id))
        assert row is not None
        assert row.auth_epoch == epoch, status


@covers("route.agents.admin.overview", "invariant.12.overview")
async def test_the_overview_shows_what_is_stuck_and_unasked_nothing_of_what_jobs_are_about(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    owed = await trade.failed(seller, buyer, title="The secret work")
    disputed = await trade.job_at("revealed", seller, buyer)
    await market.call(
        "dispute_job", by=buyer, job_id=disputed["id"], reason="Not what was promised."
    )  # there is no evaluator
    await market.as_operator("set_agent_status", agent_id=(await market.register("Held")).id, status="suspended")
    found = await market.as_operator("get_overview")
    case = await market.call("get_job", by=buyer, job_id=disputed["id"])
    market.pass_seconds(90)
    assert (await market.as_operator("get_overview"))["disputes"][0]["age_seconds"] == 90
    assert found == {
        "object": "overview",
        "disputes": [
            {
                "id": case["dispute_id"],
                "job_id": disputed["id"],
                "env": "test",
                "escalation_reason": "no_eligible_evaluators",
                "created_at": case["updated_at"],
                "age_seconds": 0,
            }
        ],
        "purchases": [],
        "refunds_due": [
            {
                "job_id": owed["id"],
                "env": "test",
                "seller_id": seller.id,
                "buyer_id": buyer.id,
                "amount": PRICE,
                "display": "0.250000 USDC",
                "updated_at": owed["updated_at"],
            }
        ],
        "orphaned_settlements": [],
        "failing_webhooks": [],
        "reports": [],
        "case": None,
        "agents": {"active": 2, "suspended": 1},
        "jobs": [
            {"env": "test", "status": "cancelled", "count": 1},
            {"env": "test", "status": "disputed", "count": 1},
        ],
        "sanctions": {"screening": False, "addresses": 0, "updated_at": None},
        "generated_at": found["generated_at"],
    }
    await trade.give_back(seller, buyer, owed)
    await market.as_operator("resolve_job", job_id=disputed["id"], verdict="seller")
    found = await market.as_operator("get_overview")
    assert (found["disputes"], found["refunds_due"]) == ([], [])


async def test_the_overview_names_transfers_without_a_job_until_they_are_sent_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    first, second = [await trade.send(buyer, job) for _ in range(2)]
    for sent in (first, second):
        await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    (orphan,) = (await trade.market.as_operator("get_overview"))["orphaned_settlements"]
    assert (orphan["transaction"], orphan["status"], orphan["job_id"]) == (second, "orphaned", job["id"])
    await trade.give_back(seller, buyer, job)
    assert (await trade.market.as_operator("get_overview"))["orphaned_settlements"] == []


async def test_the_operator_reads_the_case_it_is_to_decide_and_what_agents_reported(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    await market.call("post_message", by=buyer, thread_id=job["thread_id"], body="This is not English, Sela.")
    disputed = await market.call("dispute_job", by=buyer, job_id=job["id"], reason="Sela delivered nothing.")
    await market.call("report_support", by=buyer, message="Nobody can judge my case.", references=[job["id"]])
    found = await market.as_operator("get_overview", dispute_id=disputed["dispute_id"])
    case = found["case"]
    assert (case["job_id"], case["buyer_id"], case["seller_id"]) == (job["id"], buyer.id, seller.id)
    assert (case["reason"], case["input"], case["output"]) == (
        "Sela delivered nothing.", {"text": "guten Tag"}, {"english": "good day"},
    )  # fmt: skip
    assert (case["promised"]["title"], case["promised"]["tags"]) == (OFFER["title"], OFFER["tags"])
    assert (case["votes"], case["price"]) == ([], PRICE)
    said = [(one["from"], one["body"]) for one in case["messages"]]
    assert (buyer.id, "This is not English, Sela.") in said
    (report,) = found["reports"]
    assert (report["message"], report["agent_id"], report["references"]) == (
        "Nobody can judge my case.", buyer.id, [job["id"]],
    )  # fmt: skip
    answer = await market.answer("get_overview", {"dispute_id": "dsp_nobody"}, admin_token=OPERATOR_SECRET)
    assert (answer.status, (answer.error or {})["code"]) == (404, "not_found")


async def test_the_overview_counts_purchases_by_status_and_says_how_old_the_oldest_is(trade: Trade) -> None:
    shop, market = await opened_shop(trade), trade.market
    await shop.bought()
    paid = shop.sign(await shop.terms())
    asked = asyncio.create_task(shop.ask(pay=paid))
    await shop.ordered()
    market.pass_seconds(45)
    found = (await market.as_operator("get_overview"))["purchases"]
    asked.cancel()
    assert found == [
        {"env": "test", "status": "working", "count": 1, "oldest_age_seconds": 45},
        {"env": "test", "status": "paid", "count": 1, "oldest_age_seconds": None},
    ]
