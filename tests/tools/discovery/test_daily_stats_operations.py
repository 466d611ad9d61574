"""The figures by day and of disputes by month: each on its day, net of refunds, and the same as those made again."""

from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

import pytest

from storage.daily_counts import kept_counts
from storage.store import Store
from tests.support.market import Agent, TestMarket
from tests.support.panels import Court
from tests.support.trade import PRICE, Trade
from tests.tools.operator.test_aggregate_checks import busy_market, differing
from tools.jobs.daily_counts import median_of, rounded_down

pytestmark = pytest.mark.both_databases
DAY = 86_400
TIMES = ("median_seconds_to_accept", "median_seconds_to_deliver")
ZERO = {
    "object": "stats_day", "jobs_created": 0, "jobs_completed": 0, "volume_usdc": 0, "volume_usdc_display": "0.000000 USDC",
    "first_party_jobs_completed": 0, "first_party_volume_usdc": 0, "first_party_volume_usdc_display": "0.000000 USDC",
    "jobs_accepted": 0, "median_seconds_to_accept": None, "jobs_delivered": 0, "median_seconds_to_deliver": None,
    "paid_deliveries": 0, "unpaid_deliveries": 0, "paid_share": None, "disputes_opened": 0,
}  # fmt: skip


async def days(market: TestMarket, many: int, env: str = "test") -> list[dict[str, Any]]:
    """Return the figures of the last days, the newest first, each without its name."""
    market.pass_seconds(61)
    found = await market.call("get_daily_stats", env=env, days=many)
    assert (found["object"], found["env"], found["currency"], len(found["data"])) == ("daily_stats", env, "USDC", many)
    today = market.clock.now().date()
    assert [one["day"] for one in found["data"]] == [str(today - timedelta(days=ago)) for ago in reversed(range(many))]
    return [{name: value for name, value in one.items() if name != "day"} for one in reversed(found["data"])]


def to_last_minutes_of_the_day(market: TestMarket, seconds: int) -> None:
    now = market.clock.now()
    midnight = datetime(now.year, now.month, now.day, tzinfo=now.tzinfo) + timedelta(days=1)
    market.pass_seconds((midnight - now).total_seconds() - seconds)


async def free_job(trade: Trade, seller: Agent, buyer: Agent) -> Any:
    return await trade.job_at("open", seller, buyer, price=0, turnaround_seconds=7 * DAY)


