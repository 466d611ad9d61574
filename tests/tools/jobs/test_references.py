"""Orders with a reference: repeated they always find the same job; with other arguments they are refused."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import live_agent
from tests.support.trade import OFFER, Trade

REFERENCE = "row-7/2026:a~!"
YEAR = 365 * 86_400


async def offered(trade: Trade, **offer: Any) -> tuple[Agent, Agent, dict[str, Any]]:
    """Return the seller, the buyer, and an order with a reference."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **offer)
    return seller, buyer, {"listing_id": listing["id"], "input": {"text": "guten Tag"}, "reference": REFERENCE}


async def answered(trade: Trade, operation: str, buyer: Agent, order: Any, **more: Any) -> tuple[int, Any]:
    """Return the status and the job of a call."""
    answer = await trade.market.answer(operation, order | more, key=buyer.keys["test"])
    assert not answer.refused, answer.body
    told = orjson.loads(answer.body)
    return answer.status, told.get("job", told)


async def jobs_of(trade: Trade, agent: Agent, **asked: Any) -> list[str]:
    return [one["id"] for one in (await trade.market.call("list_jobs", by=agent, **asked))["data"]]


@covers("clients.reference.same")
async def test_the_same_order_is_the_same_job_in_its_present_state(trade: Trade) -> None:
    seller, buyer, order = await offered(trade)
    status, made = await answered(trade, "create_job", buyer, order)
    assert (status, made["reference"]) == (201, REFERENCE)
    await trade.market.call("accept_job", by=seller, job_id=made["id"])
    status, again = await answered(trade, "create_job", buyer, order)
    assert (status, again["id"], again["status"], again["warnings"]) == (200, made["id"], "in_progress", [])
    status, hired = await answered(trade, "hire", buyer, order, wait_seconds=0)
    assert (status, hired["id"]) == (200, made["id"])
    assert await jobs_of(trade, seller) == [made["id"]]


@covers("clients.reference.ever")
async def test_a_reference_is_known_for_ever_and_whatever_became_of_the_listing(trade: Trade) -> None:
    seller, buyer, order = await offered(trade)
    _, made = await answered(trade, "hire", buyer, order, wait_seconds=0)
    trade.market.pass_seconds(YEAR)
    await trade.market.workers.sweep()
    schema = {"type": "object", "required": ["other"]}
    await trade.market.call(
        "update_listing", by=seller, listing_id=order["listing_id"], input_schema=schema, example_input={"other": 1}
    )
    await trade.market.call("archive_listing", by=seller, listing_id=order["listing_id"])
    status, again = await answered(trade, "hire", buyer, order, wait_seconds=20)
    assert (status, again["id"], again["status"]) == (200, made["id"], "expired")
    error = await trade.market.refusal("hire", by=buyer, **order | {"title": "Another"})
    assert (error["code"], error["details"]["job_id"]) == ("reference_reused", made["id"])


@covers("clients.reference.reused")
@pytest.mark.parametrize(
    "other",
    [{"input": {"text": "gute Nacht"}}, {"title": "Another"}, {"max_revisions": 3}, {"listing_id": "lst_1"}],
    ids=lambda one: next(iter(one)),
)
async def test_another_order_with_the_reference_is_refused(trade: Trade, other: Any) -> None:
    _, buyer, order = await offered(trade)
    _, made = await answered(trade, "create_job", buyer, order)
    for operation in ("create_job", "hire"):
        error = await trade.market.refusal(operation, by=buyer, **order | other)
        assert (error["code"], error["param"]) == ("reference_reused", "reference")
        assert error["details"]["job_id"] == made["id"]
    assert await jobs_of(trade, buyer) == [made["id"]]


async def test_what_is_said_in_other_words_is_the_same_order(trade: Trade) -> None:
    """Defaults may be written out, and numbers in any form of JSON."""
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    _, buyer, order = await offered(trade, input_schema=schema, example_input={"n": 1})
    _, made = await answered(trade, "create_job", buyer, order | {"input": {"n": 1, "m": 2}})
    status, again = await answered(
        trade, "create_job", buyer, order | {"input": {"m": 2.0, "n": 1.0}, "units": 1, "max_revisions": 2}
    )
    assert (status, again["id"]) == (200, made["id"])


@covers("clients.reference.unique")
async def test_a_reference_belongs_to_one_buyer_in_one_environment(trade: Trade) -> None:
    _, buyer, order = await offered(trade, price=0)
    other, live = await trade.agent("Cy"), await live_agent(trade, "Lea")
    on_live = await trade.market.call("create_listing", by=live, on="live", **OFFER | {"price": 0})
    made = [
        (await answered(trade, "create_job", buyer, order))[1],
        (await answered(trade, "create_job", other, order))[1],
        await trade.market.call("create_job", by=buyer, on="live", **order | {"listing_id": on_live["id"]}),
    ]
    assert len({one["id"] for one in made}) == 3
    assert await jobs_of(trade, buyer, reference=REFERENCE) == [made[0]["id"]]
    assert await jobs_of(trade, other, reference=REFERENCE) == [made[1]["id"]]


