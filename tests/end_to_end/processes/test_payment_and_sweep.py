"""A payment in one process while the other's sweep expires the job: in each order, the job ends as paid.

The test holds the lock that every commit with events takes. So the first of the two has written but not committed when
the second starts.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import psycopg
import pytest

from storage.postgres import EVENT_ORDER
from tests.end_to_end.faults.chain import wallet_of
from tests.end_to_end.faults.purchase import SCRIPT, Call, Purchase, Transfer
from tests.end_to_end.processes.pair import Pair
from tests.support.databases import PostgresServer
from tests.support.trade import PRICE

EVENT_LOCK = int(re.findall(r"advisory_xact_lock\((\d+)\)", EVENT_ORDER)[0])
IN_TIME_SECONDS, LATE_SECONDS = 500, 1_000  # a buyer has 900, and an hour of grace
CALLS = {call.name: call for call in SCRIPT}
PAY, SWEEP = (replace(CALLS[name], at_seconds=LATE_SECONDS) for name in ("pay", "sweep"))
WAITING = """
SELECT count(DISTINCT application_name) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture(scope="module")
def transfer(forged: Pair) -> Transfer:
    buyer, seller = wallet_of("buyer"), wallet_of("seller")
    forged.chain.fund(buyer, PRICE)
    transaction = forged.chain.transfer(buyer, seller.address, PRICE)
    return Transfer(buyer, seller, transaction, forged.chain.mined_at(transaction))


@pytest.fixture
def sides(forged: Pair, postgres: PostgresServer, transfer: Transfer) -> Iterator[tuple[Purchase, Purchase]]:
    """One purchase, delivered and not yet paid, continued through each process."""
    forged.start("stepped", postgres.create("late"))
    one, other = (
        Purchase(httpx.Client(base_url=f"http://127.0.0.1:{forge.port}", trust_env=False, timeout=30), transfer)
        for forge in forged.forges
    )
    for call in SCRIPT[: SCRIPT.index(CALLS["pay"])]:
        if call.name != "order_in_vain":  # the sweep must find one job only
            one.make(call)
    other.answers = one.answers
    yield one, other
    for side in (one, other):
        side.http.close()
    forged.kill()


@asynccontextmanager
async def no_commits(url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """Block every commit with events inside the context."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as holder:
        await holder.execute("SELECT pg_advisory_lock(%s)", [EVENT_LOCK])
        yield holder
        await holder.execute("SELECT pg_advisory_unlock(%s)", [EVENT_LOCK])


async def waits(holder: psycopg.AsyncConnection, processes: int) -> None:
    """Wait until this many processes wait for a lock."""
    async with asyncio.timeout(20):
        while await (await holder.execute(WAITING)).fetchone() != (processes,):
            pass


def at_once(side: Purchase, call: Call) -> "asyncio.Task[list[str]]":
    return asyncio.create_task(asyncio.to_thread(side.make, call))


def ended(side: Purchase) -> tuple[str, str, list[str]]:
    """Return the job's status, its payment's status and its events."""
    side.control(SWEEP)
    job_id = side.answers["order"].record["id"]
    job = side.ask("get_job", "buyer", {"job_id": job_id}, {}).record
    happened = side.ask("list_job_events", "buyer", {"job_id": job_id}, {}).record["data"]
    return job["status"], job["payment"]["status"], [one["type"] for one in happened]


BEFORE = ["created", "accepted", "delivered", "payment_due"]


async def test_m5_a_payment_behind_another_processes_sweep_revives_the_job(
    sides: tuple[Purchase, Purchase], forged: Pair
) -> None:
    payer, sweeper = sides
    async with no_commits(forged.url) as holder:
        swept = at_once(sweeper, SWEEP)
        await waits(holder, 1)
        paid = at_once(payer, PAY)
        await waits(holder, 2)
    await asyncio.gather(swept, paid)
    assert ended(payer) == ended(sweeper) == ("delivered", "paid", [*BEFORE, "expired", "paid"])


async def test_m5_a_sweep_behind_another_processes_payment_leaves_the_job_alone(
    sides: tuple[Purchase, Purchase], forged: Pair
) -> None:
    payer, sweeper = sides
    async with no_commits(forged.url) as holder:
        paid = at_once(payer, replace(PAY, at_seconds=IN_TIME_SECONDS))
        await waits(holder, 1)
        await at_once(sweeper, SWEEP)  # skips locked rows without waiting
        assert not paid.done()
    await paid
    assert ended(payer) == ended(sweeper) == ("delivered", "paid", [*BEFORE, "paid"])
