"""Every move of the lifecycle, made over REST, is an update of the A2A task; every A2A request works in every state.

A move of the table that no journey makes fails here.
"""

from dataclasses import replace
from datetime import datetime

import pytest

from protocol.a2a.task_view import FINAL, STATES
from server.workers import context_of
from storage.tables import JobRow
from storage.transaction import Tx
from storage.vocabulary import FINAL as ENDED
from storage.vocabulary import Env, JobStatus
from tests.end_to_end.a2a_states.journeys import JOURNEYS, ROWS, first_seen
from tests.end_to_end.a2a_states.walking import A2A, REST, Walk
from tests.end_to_end.processes.pair import Wired
from tests.support.protocols import served
from tests.support.trade import Trade
from tools.jobs.snapshot import load
from tools.purchases.logic import cancel_job_of

CANCELS = [name for name, journey in JOURNEYS.items() if journey.cancels]


def test_the_journeys_make_every_move_of_the_table_and_stand_in_every_state() -> None:
    made = {key for journey in JOURNEYS.values() for key in journey.keys}
    assert made == set(ROWS)
    assert {key.to for key in made} == set(JobStatus)
    assert {status for status, state in STATES.items() if state in FINAL} == ENDED


async def walk(trade: Trade, name: str, hand: str, asked_after: set[int]) -> None:
    inside = trade.market

    async def passes(until: datetime) -> None:
        seconds = (until - inside.clock.now()).total_seconds()
        inside.pass_seconds(seconds)
        trade.evm.warp(int(seconds))
        await inside.workers.sweep()
        await inside.workers.send_reminders()

    async def calls_off(job_id: str) -> None:
        def end(tx: Tx) -> None:
            job = tx.get(JobRow, job_id, lock=True)
            assert job is not None
            cancel_job_of(replace(context_of(inside.market, tx), env=Env.TEST), load(tx, job))

        await inside.store.write(end)

    async with served(inside) as url, Wired([url]) as outside:
        wired = Trade(outside, trade.evm)  # type: ignore[arg-type] - it calls and registers as TestMarket does
        await Walk(wired, JOURNEYS[name], outside.http, passes, calls_off, hand).go(asked_after)


@pytest.mark.parametrize("name", JOURNEYS)
async def test_a_job_is_followed_all_the_way_and_asked_in_every_state(trade: Trade, name: str) -> None:
    await walk(trade, name, REST, first_seen()[name])


@pytest.mark.parametrize("name", CANCELS)
async def test_what_the_table_lets_cancel_is_cancelled_as_a_task(trade: Trade, name: str) -> None:
    await walk(trade, name, A2A, set())
