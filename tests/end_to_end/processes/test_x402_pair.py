"""Two processes on one PostgreSQL sell for one payment: always one job and one transfer, even if one process dies."""

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path

import pytest

from tests.end_to_end.processes.pair import Pair
from tests.end_to_end.processes.till import WORK, Between, Till, comes, opened
from tests.support.databases import PostgresServer
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import PRICE

TWINS = 6


@pytest.fixture
async def till(forged: Pair, postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Till]:
    url = await asyncio.to_thread(postgres.create, "x402_pair")
    async with Between(forged.chain.sandbox.facilitator_url) as between:
        await asyncio.to_thread(forged.serve, url, test_facilitator_url=between.url, operator_secret=OPERATOR_SECRET)
        newcomers = {"max_open_jobs": 2 * TWINS}  # new buyers together may hold half of the places
        async with forged.wired() as market, opened(market, forged.chain, between, url, **newcomers) as made:
            yield made
    await asyncio.to_thread(forged.kill)


async def test_the_same_payment_to_both_processes_at_once_is_one_job_one_transfer_and_one_result(till: Till) -> None:
    bought = [await till.signed() for _ in range(TWINS)]
    answers = [[till.begin(one, at) for at in (0, 1, 0, 1)] for one in bought]
    for one in bought:
        await till.work(one)
    for one, given in zip(bought, answers, strict=True):
        told = [answer.json() for answer in await asyncio.gather(*given)]
        assert [each.get("output") for each in told] == [WORK] * 4, told
        assert len({(each["job_id"], each["paid"]["transaction"]) for each in told}) == 1
        assert len(till.between.bodies[one.wallet.address]) == 1
    till.check_paid_once(*bought)
    assert till.held(till.seller.wallet) == TWINS * PRICE
    assert len(till.rows("jobs")) == len(till.rows("purchases")) == len(till.rows("settlements")) == TWINS


async def test_what_a_killed_process_had_in_hand_the_other_brings_to_its_end(forged: Pair, till: Till) -> None:
    """The facilitator has settled, but the process that waits for its answer is killed.

    No request follows.
    """
    one, asked = await till.signed("held"), await till.signed("held")
    for each in (one, asked):
        till.begin(each, at=0).add_done_callback(lambda done: done.exception())
        await till.work(each)
        await till.row_of(each, "settling")
    await comes(lambda: till.held(till.seller.wallet) == 2 * PRICE)
    forged.forges[0].kill()
    till.market.turns = cycle((1,))
    answer = await till.buy(asked, at=1)
    assert answer.json().get("output") == WORK, answer.text
    await till.job_of(one, "completed")
    assert (await till.buy(one, at=1)).json()["output"] == WORK
    till.check_paid_once(one, asked)
    assert till.held(till.seller.wallet) == 2 * PRICE
