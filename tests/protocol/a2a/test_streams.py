"""Streams of a task over A2A: changes of the job are sent as updates until it ends or the client has to act."""

import asyncio
from itertools import groupby
from typing import Any

import pytest

from tests.support.a2a_requests import FORMS, HTTP_03, HTTP_1, RPC_1, RPC_FORMS
from tests.support.a2a_tasks import data_in, desk_of, states_in, until_waiting
from tests.support.trade import Trade

INPUT = {"text": "guten Tag"}
STATUS = "x402.payment.status"


async def ended(stream: "asyncio.Task[list[Any]]") -> list[Any]:
    async with asyncio.timeout(10):
        return await stream


@pytest.mark.parametrize("form", FORMS)
async def test_an_order_is_followed_until_its_payment_is_due(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        stream = desk.saying(form, {"listing_id": listing["id"], "input": INPUT})
        await until_waiting(trade)
        (job,) = (await trade.market.call("list_jobs", by=seller))["data"]
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await until_waiting(trade)
        await trade.deliver(seller, job)
        events = await ended(stream)
    assert states_in(events)[:2] == ["SUBMITTED", "WORKING"]
    assert set(states_in(events)[2:]) == {"INPUT_REQUIRED"}
    assert events[0]["task"]["id"] == events[-1]["statusUpdate"]["taskId"] == job["id"]
    assert {one["statusUpdate"]["contextId"] for one in events[1:]} == {job["thread_id"]}
    assert events[-1]["statusUpdate"]["status"]["message"]["metadata"][STATUS] == "payment-required"
    assert not trade.market.market.notifier.ears, "the place is free again"


@pytest.mark.parametrize("form", FORMS)
async def test_a_payment_brings_the_artifact_to_who_follows(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        stream = desk.following(form, job["id"])
        await until_waiting(trade)
        await trade.pay(buyer, job)
        events = await ended(stream)
    first, artifact, *_, last = events
    assert not first["task"].get("artifacts")
    assert data_in(form, artifact["artifactUpdate"]["artifact"]) == {"english": "good day"}
    assert artifact["artifactUpdate"]["artifact"]["artifactId"] == f"{job['id']}-output"
    assert last["statusUpdate"]["status"]["message"]["metadata"][STATUS] == "payment-completed"


@pytest.mark.parametrize("form", FORMS)
async def test_a_message_of_the_other_party_comes_as_an_update(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        stream = desk.following(form, job["id"])
        await until_waiting(trade)
        await trade.market.call(
            "post_message", by=seller, thread_id=job["thread_id"], body="Nearly done.", data={"n": 1}
        )
        await until_waiting(trade)
        assert not stream.done()
        await trade.market.call("cancel_job", by=seller, job_id=job["id"])
        events = await ended(stream)
    assert states_in(events) == ["WORKING", "WORKING", "CANCELED"]
    said = events[1]["statusUpdate"]["status"]["message"]
    assert [part["text"] for part in said.get("parts", said.get("content")) if "text" in part] == ["Nearly done."]
    assert data_in(form, said) == {"n": 1}


@pytest.mark.parametrize("form", [RPC_1, HTTP_1])
@pytest.mark.parametrize(
    ("end", "state"), [("decline", "REJECTED"), ("cancel", "CANCELED"), ("expire", "FAILED"), ("complete", "COMPLETED")]
)
async def test_a_stream_ends_with_the_job(trade: Trade, form: str, end: str, state: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed" if end == "complete" else "open", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        stream = desk.following(form, job["id"])
        await until_waiting(trade)
        if end == "expire":
            trade.market.pass_seconds(3 * 86_400)
            await trade.market.workers.sweep()
        else:
            by = seller if end == "decline" else buyer
            operation = {"complete": "accept_job"}.get(end, f"{end}_job")
            await trade.market.call(operation, by=by, job_id=job["id"])
        events = await ended(stream)
        again = await ended(desk.following(form, job["id"]))
    assert states_in(events)[-1] == state
    assert again[0]["error"]["code"] == (-32004 if form in RPC_FORMS else 400)


async def test_every_step_of_a_job_is_an_update_and_each_stream_ends_where_its_follower_must_act(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    mine = {"job_id": job["id"]}
    heard = []
    async with desk_of(trade, buyer) as desk, desk_of(trade, seller) as hers:
        for steps in (
            [("accept_job", seller, {}), ("deliver_job", seller, {"output": {"english": "good day"}})],
            [("pay_job", buyer, {"transaction": None})],
            [
                ("request_revision", buyer, {"message": "Shorter."}),
                ("deliver_job", seller, {"output": {"english": "hi"}}),
            ],
            [("accept_job", buyer, {})],
        ):
            stream = desk.following(RPC_1, job["id"])
            await until_waiting(trade)
            for operation, by, given in steps:
                if operation == "pay_job":
                    given = {"transaction": await trade.send(buyer, job)}
                await trade.market.call(operation, by=by, **mine, **given)
            heard.append([state for state, _ in groupby(states_in(await ended(stream)))])
        fresh = await trade.order(buyer, {"id": job["listing_id"]})
        theirs = hers.following(RPC_1, fresh["id"])
        await until_waiting(trade)
        await trade.market.call("accept_job", by=seller, job_id=fresh["id"])
        assert states_in(await ended(theirs)) == ["SUBMITTED", "WORKING"], "it is the seller's turn"
    assert heard == [
        ["SUBMITTED", "WORKING", "INPUT_REQUIRED"],
        ["INPUT_REQUIRED"],
        ["INPUT_REQUIRED", "WORKING", "INPUT_REQUIRED"],
        ["INPUT_REQUIRED", "COMPLETED"],
    ]


async def test_a_stream_that_was_left_is_taken_up_with_what_is_so_now(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        left = desk.following(RPC_1, job["id"])
        await until_waiting(trade)
        left.cancel()
        await asyncio.wait([left])
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        stream = desk.following(RPC_1, job["id"])
        await until_waiting(trade)
        await trade.deliver(seller, job)
        events = await ended(stream)
    assert states_in(events)[:2] == ["WORKING", "INPUT_REQUIRED"]


async def test_a_stream_ends_with_its_key_and_with_the_process(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    notifier = trade.market.market.notifier
    async with desk_of(trade, buyer) as desk, desk_of(trade, seller) as hers:
        mine, theirs = desk.following(RPC_1, job["id"]), hers.following(RPC_1, job["id"])
        await until_waiting(trade, 2)
        for key in (await trade.market.call("list_api_keys", by=buyer))["data"]:
            if key["env"] == "test":
                await trade.market.call("revoke_api_key", by=buyer, on="live", key_id=key["id"])
        notifier.close()
        assert states_in(await ended(mine)) == ["SUBMITTED"]
        assert states_in(await ended(theirs)) == ["SUBMITTED"]


async def test_what_other_jobs_do_is_no_update(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    one, two = await trade.order(buyer, listing), await trade.order(buyer, listing)
    async with desk_of(trade, buyer) as desk:
        stream = desk.following(RPC_1, one["id"])
        await until_waiting(trade)
        await trade.market.call("decline_job", by=seller, job_id=two["id"])
        await until_waiting(trade)
        await trade.market.call("decline_job", by=seller, job_id=one["id"])
        events = await ended(stream)
    assert states_in(events) == ["SUBMITTED", "REJECTED"]


@pytest.mark.parametrize("form", FORMS)
async def test_who_follows_too_much_at_once_is_told_so_and_not_left_without_a_word(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        places = trade.market.market.config.limits.streams_per_key
        streams = [desk.following(RPC_1, job["id"]) for _ in range(places)]
        await until_waiting(trade, places)
        snapshot, *refused = await ended(desk.following(form, job["id"]))
        await trade.market.call("decline_job", by=seller, job_id=job["id"])
        for stream in streams:
            assert states_in(await ended(stream)) == ["SUBMITTED", "REJECTED"]
    assert states_in([snapshot]) == ["SUBMITTED"]
    said = [one["error"]["message"] for one in refused]
    assert said == ([] if form == HTTP_03 else [f"this key has {places} streams open"]), (
        "there is no event for it in one form"
    )
