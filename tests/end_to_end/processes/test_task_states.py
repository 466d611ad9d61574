"""Tasks through all their states with two processes: changes in one are visible in both."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.end_to_end.a2a_states.journeys import JOURNEYS, first_seen
from tests.end_to_end.a2a_states.walking import A2A, REST, Walk
from tests.end_to_end.processes.pair import Pair
from tests.support.databases import PostgresServer
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import Trade

AT_ONCE = [name for name, journey in JOURNEYS.items() if not journey.waits]  # these servers cannot be made to wait


@pytest.fixture(scope="module")
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    """Both processes, with their own database."""
    forged.serve(postgres.create("task_states"), operator_secret=OPERATOR_SECRET)
    yield forged
    forged.kill()


@pytest.mark.parametrize("name", AT_ONCE)
async def test_a_job_goes_its_way_through_one_process_and_the_other(trade: Trade, name: str) -> None:
    wired: Any = trade.market
    journey = JOURNEYS[name]
    await Walk(trade, journey, wired.http, hand=A2A if journey.cancels else REST).go(first_seen()[name])
