"""Slow checks are stopped by ending their process, and other calls do not wait for them."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from hashlib import sha256
from typing import Any

import orjson
import pytest

import server.adapters.checks
import tools.engine.documents
import tools.listings.acceptance_rules
import tools.screening.logic
from server.adapters.checks import PROCESSES, WAITING_EACH, CheckPool
from server.adapters.fair_queue import FairQueue
from storage.store import Store
from tests.requirements import covers
from tests.support.market import CHECKS, TestMarket
from tests.support.refusals import COSTLY, LONG
from tests.support.trade import OFFER, TEXT, Trade
from tools.engine.ports import ChecksBusy, CheckTooLong
from tools.kernel.json_schema import checker_for, validate_schema
from tools.kernel.schema_cost import is_expensive
from tools.listings.acceptance_rules import failures, is_costly, rules_in

COSTLY_TEXT = orjson.dumps(COSTLY).decode()


@pytest.fixture(autouse=True)
def _a_slow_machine_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks here are limited by processor time only, whatever else the machine runs."""
    monkeypatch.setattr(server.adapters.checks, "WALL_SECONDS", 60.0)


ROWS = orjson.dumps({"type": "object", "properties": {"a": {"items": {"type": "object", "required": ["id"]}}}}).decode()


@covers("error.more.schema_too_expensive")
async def test_a13_a_hostile_document_is_stopped_while_honest_orders_go_on(trade: Trade) -> None:
    seller, buyer = await trade.agent("Sela"), await trade.agent("Bo")
    evil = await trade.listing(seller, input_schema=COSTLY, example_input=None, price=0)
    honest = await trade.listing(seller, price=0, max_open_jobs=1000)
    before = CHECKS.killed
    attack = asyncio.create_task(trade.market.refusal("create_job", by=buyer, listing_id=evil["id"], input=LONG))
    took = []
    for number in range(100):
        started = time.perf_counter()
        error = await trade.market.refusal("create_job", by=buyer, listing_id=honest["id"], input={"txt": number})
        took.append(time.perf_counter() - started)
        assert error["code"] == "input_schema_mismatch"
        await asyncio.sleep(0.002)
    print(f"100 honest checks beside a hostile one: p99 {sorted(took)[98] * 1000:.1f} ms")
    assert (await attack)["code"] == "schema_too_expensive"
    assert CHECKS.killed == before + 1


async def test_a_large_honest_document_is_checked_in_the_process_like_anywhere() -> None:
    good, bad = {"a": [{"id": n} for n in range(9_000)]}, {"a": [{"id": n} for n in range(9_000)] + [{}]}
    assert is_expensive(ROWS, len(orjson.dumps(good)))
    assert list(await CHECKS.violations(ROWS, good, by="ann")) == []
    assert list(await CHECKS.violations(ROWS, bad, by="ann")) == checker_for(ROWS).violations(bad)


async def test_a13_what_the_gate_admits_the_process_reads_in_its_time() -> None:
    """Otherwise the seller of such a listing could never deliver."""
    patterns = {f"p{n}": {"pattern": r"\d" * 25 + "a" * n} for n in range(45)}
    schema: dict[str, Any] = {"type": "object", "properties": patterns}
    for _ in range(28):
        schema = {"type": "object", "allOf": [schema]}
    validate_schema(schema)
    found = await CHECKS.violations(orjson.dumps(schema).decode(), dict.fromkeys(patterns, "zz"), by="ann")
    assert len(found) > 0


async def test_a_killed_check_is_followed_by_others_and_its_market_closes_the_processes() -> None:
    pool = CheckPool()
    for _ in range(3):
        with pytest.raises(CheckTooLong):
            await pool.violations(COSTLY_TEXT, LONG, by="ann")
        assert list(await pool.violations(ROWS, {"a": [{}]}, by="ann")) != []
    children = [child.process for child in pool.children]
    pool.close()
    assert (pool.killed, [child.poll() is not None for child in children]) == (3, [True] * len(children))


async def test_too_many_waiting_documents_are_refused_for_now(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any, **__: Any) -> Any:
        raise ChecksBusy

    market = TestMarket(store)
    monkeypatch.setattr(CHECKS, "violations", busy)
    seller = await market.register("Sela")
    offer = OFFER | {"input_schema": COSTLY, "example_input": LONG}
    error = await market.refusal("create_listing", by=seller, **offer)
    assert (error["code"], error["retryable"]) == ("overloaded", True)