@covers("clients.reference.list")
async def test_list_jobs_finds_the_job_of_a_reference(trade: Trade) -> None:
    seller, buyer, order = await offered(trade, price=0)
    _, made = await answered(trade, "create_job", buyer, order)
    await trade.order(buyer, {"id": order["listing_id"]})
    found = await trade.market.call("list_jobs", by=buyer, reference=REFERENCE, limit=1)
    assert ([one["id"] for one in found["data"]], found["has_more"]) == ([made["id"]], False)
    assert await jobs_of(trade, buyer, reference=REFERENCE, role="buyer") == [made["id"]]
    assert await jobs_of(trade, buyer, reference=REFERENCE, role="seller") == []
    assert await jobs_of(trade, buyer, reference="unknown") == []
    assert await jobs_of(trade, seller, reference=REFERENCE) == []


@covers("clients.reference.private")
async def test_only_the_buyer_sees_the_reference(trade: Trade) -> None:
    seller, buyer, order = await offered(trade)
    _, made = await answered(trade, "create_job", buyer, order)
    assert (await trade.seen(buyer, made))["reference"] == REFERENCE
    assert (await trade.seen(seller, made))["reference"] is None
    told = await trade.market.call("list_events", by=seller, types=["job.*"])
    assert REFERENCE not in str(told)


@pytest.mark.both_databases
@covers("clients.reference.same")
async def test_orders_sent_at_once_make_one_job(trade: Trade) -> None:
    """A new buyer may hold one place: the second order must not be refused because of the first."""
    seller, buyer, order = await offered(trade)
    told = await asyncio.gather(*(answered(trade, "create_job", buyer, order) for _ in range(8)))
    assert sorted(status for status, _ in told) == [200] * 7 + [201]
    assert len({job["id"] for _, job in told}) == 1
    assert len(await jobs_of(trade, seller)) == 1


@pytest.mark.both_databases
async def test_of_different_orders_sent_at_once_one_is_made(trade: Trade) -> None:
    seller, buyer, order = await offered(trade, price=0)
    other = await trade.listing(seller, price=0)
    calls = [order | {"listing_id": one} for one in (order["listing_id"], other["id"]) * 4]
    answers = await asyncio.gather(*(trade.market.answer("create_job", one, key=buyer.keys["test"]) for one in calls))
    made = [orjson.loads(one.body)["id"] for one in answers if not one.refused]
    refused = {orjson.loads(one.body)["error"]["code"] for one in answers if one.refused}
    assert (len(made), len(set(made)), refused) == (4, 1, {"reference_reused"})


@pytest.mark.parametrize("wrong", ["", "a b", "ä", "x" * 65, "a\n", "\x7f", 7])
async def test_a_reference_is_visible_ascii(trade: Trade, wrong: Any) -> None:
    _, buyer, order = await offered(trade)
    for operation, given in (("create_job", order), ("hire", order), ("list_jobs", {})):
        error = await trade.market.refusal(operation, by=buyer, **given | {"reference": wrong})
        assert (error["code"], error["param"]) == ("invalid_request", "reference")


async def test_a_dry_run_takes_no_reference_and_finds_one(trade: Trade) -> None:
    _, buyer, order = await offered(trade)
    key = buyer.keys["test"]
    shown = await trade.market.answer("create_job", order, key=key, dry_run=True)
    assert (shown.status, await jobs_of(trade, buyer)) == (201, [])
    _, made = await answered(trade, "create_job", buyer, order)
    shown = await trade.market.answer("create_job", order, key=key, dry_run=True)
    assert (shown.status, orjson.loads(shown.body)["id"]) == (200, made["id"])


async def test_an_idempotency_key_repeats_the_answer_with_its_status(trade: Trade) -> None:
    seller, buyer, order = await offered(trade, payment="upfront")
    key = buyer.keys["test"]
    _, made = await answered(trade, "create_job", buyer, order)
    await trade.market.call("accept_job", by=seller, job_id=made["id"])  # it is the buyer's turn, so hire does not wait
    for operation, more in (("create_job", {}), ("hire", {"wait_seconds": 1})):
        first = await trade.market.answer(operation, order | more, key=key, repeat=f"again {operation}")
        again = await trade.market.answer(operation, order | more, key=key, repeat=f"again {operation}")
        assert (first.status, first.replayed, again.status, again.replayed) == (200, False, 200, True)


async def test_a_key_without_the_scope_hears_nothing_of_a_reference(trade: Trade) -> None:
    _, buyer, order = await offered(trade)
    await answered(trade, "create_job", buyer, order)
    reader = await trade.market.call("create_api_key", by=buyer, env="test", scopes=["read"])
    refused = await trade.market.answer("create_job", order, key=reader["key"])
    assert orjson.loads(refused.body)["error"]["code"] == "forbidden"
