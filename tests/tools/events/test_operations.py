"""Clauses of the contract about events: polling, filters, the stream, the data of each kind."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest

from storage.vocabulary import Env
from tests.requirements import covers
from tests.support.market import Agent
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade
from tools.events.records import Event, written
from tools.kernel.ids import event_id, is_id
from tools.kernel.records import encode, spliced, stamp

TRADED = ["job.created", "job.accepted", "job.delivered", "job.payment_due", "job.paid", "job.completed"]


@covers("event.poll", "route.events", "service.5.poll", "open.events.next_since", "event.id", "id.evt", "event.jobs")
@covers("event.payments")
async def test_polling_from_next_since_reads_every_event_once_and_in_order(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    start = (await trade.market.call("list_events", by=buyer))["next_since"]
    job = await trade.job_at("completed", seller, buyer)
    heard, since = list[Any](), start
    while True:
        page = await trade.market.call("list_events", by=buyer, since=since, limit=2)
        heard += page["data"]
        since = page["next_since"]
        if not page["has_more"]:
            break
    assert [one["type"] for one in heard] == TRADED
    assert [one["id"] for one in heard] == sorted({one["id"] for one in heard})
    for one in heard:
        assert (one["object"], is_id("evt_", one["id"]), one["env"]) == ("event", True, "test")
        assert (one["created_at"], one["data"]["job_id"]) == (stamp(trade.market.clock.now()), job["id"])
    assert (await trade.market.call("list_events", by=buyer, since=since))["data"] == []


@covers("event.payload", "clients.listing_id")
async def test_every_job_event_carries_what_both_parties_need(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    common = {
        "job_id": job["id"],
        "listing_id": job["listing_id"],
        "title": job["title"],
        "buyer_id": buyer.id,
        "seller_id": seller.id,
        "price": PRICE,
        "currency": "USDC",
        "payment": "on_delivery",
        "refund_due": False,
        "thread_id": job["thread_id"],
    }
    for party in (seller, buyer):
        told = [one["data"] for one in (await trade.market.call("list_events", by=party, types=["job.*"]))["data"]]
        assert [{name: data[name] for name in common} for data in told] == [common] * len(TRADED)
        states = [(data["status"], data["paid"]) for data in told]
        assert states == [
            ("open", False), ("in_progress", False), ("delivered", False), ("delivered", False), ("delivered", True), ("completed", True),
        ]  # fmt: skip
    paid = (await trade.market.call("list_events", by=seller, types=["job.paid"]))["data"][0]["data"]
    settlement = job["payment"]["settlement"]
    assert (paid["settlement_id"], paid["transaction"]) == (settlement["id"], settlement["transaction"])


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["job.paid"], ["job.paid"]),
        (["job.*"], TRADED),
        (["*"], ["agent.wallet_address_changed", *TRADED]),
        (["agent.*", "job.created"], ["agent.wallet_address_changed", "job.created"]),
        (["message.*"], []),
    ],
)
@covers("open.events.types")
async def test_types_leave_the_kinds_they_name(trade: Trade, types: list[str], expected: list[str]) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("completed", seller, buyer)
    page = await trade.market.call("list_events", by=buyer, types=types)
    assert [one["type"] for one in page["data"]] == expected
    assert (await trade.market.refusal("list_events", by=buyer, types=["job.unknown"]))["param"] == "types"


@covers("second.since_now.end")
async def test_since_now_skips_what_came_before_and_misses_nothing_after(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("open", seller, buyer)
    end = await trade.market.call("list_events", by=seller, since="now", types=["job.*"])
    assert (end["data"], end["has_more"], end["next_cursor"], end["truncated"]) == ([], False, None, False)
    job = await trade.job_at("open", seller, buyer)
    later = (await trade.market.call("list_events", by=seller, since=end["next_since"]))["data"]
    assert [(one["type"], one["data"]["job_id"]) for one in later] == [("job.created", job["id"])]
    assert (await trade.market.call("list_events", by=seller, since="now"))["next_since"] == later[0]["id"]


@covers("second.since_now.at_once")
async def test_since_now_of_an_agent_without_events_answers_at_once(trade: Trade) -> None:
    agent, before = await trade.market.register("Neva"), trade.market.clock.monotonic()
    end = await trade.market.call("list_events", by=agent, since="now", wait_seconds=55)
    assert (end["next_since"], trade.market.clock.monotonic()) == (event_id(0), before)
    agent.wallet = trade.evm.person(0)
    await trade.bind(agent)
    assert len((await trade.market.call("list_events", by=agent, since=end["next_since"]))["data"]) == 1


async def test_since_now_still_refuses_unknown_types_and_two_places(trade: Trade) -> None:
    agent = await trade.market.register("Neva")
    for given in ({"types": ["job.unknown"]}, {"cursor": event_id(1)}):
        refused = await trade.market.refusal("list_events", by=agent, **{"since": "now"} | given)
        assert refused["code"] == "invalid_request"


async def kinds(trade: Trade, agent: Agent) -> Counter[str]:
    return Counter(one["type"] for one in (await trade.market.call("list_events", by=agent, limit=100))["data"])


@covers("event.kind.job.created", "event.kind.job.accepted", "event.kind.job.delivered", "event.kind.job.paid")
@covers("event.kind.job.payment_partial", "event.kind.job.payment_orphaned", "event.kind.job.completed")
@covers("event.kind.message.received", "event.kind.review.received")
async def test_each_step_of_a_trade_is_told_once_to_whom_it_concerns(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    work = {"output": {"english": "good day"}, "message": "Done."}
    await trade.market.call("deliver_job", by=seller, job_id=job["id"], **work)
    for amount_minor in (PRICE - 1, 1):
        sent = await trade.send(buyer, job, amount_minor)
        await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 1)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=4)
    both = Counter([*TRADED, "job.payment_partial", "job.payment_orphaned", "job.refund_due"])
    both += Counter(["agent.wallet_address_changed"])
    assert await kinds(trade, buyer) == both + Counter(["message.received"])
    assert await kinds(trade, seller) == both + Counter(["review.received"])


@covers("event.kind.job.expired", "event.kind.job.cancelled")
async def test_both_parties_are_told_what_the_clock_ended(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("open", seller, buyer)
    await trade.job_at("in_progress", seller, buyer, turnaround_seconds=60)
    trade.market.pass_seconds(3660)
    await trade.market.workers.sweep()
    for party in (seller, buyer):
        told = await kinds(trade, party)
        assert (told["job.expired"], told["job.cancelled"]) == (1, 1)


@covers("event.kind.agent.referred", "event.kind.agent.wallet_address_changed")
async def test_an_agent_is_told_of_newcomers_it_sent_and_of_its_wallet(trade: Trade) -> None:
    ada = await trade.agent("Ada")
    made = await trade.market.call("register_agent", name="Bo", referred_by=ada.handle)
    wallet, referred = (await trade.market.call("list_events", by=ada))["data"]
    assert (wallet["type"], wallet["data"]["address"]) == ("agent.wallet_address_changed", ada.wallet.address)
    assert (referred["type"], referred["data"]["new_agent_id"]) == ("agent.referred", made["agent"]["id"])


async def frames(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    """Read the frames of a stream line by line, as the WHATWG describes them."""
    frame: dict[str, str] = {}
    async for line in lines:
        if not line:
            yield frame
            frame = {}
            continue
        name, _, value = line.partition(": ")
        frame[name] = value


@covers("event.stream", "route.events.stream", "service.5.sse", "event.framing")
async def test_a_stream_begins_behind_since_and_goes_on_live(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    page = await trade.market.call("list_events", by=buyer, types=["agent.*"])
    headers = {"Authorization": f"Bearer {buyer.keys['test']}"}
    async with served(trade.market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        asked = {"since": page["next_since"]}
        async with http.stream("GET", "/v1/events/stream", params=asked, headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            heard = frames(answer.aiter_lines())
            began = [await anext(heard) for _ in range(3)]
            await trade.market.call("accept_job", by=seller, job_id=job["id"])
            began.append(await anext(heard))
    assert set(began[0]) == {"retry"}
    assert [frame["event"] for frame in began[1:]] == ["ready", "job.created", "job.accepted"]
    listed = (await trade.market.call("list_events", by=buyer, types=["job.*"]))["data"]
    assert [frame["id"] for frame in began[2:]] == [one["id"] for one in listed]
    assert [orjson.loads(frame["data"]) for frame in began[2:]] == listed


@covers("event.framing")
async def test_the_lines_of_a_stream_end_in_lf_alone(trade: Trade) -> None:
    buyer = await trade.market.register("Bo")
    headers, raw = {"Authorization": f"Bearer {buyer.keys['test']}"}, b""
    async with (
        served(trade.market) as url,
        httpx.AsyncClient(base_url=url, trust_env=False) as http,
        http.stream("GET", "/v1/events/stream", headers=headers) as answer,
    ):
        async for part in answer.aiter_raw():
            raw += part
            if raw.count(b"\n\n") == 2:
                break
    assert b"\r" not in raw
    retry, ready, rest = raw.split(b"\n\n")
    assert (retry[:7], ready.split(b"\n")[0], rest) == (b"retry: ", b"event: ready", b"")


@pytest.mark.parametrize("microseconds", [0, 999, 1_000, 1_795_000_000_123_999, 253_402_300_799_999_999])
def test_an_event_is_written_as_its_record_would_be(microseconds: int) -> None:
    data = '{"n":1,"text":"\\u2028 \\"quoted\\""}'
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    record = Event(id=event_id(1_025), type="job.created", env=Env.TEST, created_at=stamp(at), data=spliced(data))
    assert written([(1_025, "job.created", microseconds, data)], "test").encode() == encode(record)