async def test_only_so_many_of_one_agent_wait_and_others_are_not_refused_for_it() -> None:
    pool = CheckPool()
    asked = [asyncio.create_task(pool.violations(ROWS, {"a": []}, by="many")) for _ in range(80)]
    others = [asyncio.create_task(pool.violations(ROWS, {"a": []}, by=f"agent {n}")) for n in range(20)]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, ChecksBusy) for one in ended) == 80 - 1 - WAITING_EACH
    assert sum(one == [] for one in ended) == 1 + WAITING_EACH
    assert await asyncio.gather(*others) == [[]] * 20
    pool.close()


async def test_a_check_in_process_waits_for_one_of_the_same_agent_only() -> None:
    pool, ended = CheckPool(), []

    async def ask(by: str, schema: str, value: Any) -> None:
        with contextlib.suppress(CheckTooLong):
            await pool.violations(schema, value, by=by)
        ended.append(by)

    await asyncio.gather(*(pool.violations(ROWS, {"a": []}, by=by) for by in ("one", "two")))  # start both processes
    evil = [asyncio.create_task(ask("evil", COSTLY_TEXT, LONG)) for _ in range(6)]
    honest = [asyncio.create_task(ask("honest", ROWS, {"a": []})) for _ in range(6)]
    await asyncio.gather(*evil, *honest)
    pool.close()
    assert (pool.killed, len(ended)) == (6, 12)
    assert ended.index("evil", ended.index("evil") + 1) > max(
        place for place, by in enumerate(ended) if by == "honest"
    ), "all honest ones end before a second hostile one"


async def test_agents_take_turns_and_where_all_queues_are_full_the_longest_gives_way() -> None:
    fair, had = FairQueue(places=1, each=3, most=4), []

    async def wait(by: str) -> None:
        await fair.acquire(by)
        had.append(by)
        fair.release(by)

    await fair.acquire("a")
    ended = asyncio.gather(*(wait(by) for by in ("b", "b", "b", "b", "c", "d", "c", "d")), return_exceptions=True)
    await asyncio.sleep(0)
    assert {by: len(queue) for by, queue in fair.queues.items()} == {"b": 2, "c": 1, "d": 1}
    fair.release("a")
    refused = [isinstance(one, ChecksBusy) for one in await ended]
    assert refused == [False, False, True, True, False, False, True, True]
    assert (had, fair.free, fair.running, fair.queues) == (["b", "c", "d", "b"], 1, set(), {})


async def test_the_process_that_stands_in_for_a_killed_one_is_warm() -> None:
    pool = CheckPool()
    await pool.violations(ROWS, {"a": []}, by="ann")
    before = {child.process.pid for child in pool.children}
    for _ in range(3):
        with pytest.raises(CheckTooLong):
            await pool.violations(COSTLY_TEXT, LONG, by="ann")
    after = {child.process.pid for child in pool.children}
    assert before <= after, "a kill ends a fork, its parent has all loaded"
    assert (len(after) <= PROCESSES, all(child.ready for child in pool.children)) == (True, True)
    pool.close()


async def test_a_process_that_was_killed_from_outside_is_replaced() -> None:
    pool = CheckPool()
    for _ in range(2 * PROCESSES):
        await pool.violations(ROWS, {"a": []}, by="ann")
    for child in tuple(pool.children):
        os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
    for _ in range(2 * PROCESSES):
        assert list(await pool.violations(ROWS, {"a": [{}]}, by="ann")) == checker_for(ROWS).violations({"a": [{}]})
    pool.close()


async def test_one_who_leaves_gives_the_turn_back_when_the_process_is_free() -> None:
    pool = CheckPool()
    asked = [asyncio.create_task(pool.violations(COSTLY_TEXT, LONG, by="evil")) for _ in range(3)]
    await asyncio.sleep(0)
    for one in asked:
        one.cancel()
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in ended] == [asyncio.CancelledError] * 3
    assert (pool.queue.running, pool.queue.queues) == ({"evil"}, {}), "one is in its process still"
    assert list(await pool.violations(ROWS, {"a": []}, by="evil")) == []
    assert (pool.killed, pool.queue.free) == (1, PROCESSES)
    pool.close()


async def test_acceptance_rules_of_a_large_output_are_checked_in_the_process_like_anywhere() -> None:
    output = {"d": [1.5e-7] * 5_000, "e": [1]}
    rules = [
        {"name": "kept", "kind": "sha256", "path": "/e", "value": sha256(b"[1]").hexdigest()},
        {"name": "hash", "kind": "sha256", "path": "/d", "value": "0" * 64},
        {"name": "list", "kind": "schema", "path": "", "value": {"type": "object", "properties": {"e": {"maxItems": 0}}}},
        {"name": "gone", "kind": "present", "path": "/f", "value": None},
    ]  # fmt: skip
    text = orjson.dumps(rules).decode()
    assert is_costly(rules_in(text), len(orjson.dumps(output)))
    found = await CHECKS.unkept(text, output, by="ann")
    assert found == [(rule.name, why) for rule, why in failures(rules_in(text), output)]
    assert [name for name, _ in found] == ["hash", "gone", "list"]


