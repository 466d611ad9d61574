"""Schedules: set, paused, fired, deleted."""

from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    made = await say("create_schedule", say.buyer, in_seconds=0, interval_seconds=60, payload={"a": [1]})
    await say("create_schedule", say.buyer, run_at="yesterday", max_runs=0)
    ref = {"schedule_id": made["id"]}
    await say.market.workers.fire_schedules()
    await say("get_schedule", say.buyer, **ref)
    await say("get_schedule", say.seller, **ref)
    await say("list_events", say.buyer, types=["schedule.fired"])
    await say("update_schedule", say.buyer, **ref, status="paused")
    await say("update_schedule", say.buyer, **ref, status="done")
    await say("list_schedules", say.buyer, status="paused")
    await say("list_schedules", say.buyer, status="late")
    await say("delete_schedule", say.buyer, **ref)
    await say("delete_schedule", say.buyer, **ref)
