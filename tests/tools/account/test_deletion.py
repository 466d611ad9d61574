"""Clauses of the contract about deleting an agent: what ends at once, what is closed later, what remains."""

import asyncio
from typing import Any

import orjson
import pytest
from sqlalchemy import bindparam, select

from server.workers import Workers
from storage.query import Query
from storage.store import Store
from storage.tables import AgentRow, DepartureRow, JobEventRow, JobRow, ListingRow
from storage.transaction import StorageError, Tx
from storage.vocabulary import AgentStatus, ListingStatus
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import Agent, TestMarket
from tests.support.trade import Trade
from tools.account.deletion import BATCH, BEFORE_WORK

REPEAT = "Tm9ib2R5IGVsc2Uga25vd3Mgd"
GOING_ON = ("in_progress", "delivered", "revealed")
MANY = 3 * BATCH + 4
jobs_of_seller = Query(select(JobRow).where(JobRow.seller_id == bindparam("seller_id")))
listings_of_seller = Query(select(ListingRow).where(ListingRow.seller_id == bindparam("seller_id")))
all_departures = Query(select(DepartureRow))
moves_told = Query(select(JobEventRow).where(JobEventRow.type == bindparam("type")))


async def delete(market: TestMarket, agent: Agent) -> Any:
    return await market.call("delete_me", by=agent, on="live", confirm=agent.handle)


@covers("agent.deleted.*", "route.agents.delete", "state.agent.delete", "invariant.10.keys", "invariant.10.profile")
@covers("route.agents.get.deleted", "error.code.not_found.deleted", "invariant.10.handle")
async def test_who_leaves_is_gone_at_once_and_its_handle_and_key_stay_its_own(market: TestMarket) -> None:
    agent, bo = await market.register("Ada"), await market.register("Agent Bo")
    public_key = (await market.call("get_me", by=agent))["public_key"]
    third = await market.call("create_api_key", by=agent, on="live", env="live")
    await write_row(market, AgentRow, agent.id, verified_domain="ada.example", evaluator=True, auth_epoch=7)
    assert await delete(market, agent) == {"object": "agent.deleted", "id": agent.id, "handle": "ada"}
    for key in (*agent.keys.values(), third["key"]):
        assert (await market.answer("get_me", key=key)).status == 401
        assert (await market.answer("get_payments_info", key=key)).status == 401
    for reference in (agent.id, "ada"):
        assert (await market.refusal("get_agent", agent_id=reference))["code"] == "not_found"
        assert (await market.refusal("list_reviews", agent_id=reference))["code"] == "not_found"
    assert [one["id"] for one in (await market.call("search_agents"))["data"]] == [bo.id]
    assert (await market.refusal("register_agent", name="Ada", handle="ada"))["code"] == "handle_taken"
    assert (await market.refusal("update_me", by=bo, handle="ada"))["code"] == "handle_taken"
    again = await market.refusal("register_agent", name="Ada", public_key=public_key)
    assert again["code"] == "public_key_in_use"
    row = await market.store.read(lambda tx: tx.get(AgentRow, agent.id))
    assert row is not None
    assert (row.status, row.auth_epoch) == (AgentStatus.DELETED, 8)
    assert (row.verified_domain, row.evaluator) == (None, False), "domain and seat are free again"
    assert (await market.call("get_me", by=bo))["status"] == "active"


@pytest.mark.parametrize("given", [{}, {"confirm": "bo"}, {"confirm": "Ada"}, {"confirm": True}, {"confirm": "agt_"}])
async def test_without_the_own_handle_nothing_is_deleted(market: TestMarket, given: dict[str, Any]) -> None:
    agent = await market.register("Ada")
    await market.register("Bo")
    error = await market.refusal("delete_me", by=agent, **given)
    assert (error["code"], error["param"]) == ("invalid_request", "confirm")
    assert (await market.call("get_me", by=agent))["status"] == "active"


