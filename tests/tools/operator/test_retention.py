"""Retention: data that is kept until an exact time, and data that stays until the operator deletes it."""

from typing import Any

import orjson
from sqlalchemy import select

from storage.query import Query
from storage.rows import metadata
from storage.store import Store
from tests.requirements import covers
from tests.support.bounties import bounty, propose
from tests.support.http_receiver import Receiver
from tests.support.market import TestMarket
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade
from tests.support.webhooks import opened
from tests.tools.agents.test_recovery_operations import rotation, sign

DAY = 86_400
FOR_A_TIME = {
    "answers",
    "answer_bodies",
    "rate_windows",
    "events",
    "webhook_deliveries",
    "webhook_hosts",
    "signature_uses",
    "searches",
}
ANSWERS, EVENTS = Query(select(metadata.tables["answers"])), Query(select(metadata.tables["events"]))
STAYS = {table.name: Query(select(table)) for table in metadata.sorted_tables if table.name not in FOR_A_TIME}


async def later(market: TestMarket, seconds: float) -> None:
    market.pass_seconds(seconds)
    await market.workers.purge_old()


async def all_that_stays(market: TestMarket) -> dict[str, list[str]]:
    return await market.store.read(lambda tx: {name: sorted(map(repr, tx.all(one))) for name, one in STAYS.items()})


async def test_an_event_is_kept_ninety_days_and_an_attempt_to_post_it_thirty(store: Store) -> None:
    async with opened(store) as scene, Receiver() as receiver:
        ada = await scene.market.register()
        hook = await scene.hook(ada, receiver)
        await scene.tell(ada)
        await scene.sender.step()
        kept = []
        for seconds in (30 * DAY - 1, 2, 60 * DAY - 2, 2):
            await later(scene.market, seconds)
            kept.append((len(await scene.events(ada)), len(await scene.deliveries(ada, hook))))
        assert kept == [(1, 1), (1, 0), (1, 0), (0, 0)]


async def test_a_reader_that_slept_longer_than_events_are_kept_is_told_so(store: Store) -> None:
    async with opened(store) as scene:
        ada = await scene.market.register()
        await scene.tell(ada, *["job.created"] * 3)
        first, second, last = [one["id"] for one in await scene.events(ada)]
        await scene.sender.step()

        async def read() -> list[tuple[int, bool]]:
            """Count events since the first, second, last and no event; `truncated` for each."""
            pages = [await scene.market.call("list_events", by=ada, since=one) for one in (first, second, last, None)]
            return [(len(page["data"]), page["truncated"]) for page in pages]

        assert await read() == [(2, False), (1, False), (0, False), (3, False)]
        await later(scene.market, 91 * DAY)
        assert await read() == [(0, True), (0, True), (0, False), (0, False)], "also where no event is left at all"
        await scene.tell(ada)
        assert await read() == [(1, True), (1, True), (1, False), (1, False)]


async def test_the_answer_to_an_idempotency_key_is_kept_a_day(market: TestMarket) -> None:
    ada = await market.register()
    given: dict[str, Any] = {"key": "count", "value": 1}

    async def again_after(seconds: float) -> tuple[int, bool, int]:
        await later(market, seconds)
        kept = await market.store.read(lambda tx: len(tx.all(ANSWERS)))
        answer = await market.answer("put_memory", given, key=ada.keys["test"], repeat="one-key-of-an-agent-0001")
        return kept, answer.replayed, orjson.loads(answer.body)["version"]

    first, second, third = [await again_after(seconds) for seconds in (0, DAY - 1, 2)]
    version = first[2]
    assert (first, second) == ((0, False, version), (1, True, version))
    assert third == (0, False, version + 1), "after a day the key is any other key"


@covers("limit.retention")
async def test_everything_else_stays_whatever_its_age(trade: Trade) -> None:
    market, (seller, buyer) = trade.market, await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    ref = {"job_id": job["id"]}
    for agent in (seller, buyer):
        await market.call("review_job", by=agent, **ref, rating=5)
    assert not (await sign(market, buyer, "rotate_key", **rotation(buyer))).refused
    receipt = await market.call("get_receipt", by=buyer, **ref)
    await market.call("post_message", by=buyer, thread_id=job["thread_id"], body="Thank you.")
    await market.call("put_memory", by=buyer, key="notes/today", value="went well")
    await market.call("create_schedule", by=buyer, in_seconds=60)
    await market.call("create_webhook", by=buyer, url="https://agent.example/hook")
    await market.call("report_support", by=buyer, message="Nothing is wrong.")
    await market.call("add_domain", by=buyer, domain="agent.example.com")
    posted = await bounty(trade, buyer, expires_in_seconds=7_776_000)
    await propose(trade, seller, posted)
    await market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    judge = await evaluator(trade)
    court = await Court.of(trade, seller, buyer, {judge.id: judge})
    await court.votes("split")
    await market.workers.write_touches()
    before = await all_that_stays(market)
    assert {name for name, rows in before.items() if not rows} == {
        "archived_jobs", "archives", "bounty_alerts", "departures", "domains_held", "faucet_claims", "house", "identities", "listing_promises", "open_refunds",
        "payment_searches", "peer_catalogs", "purchases", "retired_keys", "unindexed_agents", "unmarked_jobs", "webhook_fanout", "x402_accounts",
    }  # fmt: skip
    assert await market.store.read(lambda tx: tx.all(EVENTS))
    await later(market, 10 * 365 * DAY)
    assert await all_that_stays(market) == before
    assert await market.store.read(lambda tx: tx.all(EVENTS)) == []
    again = (await market.call("get_receipt", by=buyer, **ref))["receipt"]
    assert again == receipt["receipt"] | {"issued_at": again["issued_at"]}