async def test_each_figure_is_on_the_day_of_its_own_event(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    to_last_minutes_of_the_day(market, 60)
    job = await free_job(trade, seller, buyer)  # day 0
    market.pass_seconds(100)
    await market.call("accept_job", by=seller, job_id=job["id"])  # day 1
    market.pass_seconds(DAY)
    to_last_minutes_of_the_day(market, 60)
    await trade.deliver(seller, job)  # day 2
    market.pass_seconds(100)
    await market.call("accept_job", by=buyer, job_id=job["id"])  # day 3
    market.pass_seconds(DAY)
    found = await days(market, 6)
    assert found[0] == found[5] == ZERO
    assert found[4] == ZERO | {"jobs_created": 1}
    assert found[3] == ZERO | {"jobs_accepted": 1, "median_seconds_to_accept": 99}
    assert found[2] == ZERO | {"jobs_delivered": 1, "median_seconds_to_deliver": 172_031}
    assert found[1] == ZERO | {"jobs_completed": 1}
    assert await days(market, 6, env="live") == [ZERO] * 6
    assert len(await days(market, 366)) == 366
    assert await differing(market.store) == {}


async def test_volume_is_on_the_day_of_completion_and_net_of_later_refunds(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await trade.job_at("delivered", seller, buyer)
    (today,) = await days(market, 1)
    assert (today["volume_usdc"], today["volume_usdc_display"]) == (PRICE, "0.250000 USDC")
    assert (today["paid_deliveries"], today["unpaid_deliveries"], today["paid_share"]) == (1, 0, 1.0)
    market.pass_seconds(DAY)
    await trade.give_back(seller, buyer, job, 50_000)
    refunded_today, before = await days(market, 2)
    assert (refunded_today["volume_usdc"], before["volume_usdc"]) == (0, PRICE - 50_000)
    assert (await market.call("get_stats", env="test"))["volume_usdc_completed"] == PRICE - 50_000
    assert await differing(market.store) == {}


async def test_a_delivery_that_is_never_paid_lowers_the_share_of_its_day(trade: Trade) -> None:
    market = trade.market
    seller, buyer = await trade.parties()
    await trade.job_at("delivered", seller, buyer)
    await trade.job_at("revealed", seller, buyer)
    market.pass_seconds(30 * DAY)
    await market.workers.sweep()
    found = (await days(market, 31))[-1]
    assert (found["paid_deliveries"], found["unpaid_deliveries"], found["paid_share"]) == (1, 1, 0.5)
    assert await differing(market.store) == {}


async def test_what_the_operators_agents_do_is_shown_apart(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.market.as_operator("set_first_party", agent_id=seller.id, first_party=True)
    await trade.job_at("completed", seller, buyer)
    (today,) = await days(trade.market, 1)
    assert (today["first_party_jobs_completed"], today["first_party_volume_usdc"]) == (1, PRICE)
    assert (today["jobs_completed"], today["volume_usdc"]) == (1, PRICE)


async def test_disputes_are_counted_in_the_month_they_were_opened_by_their_present_result(trade: Trade) -> None:
    market = trade.market
    court = await Court.opened(trade)
    opened = market.clock.now()
    assert (await disputes(market))[-1] | {"month": ""} == month(undecided=1)
    assert (await days(market, 1))[0]["disputes_opened"] == 1
    await court.votes("seller", "seller")
    decided = (await disputes(market))[-1]
    took = decided["median_seconds_to_verdict"]
    assert decided | {"month": ""} == month(for_seller=1, median_seconds_to_verdict=took)
    assert took is not None
    market.pass_seconds(40 * DAY)
    found = await disputes(market)
    assert len(found) == 24
    assert [one["month"] for one in found if one["opened"]] == [f"{opened:%Y-%m}"]
    assert found[-1]["month"] == f"{market.clock.now():%Y-%m}"
    assert "dsp_" not in str(found)
    assert await differing(market.store) == {}


async def test_a_withdrawn_dispute_has_no_verdict(trade: Trade) -> None:
    court = await Court.opened(trade)
    await trade.market.call("withdraw_dispute", by=court.buyer, dispute_id=court.dispute_id)
    assert (await disputes(trade.market))[-1] | {"month": ""} == month(withdrawn=1)


async def disputes(market: TestMarket) -> list[dict[str, Any]]:
    market.pass_seconds(61)
    found = await market.call("get_dispute_stats", env="test")
    return list(found["data"])


def month(**counted: int | None) -> dict[str, Any]:
    nothing = dict.fromkeys(("undecided", "for_buyer", "for_seller", "split", "withdrawn"), 0)
    found = {"object": "dispute_stats_month", "month": "", "opened": 1, "median_seconds_to_verdict": None}
    return found | nothing | counted


@pytest.mark.parametrize("seconds", [0, 1, 15, 16, 17, 31, 100, 3_599, 86_400, 2_592_000, 40_000_000])
def test_a_median_is_at_most_a_sixteenth_wrong(seconds: int) -> None:
    found = median_of([(rounded_down(seconds), 1)])
    assert found is not None
    assert abs(found - seconds) * 16 <= seconds


def test_a_median_is_the_upper_middle_of_all() -> None:
    assert median_of([]) is None
    assert median_of([(3, 1), (9, 2), (1, 1)]) == 9
    assert median_of([(3, 2), (9, 1)]) == 3
    assert median_of([(3, 0), (9, 1)]) == 9


async def test_the_migration_makes_the_counts_that_the_units_of_work_have_kept(trade: Trade) -> None:
    await busy_market(trade)
    store = trade.market.store
    kept = await counts(store)
    assert {name.partition(".")[0] for _, name, _, _ in kept} >= {"status", "volume", "payments", "dispute"}
    made = import_module("storage.migrations.versions.0050_daily_counts")

    def again(tx: Any) -> None:
        tx.cursor.execute("DELETE FROM daily_counts")
        for statement in made.fill():
            tx.cursor.execute(statement)

    await store.write(again)
    assert await counts(store) == kept


async def counts(store: Store) -> dict[tuple[str, str, int, int], int]:
    rows = await store.read(lambda tx: tx.all(kept_counts))
    return {(row.env, row.name, row.day, row.at): row.number for row in rows if row.number}
