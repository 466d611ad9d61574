"""Clauses of the contract about schedules: one event for each time, even with several processes or delays."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from storage.tables import AgentRow, ScheduleRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.databases import Opening
from tests.support.market import Agent, TestMarket, bare
from tools.events.payloads import PAYLOADS
from tools.events.schedules.records import HOW_IT_FIRES
from tools.kernel.ids import is_id
from tools.kernel.records import stamp


async def make(market: TestMarket, by: Agent, **given: Any) -> Any:
    return await market.call("create_schedule", by=by, **given)


async def told(market: TestMarket, agent: Agent, on: str = "test") -> list[Any]:
    page = await market.call("list_events", by=agent, on=on, types=["schedule.fired"], limit=100)
    return [one["data"] for one in page["data"]]


async def fire_after(market: TestMarket, seconds: float) -> int:
    market.pass_seconds(seconds)
    return await market.workers.fire_schedules()


def later(market: TestMarket, seconds: float) -> str:
    return stamp(market.clock.now() + timedelta(seconds=seconds))


@covers("service.7.schedules", "route.schedules", "open_record.schedule", "open.schedules", "event.kind.schedule.fired")
async def test_a_schedule_fires_once_at_its_time_with_its_payload(market: TestMarket) -> None:
    ada = await market.register()
    due = later(market, 90)
    made = await make(market, ada, in_seconds=90, name="Look again", payload={"job": 1})
    assert bare(made) == {
        "object": "schedule",
        "id": made["id"],
        "name": "Look again",
        "status": "active",
        "run_at": due,
        "interval_seconds": None,
        "max_runs": None,
        "run_count": 0,
        "last_run_at": None,
        "payload": {"job": 1},
        "how_it_fires": HOW_IT_FIRES,
        "env": "test",
        "created_at": later(market, 0),
    }
    assert is_id("sch_", made["id"])
    assert await fire_after(market, 89.9) == 0
    assert await fire_after(market, 0.1) == 1
    assert await fire_after(market, 0) == 0
    (data,) = await told(market, ada)
    assert data == {
        "schedule_id": made["id"],
        "name": "Look again",
        "run_count": 1,
        "scheduled_for": due,
        "payload": {"job": 1},
    }
    TypeAdapter(PAYLOADS["schedule.fired"]).validate_python(data, strict=True, extra="forbid")
    done = await market.call("get_schedule", by=ada, schedule_id=made["id"])
    after = {"status": "done", "run_at": None, "run_count": 1, "last_run_at": due}
    assert done == bare(made) | after
    assert await told(market, ada, on="live") == []


@covers("route.schedules.recurring", "open.schedules")
async def test_a_recurring_schedule_fires_until_max_runs(market: TestMarket) -> None:
    ada = await market.register()
    made = await make(market, ada, in_seconds=60, interval_seconds=60, max_runs=3)
    due = [later(market, seconds) for seconds in (60, 120, 180)]
    assert [await fire_after(market, 60) for _ in range(5)] == [1, 1, 1, 0, 0]
    assert [(one["run_count"], one["scheduled_for"]) for one in await told(market, ada)] == list(enumerate(due, 1))
    assert (await market.call("get_schedule", by=ada, schedule_id=made["id"]))["status"] == "done"


async def test_missed_times_are_skipped_along_the_times_it_was_set_for(market: TestMarket) -> None:
    ada = await market.register()
    made = await make(market, ada, in_seconds=60, interval_seconds=60)
    first, next_one = later(market, 60), later(market, 420)
    assert await fire_after(market, 365) == 1, "five times were missed: one event"
    assert [one["scheduled_for"] for one in await told(market, ada)] == [first]
    assert (await market.call("get_schedule", by=ada, schedule_id=made["id"]))["run_at"] == next_one
    assert await fire_after(market, 54) == 0
    assert await fire_after(market, 1) == 1
    assert (await told(market, ada))[1]["scheduled_for"] == next_one


async def test_a_paused_schedule_waits_and_a_single_one_is_not_lost(market: TestMarket) -> None:
    ada = await market.register()
    once = await make(market, ada, in_seconds=60, payload="once")
    often = await make(market, ada, in_seconds=60, interval_seconds=60, payload="often")

    async def turn(status: str) -> list[str]:
        changed = [
            await market.call("update_schedule", by=ada, schedule_id=one["id"], status=status) for one in (once, often)
        ]
        assert [one["status"] for one in changed] == [status] * 2
        return [one["run_at"] for one in changed]

    assert await turn("paused") == await turn("paused") == [once["run_at"], often["run_at"]]
    assert await fire_after(market, 150) == 0
    assert await turn("active") == [once["run_at"], later(market, 30)]
    assert await fire_after(market, 0) == 1
    assert await fire_after(market, 30) == 1
    assert [(one["payload"], one["run_count"]) for one in await told(market, ada)] == [("once", 1), ("often", 1)]


async def test_a_time_is_given_in_any_offset(market: TestMarket) -> None:
    ada = await market.register()
    at = market.clock.now() + timedelta(hours=1)
    for text in (
        at.isoformat(),
        stamp(at),
        at.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
    ):
        assert (await make(market, ada, run_at=text))["run_at"] == stamp(at)
    just_past = await make(market, ada, run_at=(market.clock.now() - timedelta(seconds=59)).isoformat())
    assert await fire_after(market, 0) == 1
    assert [one["schedule_id"] for one in await told(market, ada)] == [just_past["id"]]


@pytest.mark.parametrize(
    ("given", "params"),
    [
        ({}, ["in_seconds"]),
        ({"in_seconds": 1, "run_at": "2026-11-21T05:00:00Z"}, ["run_at"]),
        ({"in_seconds": -1}, ["in_seconds"]),
        ({"in_seconds": 31_536_001}, ["in_seconds"]),
        ({"run_at": "tomorrow"}, ["run_at"]),
        ({"run_at": "2026-11-21T05:00:00"}, ["run_at"]),
        ({"run_at": "2026-11-21T03:00:00Z"}, ["run_at"]),
        ({"run_at": "9999-12-31T23:59:59-23:59"}, ["run_at"]),
        ({"run_at": "0001-01-01T00:00:00+23:59"}, ["run_at"]),
        ({"in_seconds": 1, "interval_seconds": 59}, ["interval_seconds"]),
        ({"in_seconds": 1, "max_runs": 2}, ["max_runs"]),
        ({"in_seconds": 1, "max_runs": 0, "name": ""}, ["name", "max_runs"]),
        ({"run_at": "2026-11-21T03:00:00Z", "max_runs": 2}, ["run_at", "max_runs"]),
        ({"in_seconds": 1, "cron": "* * * * *"}, ["cron"]),
    ],
)
async def test_all_that_is_wrong_with_a_schedule_is_said_at_once(
    market: TestMarket, given: dict[str, Any], params: list[str]
) -> None:
    error = await market.refusal("create_schedule", by=await market.register(), **given)
    assert (error["code"], error["param"]) == ("invalid_request", params[0])
    assert [one["param"] for one in error["details"]["violations"]] == params


@pytest.mark.parametrize("payload", [None, 0, "text", [], {"a": [None]}, "x" * 16_382])
async def test_any_json_of_16_kilobytes_comes_back(market: TestMarket, payload: Any) -> None:
    ada = await market.register()
    await make(market, ada, in_seconds=0, payload=payload)
    await market.workers.fire_schedules()
    assert [one["payload"] for one in await told(market, ada)] == [payload]


async def test_schedules_are_listed_newest_first_and_by_status_and_may_be_deleted(market: TestMarket) -> None:
    ada = await market.register()
    made = []
    for number in range(4):
        made.append((await make(market, ada, in_seconds=60 * number))["id"])
        market.pass_seconds(0.002)
    await market.workers.fire_schedules()
    await market.call("update_schedule", by=ada, schedule_id=made[1], status="paused")

    async def listed(**asked: Any) -> list[str]:
        return [one["id"] for one in (await market.call("list_schedules", by=ada, **asked))["data"]]

    assert await listed() == made[::-1]
    assert [await listed(status=one) for one in ("active", "paused", "done")] == [
        [made[3], made[2]],
        [made[1]],
        [made[0]],
    ]
    page = await market.call("list_schedules", by=ada, limit=3)
    assert await listed(limit=3, cursor=page["next_cursor"]) == [made[0]]
    assert await market.call("delete_schedule", by=ada, schedule_id=made[3]) == {
        "object": "schedule", "id": made[3], "deleted": True,
    }  # fmt: skip
    assert await fire_after(market, 300) == 1
    assert (await listed(status="active"), await listed(on="live")) == ([], [])


async def test_m11_one_schedule_that_cannot_fire_does_not_stop_the_rest(market: TestMarket) -> None:
    ada = await market.register()
    made = [await make(market, ada, in_seconds=number % 3, payload=number) for number in range(60)]
    await write_row(market, ScheduleRow, made[3]["id"], interval_seconds=10**18)
    assert await fire_after(market, 3) == 59
    assert sorted(one["payload"] for one in await told(market, ada)) == [*range(3), *range(4, 60)]
    assert await fire_after(market, 1) == 0


async def test_the_schedules_of_a_deleted_agent_end(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    made = await make(market, ada, in_seconds=1, interval_seconds=60)
    await make(market, bo, in_seconds=1)
    await write_row(market, AgentRow, ada.id, status="deleted")
    assert await fire_after(market, 1) == 1
    row = await market.store.read(lambda tx: tx.get(ScheduleRow, made["id"]))
    assert row is not None
    assert (row.status, row.next_at, row.run_count) == ("done", None, 0)


async def test_two_workers_of_one_market_fire_each_schedule_once(market: TestMarket) -> None:
    ada = await market.register()
    for number in range(80):
        await make(market, ada, in_seconds=number % 5, payload=number)
    market.pass_seconds(5)
    fired = await asyncio.gather(*(market.workers.fire_schedules() for _ in range(4)))
    assert sum(fired) == 80
    assert sorted(one["payload"] for one in await told(market, ada)) == list(range(80))


async def firing(url: str, now: datetime) -> Process:
    command = (sys.executable, "-m", "tests.support.schedule_process", url, now.isoformat())
    started = await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[4], stdin=PIPE, stdout=PIPE)
    assert started.stdout
    assert await started.stdout.readline() == b"ready\n"
    return started


async def test_two_processes_on_one_postgresql_fire_each_due_time_once(postgres_url: str, opening: Opening) -> None:
    market = TestMarket(opening(postgres_url))
    agents = [await market.register(f"Agent {number}") for number in range(4)]
    for number in range(360):
        await make(market, agents[number % 4], in_seconds=number % 7, interval_seconds=60)
    due = market.clock.now().astimezone(UTC) + timedelta(seconds=400)
    processes = await asyncio.gather(*(firing(postgres_url, due) for _ in range(2)))
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    counted = [int(out) for out, _ in outputs]
    assert sum(counted) == 360
    assert [process.returncode for process in processes] == [0, 0]
    fired = [one for agent in agents for one in await told(market, agent)]
    assert set(Counter(one["schedule_id"] for one in fired).values()) == {1}
    assert {one["run_count"] for one in fired} == {1}
    assert len(fired) == 360