async def test_rules_that_hash_a_large_output_leave_the_event_loop_and_are_refused_where_they_take_too_long(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller, buyer = await trade.parties()
    numbers: Any = [1.5e-7] * 60_000
    paths = [""] + ["/d" + "/0" * deep for deep in range(15)]
    for _ in range(14):
        numbers = [numbers]
    rules = [{"name": path or "all", "kind": "sha256", "path": path, "value": "0" * 64} for path in paths]
    offer = {"acceptance": rules, "output_schema": None, "example_output": None}
    job = await trade.job_at("in_progress", seller, buyer, **offer)
    work = {"job_id": job["id"], "output": {"d": numbers}}
    before = CHECKS.killed
    refused = await trade.market.refusal("deliver_job", by=seller, **work)
    assert (refused["code"], CHECKS.killed - before) == ("schema_too_expensive", 1)
    same = [{"name": f"r{n}", "kind": "sha256", "path": "/d", "value": "0" * 64} for n in range(16)]
    other = await trade.job_at("in_progress", seller, buyer, **offer | {"acceptance": same})
    monkeypatch.setattr(tools.listings.acceptance_rules, "canonical", None)  # hashing in this process would fail
    refused = await trade.market.refusal("deliver_job", by=seller, job_id=other["id"], output={"d": [1.5e-7] * 10_000})
    assert [one["rule"] for one in refused["details"]["violations"]] == [one["name"] for one in same]


async def test_a_delivery_that_nobody_waits_for_is_refused_before_it_is_judged(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def judged(*_: Any, **__: Any) -> Any:
        raise AssertionError("judged")

    seller, buyer = await trade.parties()
    offer = {"output_schema": COSTLY, "example_output": None}
    job = await trade.job_at("in_progress", seller, buyer, **offer)
    early = await trade.job_at("open", seller, buyer, **offer | {"payment": "upfront"})
    done = await trade.job_at("in_progress", seller, buyer, **offer | {"price": 0})
    await trade.deliver(seller, done, {"a": [1]})
    monkeypatch.setattr(CHECKS, "violations", judged)
    for by, which in ((buyer, job), (seller, early), (seller, done)):
        refused = await trade.market.refusal("deliver_job", by=by, job_id=which["id"], output=LONG)
        assert refused["code"] == "invalid_transition"
    again = await trade.deliver(seller, done, {"a": [1]})
    assert again["id"] == done["id"], "the same work again is no other delivery"


async def test_long_work_is_screened_beside_the_event_loop(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    where = []

    def seen(value: Any, at_most: int | None = None) -> list[str]:
        where.append((len(orjson.dumps(value)) > 4_000, threading.current_thread() is threading.main_thread()))
        return []

    seller, buyer = await trade.parties()
    offer = {"input_schema": None, "example_input": None, "output_schema": None, "example_output": None}
    listing = await trade.listing(seller, **offer)
    monkeypatch.setattr(tools.screening.logic, "warnings_in", seen)
    for size in (10, 5_000):
        job = await trade.order(buyer, listing, input={"text": "x" * size})
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await trade.deliver(seller, job, {"english": "x" * size})
    assert [one for one in where if one[0]] == [(True, False)] * 2
    assert (False, True) in where


async def test_a_listing_that_changes_in_part_is_judged_in_part(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    measure = tools.engine.documents.canonical_document

    async def measured(value: Any, *given: Any) -> Any:
        judged.append(value)
        return await measure(value, *given)

    monkeypatch.setattr(tools.engine.documents, "validate_schema", lambda schema: judged.append(schema))
    monkeypatch.setattr(tools.engine.documents, "canonical_document", measured)

    async def change(**given: Any) -> Any:
        judged.clear()
        return await trade.market.call("update_listing", by=seller, listing_id=listing["id"], **given)

    parts = ("input_schema", "output_schema", "example_input", "example_output", "acceptance", "tags")
    renamed = await change(title="Translate to plain English", price=7)
    assert (judged, renamed["title"]) == ([], "Translate to plain English")
    assert {name: renamed[name] for name in parts} == {name: listing[name] for name in parts}
    other = TEXT | {"title": "other"}
    changed = await change(input_schema=other)
    assert judged == [other, listing["example_input"]]
    assert {name: changed[name] for name in parts} == {name: listing[name] for name in parts} | {"input_schema": other}
    judged.clear()
    refused = await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], output_schema=TEXT)
    assert (refused["param"], judged) == ("example_output", [TEXT, listing["example_output"]]), "what stays must fit"
    bare = await change(example_input=None)
    assert (judged, bare["example_input"], bare["input_schema"]) == ([], None, other)