async def test_of_twenty_deletions_at_once_one_happens_and_its_repeat_is_answered(market: TestMarket) -> None:
    agent = await market.register("Ada")
    given, key = {"confirm": "ada"}, agent.keys["test"]
    answers = await asyncio.gather(*(market.answer("delete_me", given, key=key) for _ in range(20)))
    assert sorted(answer.status for answer in answers) == [200] + [401] * 19
    bo = await market.register("Agent Bo")
    calls = [market.answer("delete_me", {"confirm": bo.handle}, key=bo.keys["live"], repeat=REPEAT) for _ in range(20)]
    twins = await asyncio.gather(*calls)
    assert ({answer.status for answer in twins}, len({answer.body for answer in twins})) == ({200}, 1)
    assert sum(not answer.replayed for answer in twins) == 1


@covers("invariant.10.listings")
async def test_the_listings_of_who_leaves_are_archived(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    on_sale, paused = await trade.listing(seller), await trade.listing(seller)
    kept = await trade.listing(buyer)
    market = trade.market
    await market.call("update_listing", by=seller, listing_id=paused["id"], status="paused")
    await market.call("get_listing", listing_id=on_sale["id"], env="test")
    await delete(market, seller)
    assert [one["id"] for one in (await market.call("search_listings", env="test"))["data"]] == [kept["id"]]
    for listing in (on_sale, paused):
        assert (await market.refusal("get_listing", listing_id=listing["id"], env="test"))["code"] == "not_found"
        order = {"listing_id": listing["id"], "input": {"text": "x"}}
        assert (await market.refusal("create_job", by=buyer, **order))["code"] == "listing_unavailable"


@pytest.mark.parametrize("status", BEFORE_WORK)
@pytest.mark.parametrize("leaver", ["seller", "buyer"])
async def test_a_job_whose_work_has_not_begun_is_declined_or_cancelled(trade: Trade, status: str, leaver: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(
        "awaiting_payment" if status == "awaiting_payment" else "open", seller, buyer, payment="upfront"
    )
    if status.startswith("quote"):
        await write_row(trade.market, JobRow, job["id"], status=status, pricing_model="quote", price=None)
    gone, other = (seller, buyer) if leaver == "seller" else (buyer, seller)
    await delete(trade.market, gone)
    left = await trade.seen(other, job)
    target = "declined" if leaver == "seller" else "cancelled"
    assert (left["status"], left["refund_due"], left["available_actions"]) == (target, False, ["message"])
    assert left["cancel_reason"] == f"the {leaver} has left the market"
    told = (await trade.market.call("list_events", by=other, types=[f"job.{target}"]))["data"]
    assert [(one["data"]["job_id"], one["data"]["by"]) for one in told] == [(job["id"], leaver)]


@pytest.mark.parametrize("status", [*GOING_ON, "disputed"])
@pytest.mark.parametrize("leaver", ["seller", "buyer"])
async def test_a_job_whose_work_has_begun_goes_on(trade: Trade, status: str, leaver: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed" if status == "disputed" else status, seller, buyer)
    if status == "disputed":
        await write_row(trade.market, JobRow, job["id"], status="disputed", review_by=None)
    gone, other = (seller, buyer) if leaver == "seller" else (buyer, seller)
    await delete(trade.market, gone)
    await close_all(trade.market)
    left = await trade.seen(other, job)
    assert left["status"] == ("delivered" if status == "revealed" else status)
    assert left[leaver] == {"id": gone.id, "handle": gone.handle}


async def test_what_a_gone_seller_delivered_is_still_paid_revealed_and_completed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    await delete(trade.market, seller)
    paid = await trade.pay(buyer, job)
    assert paid["output"] == {"english": "good day"}
    done = await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert done["status"] == "completed"
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)


async def test_the_clock_closes_what_a_gone_seller_never_delivers_and_completes_what_a_gone_buyer_never_accepts(
    trade: Trade,
) -> None:
    seller, buyer = await trade.parties()
    other, gone = await trade.agent("Other"), await trade.agent("Gone", 10_000_000)
    begun = await trade.job_at("in_progress", seller, buyer)
    revealed = await trade.job_at("revealed", other, gone)
    await delete(trade.market, seller)
    await delete(trade.market, gone)
    trade.market.pass_seconds(901)
    await trade.market.workers.sweep()
    assert (await trade.seen(other, revealed))["status"] == "completed"
    trade.market.pass_seconds(3600 + 3600)
    await trade.market.workers.sweep()
    assert (await trade.seen(buyer, begun))["status"] == "cancelled"


async def test_a_transfer_in_flight_when_its_seller_left_is_recorded_and_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    sent = await trade.send(buyer, job)
    await delete(trade.market, seller)
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (error["code"], error["details"]["settlement"]["status"]) == ("job_not_payable", "orphaned")
    assert (await trade.seen(buyer, job))["refund_due"] is True


@covers("invariant.10.history")
async def test_what_was_done_with_who_left_remains(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    market = trade.market
    job = await trade.job_at("completed", seller, buyer)
    for party, rating in ((buyer, 5), (seller, 4)):
        await market.call("review_job", by=party, job_id=job["id"], rating=rating)
    await market.call("deliver_job", by=seller, job_id=(await trade.job_at("in_progress", seller, buyer))["id"],
                      output={"english": "hi"}, message="Here it is.")  # fmt: skip
    before = await trade.seen(buyer, job)
    receipt = (await market.call("get_receipt", by=buyer, job_id=job["id"]))["receipt"]
    events = (await market.call("list_events", by=buyer, limit=100))["data"]
    await delete(market, seller)
    after = await trade.seen(buyer, job)
    assert after == before
    assert after["payment"]["settlement"]["status"] == "settled"
    left = (await market.call("get_receipt", by=buyer, job_id=job["id"]))["receipt"]
    assert left | {"issued_at": ""} == receipt | {"issued_at": ""}
    assert (await market.call("list_events", by=buyer, limit=100))["data"] == events
    assert "message.received" in {event["type"] for event in events}
    said = (await market.call("list_reviews", agent_id=buyer.id, env="test"))["data"]
    assert [(one["reviewer"], one["rating"]) for one in said] == [({"id": seller.id, "handle": seller.handle}, 4)]


async def plenty(trade: Trade) -> tuple[Agent, Agent]:
    """Return a seller with more open jobs and paused listings than one unit of work closes."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)

    def copy(tx: Tx) -> None:
        one, listing = tx.get(JobRow, job["id"]), tx.get(ListingRow, job["listing_id"])
        assert one is not None
        assert listing is not None
        for number in range(1, MANY):
            tx.add(JobRow(**one.__dict__ | {"id": f"job_{number:026}"}))
            paused = {"id": f"lst_{number:026}", "status": ListingStatus.PAUSED}
            tx.add(ListingRow(**listing.__dict__ | paused))

    await trade.market.store.write(copy)
    return seller, buyer


async def standing(store: Store, seller: Agent) -> tuple[dict[str, int], dict[str, int]]:
    """Count the jobs and listings of the seller by status."""
    jobs = await store.read(lambda tx: [row.status for row in tx.all(jobs_of_seller, seller_id=seller.id)])
    listings = await store.read(lambda tx: [str(row.status) for row in tx.all(listings_of_seller, seller_id=seller.id)])
    return {one: jobs.count(one) for one in set(jobs)}, {one: listings.count(one) for one in set(listings)}


async def close_all(market: TestMarket) -> None:
    """Run the worker now and a minute later; check that nothing is left to close."""
    await market.workers.close_deleted_accounts()
    market.pass_seconds(61)
    await market.workers.close_deleted_accounts()
    assert await market.store.read(lambda tx: tx.all(all_departures)) == []


async def test_one_call_closes_a_bounded_part_and_the_workers_the_rest(trade: Trade) -> None:
    seller, buyer = await plenty(trade)
    await delete(trade.market, seller)
    jobs, listings = await standing(trade.market.store, seller)
    assert (jobs["declined"], jobs["open"]) == (BATCH, MANY - BATCH)
    assert listings == {"active": 1, "paused": MANY - 1}, "the room of one unit was used up"
    order = {"listing_id": f"lst_{1:026}", "input": {"text": "x"}}
    assert (await trade.market.refusal("create_job", by=buyer, **order))["code"] == "listing_unavailable"
    await close_all(trade.market)
    assert await standing(trade.market.store, seller) == ({"declined": MANY}, {"archived": MANY})


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_around_any_commit_the_closing_goes_on_where_it_was(trade: Trade, when: str) -> None:
    seller, _ = await plenty(trade)
    store = trade.market.store
    await delete(trade.market, seller)
    await die_at_each_commit(trade, when)
    assert await standing(store, seller) == ({"declined": MANY}, {"archived": MANY})
    told = await store.read(lambda tx: tx.all(moves_told, type="declined"))
    assert len(told) == len({one.job_id for one in told}) == MANY, "each was declined once"
    await close_all(trade.market)


async def die_at_each_commit(trade: Trade, when: str) -> None:
    """Run workers until one finishes; each is killed one commit later than the one before."""
    store, deaths = trade.market.store, 0
    while await dies(store, Workers(trade.market.market), when, deaths + 1):
        deaths += 1
    assert deaths >= 3


async def dies(store: Store, workers: Workers, when: str, at: int) -> bool:
    """Run the step, killed at this commit; return whether it reached that commit."""
    commits = 0

    def probe(point: str, names: Any) -> None:
        nonlocal commits
        commits += point == when and "wind_down" in names
        if commits == at and point == when:
            raise ConnectionError("killed")

    store.fault_hook = probe
    try:
        await workers.close_deleted_accounts()
    except StorageError:
        return True
    finally:
        store.fault_hook = None
    return False


async def test_m11_a_job_that_cannot_be_closed_stops_none_behind_it(trade: Trade) -> None:
    seller, _ = await plenty(trade)
    for number in range(1, BATCH + 2):
        await write_row(trade.market, JobRow, f"job_{number:026}", pricing_model="nonsense")
    await delete(trade.market, seller)
    await close_all(trade.market)
    jobs, listings = await standing(trade.market.store, seller)
    assert (jobs, listings) == ({"declined": MANY - BATCH - 1, "open": BATCH + 1}, {"archived": MANY})


async def test_what_is_ordered_offered_or_made_while_its_agent_leaves_is_closed_too(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    listing, theirs = await trade.listing(seller), await trade.listing(buyer)
    given = {"listing_id": listing["id"], "input": {"text": "x"}}
    own = {"listing_id": theirs["id"], "input": {"text": "x"}}
    calls = []
    for number in range(12):
        calls.append(market.answer("create_job", given, key=buyer.keys["test"]))
        calls.append(market.answer("create_job", own, key=seller.keys["test"]))
        calls.append(market.answer("create_api_key", {"env": "test"}, key=seller.keys["live"]))
        if number == 4:
            calls.append(market.answer("delete_me", {"confirm": seller.handle}, key=seller.keys["live"]))
    answers = await asyncio.gather(*calls)
    assert {answer.status for answer in answers} <= {200, 201, 401, 409}
    await close_all(market)
    jobs, listings = await standing(market.store, seller)
    assert set(jobs) <= {"declined"}
    assert listings == {"archived": 1}
    bought, _ = await standing(market.store, buyer)
    assert set(bought) <= {"cancelled"}
    made = [orjson.loads(answer.body).get("key") for answer in answers if answer.status == 201]
    for key in filter(None, made):
        assert (await market.answer("get_me", key=key)).status == 401


async def test_who_was_let_in_again_keeps_what_is_open(trade: Trade) -> None:
    seller, _ = await plenty(trade)
    await delete(trade.market, seller)
    await write_row(trade.market, AgentRow, seller.id, status=AgentStatus.ACTIVE)
    before = await standing(trade.market.store, seller)
    await close_all(trade.market)
    assert await standing(trade.market.store, seller) == before
