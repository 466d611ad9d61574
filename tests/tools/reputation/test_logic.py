"""Reputation in rows: updated with each job despite concurrency, separate by environment, recomputed without drift."""

import asyncio
import random  # noqa: TID251 - seeded: the same jobs can be had again
from typing import Any

import pytest
from sqlalchemy import delete

from storage.query import Query
from storage.store import Store
from storage.tables import (
    AgentRow,
    CategoryRow,
    ContributionRow,
    CounterpartyRow,
    PendingContributionRow,
    ReputationRow,
)
from storage.transaction import Tx
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import OPERATOR_SECRET, TestMarket
from tests.support.reputation import Ended, count, drift, write
from tests.support.trade import OFFER
from tools.agents.logic import set_tier
from tools.jobs.contributions import BATCH
from tools.reputation.logic import tally_in

USDC = 1_000_000
ENDS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"status": "resolved", "closed_as": "verdict", "outcome": "split", "dispute_id": "dsp_1"},
    {"status": "resolved", "closed_as": "verdict", "outcome": "buyer", "dispute_id": "dsp_1"},
    {"status": "cancelled", "closed_as": "seller_failed"},
    {"status": "cancelled", "closed_as": "buyer_walked_away"},
    {"status": "expired", "closed_as": "payment_timeout"},
    {"status": "expired", "closed_as": "accept_timeout", "accepted_at": None, "output": None},
    {"status": "declined", "closed_as": "seller_declined", "accepted_at": None, "output": None},
    {"status": "in_progress", "closed_as": None},
)


async def figures(market: TestMarket, agent_id: str, env: str = "live", role: str = "as_seller") -> Any:
    return (await market.call("get_reputation", agent_id=agent_id))[env][role]


async def tier(market: TestMarket, agent_id: str) -> int:
    return int((await market.call("get_agent", agent_id=agent_id))["trust_tier"])


@pytest.mark.parametrize("seed", range(2))
async def test_r8_the_figures_are_always_what_the_rows_come_to(store: Store, seed: int) -> None:
    dice, market = random.Random(seed), TestMarket(store)
    ids = [(await market.register(f"Agent {n}")).id for n in range(4)]
    for number in range(40):
        seller, buyer = dice.sample(ids, 2)
        columns = dice.choice(ENDS) | {"category": dice.choice(["text", "code"]), "first_party": dice.random() < 0.2}
        paid = dice.choice([0, 9_999, 10_000, 250_000, 4 * USDC])
        env, wallet = dice.choice(["live", "test"]), dice.choice(["0xA", "0xB", "0xC", "0xD"])
        ended = Ended(f"job_{number}", seller, buyer, paid, wallet, env, columns)

        def happens(tx: Tx, ended: Ended = ended) -> None:
            ended.write(tx)
            if ended.paid_minor and dice.random() < 0.4:
                ended.refund(tx, dice.choice([1, 9_999, 250_000]))
            if ended.row().status in ("completed", "resolved"):
                for role in ("buyer", "seller"):
                    ended.rate(tx, dice.randrange(1, 6), role)
            count(tx, ended.id)

        await store.write(happens)
        if number % 8 == 7:
            assert await drift(store) == {}, number


async def test_counting_a_job_again_changes_nothing(store: Store) -> None:
    market = TestMarket(store)
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    await write(store, Ended("job_1", seller.id, buyer.id, USDC))
    before = await store.read(lambda tx: tx.get(ReputationRow, seller.id, "live"))
    await store.write(lambda tx: count(tx, "job_1"))
    assert await store.read(lambda tx: tx.get(ReputationRow, seller.id, "live")) == before


async def test_what_it_costs_to_count_does_not_grow(store: Store) -> None:
    """O6: the thirtieth job between two agents needs as many statements as the third."""
    costs = []
    for number in range(30):

        def happens(tx: Tx, number: int = number) -> int:
            before = tx.statements
            Ended(f"job_{number}", "agt_s", "agt_b", USDC, f"0x{number}", "test").write(tx)
            return tx.statements - before

        costs.append(await store.write(happens))
    assert set(costs[2:]) == {costs[2]}
    assert costs[2] <= 26


async def test_two_jobs_of_the_same_two_agents_that_end_at_once_both_count(store: Store) -> None:
    """Each agent is a buyer of the other, so locking by side would cause a deadlock."""
    market = TestMarket(store)
    ada, bo = await market.register("Ada"), await market.register("Bo")
    jobs = [Ended(f"job_{n}", *((ada.id, bo.id) if n % 2 else (bo.id, ada.id)), USDC, f"0x{n % 3}") for n in range(24)]
    await asyncio.gather(*(store.write(one.write) for one in jobs))
    for agent in (ada, bo):
        for role in ("as_seller", "as_buyer"):
            found = await figures(market, agent.id, role=role)
            assert (found["jobs_completed"], found["volume_usdc"]) == (12, 12 * USDC)
    assert await drift(store) == {}


@covers("env.test.reputation", "reputation.name.apart")
async def test_r7_test_trade_leaves_live_figures_as_they_were(store: Store) -> None:
    market = TestMarket(store)
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    untouched = (await market.call("get_reputation", agent_id=seller.id))["live"]
    await write(store, *(Ended(f"job_{n}", seller.id, buyer.id, 9 * USDC, f"0x{n}", "test") for n in range(5)))
    after = await market.call("get_reputation", agent_id=seller.id)
    assert after["live"] == untouched
    assert after["test"]["as_seller"]["jobs_completed"] == 5
    assert await tier(market, seller.id) == 0
    assert (await market.call("get_leaderboard", env="live"))["data"] == []


@covers("tier.1", "limit.tier_1", "service.6.tiers")
async def test_r4_ten_usdc_from_three_wallets_on_live_make_tier_one_and_it_is_kept(store: Store) -> None:
    market = TestMarket(store)
    few, poor, good = [await market.register(name) for name in ("Few", "Poor", "Good")]
    buyers = [await market.register(f"B{n}") for n in range(3)]
    for n, buyer in enumerate(buyers):
        await write(store, Ended(f"job_few{n}", few.id, buyer.id, 50 * USDC, f"0x{n % 2}"))
        await write(store, Ended(f"job_poor{n}", poor.id, buyer.id, 3_333_333, f"0x{n}"))
        assert await tier(market, good.id) == 0
        await write(store, good_job := Ended(f"job_good{n}", good.id, buyer.id, 3_333_334, f"0x{n}"))
    assert [await tier(market, one.id) for one in (few, poor, good)] == [0, 0, 1]
    assert [await tier(market, one.id) for one in buyers] == [0, 0, 0], "buying proves nothing"
    await store.write(lambda tx: good_job.refund(tx, 3_333_334))
    assert (await figures(market, good.id))["third_party_volume_usdc"] == 6_666_668
    assert await tier(market, good.id) == 1
    assert await drift(store) == {}


@covers("tier.2", "tier.3")
async def test_the_second_tier_follows_a_proven_domain_both_ways(market: TestMarket) -> None:
    agent = await market.register("Ada")

    async def proven(domain: str | None) -> int:
        await write_row(market, AgentRow, agent.id, verified_domain=domain)

        def follow(tx: Tx) -> None:
            row = tx.get(AgentRow, agent.id, lock=True)
            assert row is not None
            set_tier(tx, row)

        await market.store.write(follow)
        return await tier(market, agent.id)

    assert [await proven("ada.example"), await proven(None)] == [0, 0]
    await write_row(market, AgentRow, agent.id, trust_tier=1)
    assert [await proven("ada.example"), await proven(None), await proven("b.example")] == [2, 1, 2]
    assert await drift(market.store) == {}


async def test_an_agent_of_tier_one_may_ask_to_be_paid_first_on_live(market: TestMarket) -> None:
    from eth_account import Account

    from tests.requirements.probes import live_agent

    seller = await live_agent(market, "Sela", Account.create())
    upfront = OFFER | {"payment": "upfront"}
    refused = await market.refusal("create_listing", by=seller, on="live", **upfront)
    assert refused["code"] == "upfront_requires_trust"
    await write(market.store, *(Ended(f"job_{n}", seller.id, f"agt_b{n}", 4 * USDC, f"0x{n}") for n in range(3)))
    offered = await market.call("create_listing", by=seller, on="live", **upfront)
    assert offered["seller"]["trust_tier"] == 1
    assert (await market.call("get_listing", listing_id=offered["id"]))["seller"]["reputation"]["jobs_completed"] == 3


async def test_r2_what_the_operator_buys_raises_neither_tier_nor_rank(store: Store) -> None:
    market = TestMarket(store)
    seller, house = await market.register("Sela"), await market.register("MarketConfig")
    bought = [
        Ended(f"job_{n}", seller.id, house.id, 50 * USDC, f"0x{n}", columns={"first_party": True}) for n in range(4)
    ]
    await write(store, *bought)
    found = await figures(market, seller.id)
    assert (found["volume_usdc"], found["third_party_volume_usdc"]) == (200 * USDC, 0)
    assert (found["first_party_counterparties"], found["third_party_counterparties"]) == (4, 0)
    assert await tier(market, seller.id) == 0
    assert (await market.call("get_leaderboard", env="live"))["data"] == []


async def test_r3_a_label_that_changes_later_changes_no_figure(store: Store) -> None:
    market = TestMarket(store)
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    await write(store, Ended("job_1", seller.id, buyer.id, USDC))
    before = await figures(market, seller.id)
    answer = await market.answer(
        "set_first_party", {"agent_id": buyer.id, "first_party": True}, admin_token=OPERATOR_SECRET
    )
    assert answer.status == 200
    assert await figures(market, seller.id) == before
    assert before["third_party_counterparties"] == 1
    assert await drift(store) == {}


@covers("route.leaderboard", "open.leaderboard", "service.6.leaderboard")
async def test_the_leaderboard_ranks_by_volume_times_counterparties(store: Store) -> None:
    market = TestMarket(store)
    rich, wide, gone, older, newer = [await market.register(name) for name in ("Rich", "Wide", "Gone", "Old", "New")]
    await write(
        store,
        Ended("job_r", rich.id, "agt_b", 90 * USDC, "0xA"),  # 90 · 1
        *(Ended(f"job_w{n}", wide.id, f"agt_b{n}", 10 * USDC, f"0x{n}") for n in range(5)),  # 50 · 5
        Ended("job_g", gone.id, "agt_b", 500 * USDC, "0xA"),
        Ended("job_n", newer.id, "agt_b", USDC, "0xA"),
        Ended("job_o", older.id, "agt_b", USDC, "0xA"),
    )
    await market.call("delete_me", by=gone, on="live", confirm=gone.handle)
    board = await market.call("get_leaderboard", env="live", role="seller")
    assert {key: board[key] for key in ("object", "env", "role")} == {
        "object": "leaderboard", "env": "live", "role": "seller",
    }  # fmt: skip
    assert [one["agent"]["handle"] for one in board["data"]] == ["wide", "rich", "old", "new"], "ties: the older agent"
    assert board["data"][0] == {
        "object": "leaderboard_entry",
        "rank": 1,
        "agent": {"id": wide.id, "handle": "wide", "name": "Wide", "trust_tier": 1, "first_party": False},
        "jobs_completed": 5,
        "counterparties": 5,
        "volume_usdc": 50 * USDC,
        "volume_display": "50.000000 USDC",
        "rating_avg": None,
        "score": 59,  # 20 + 30 · log10(51)/6 + 20 + 10
        "rank_value": 250 * USDC,
    }
    one = await market.call("get_leaderboard", env="live", limit=1)
    assert [entry["rank"] for entry in one["data"]] == [1]
    buyers = await market.call("get_leaderboard", env="live", role="buyer")
    assert buyers["data"] == [], "no buyer of these is registered"


async def test_o6_the_leaderboard_reads_its_own_length_whatever_there_is(store: Store) -> None:
    market = TestMarket(store)
    seen = []
    for size in (3, 30):
        for n in range(size):
            agent = await market.register(f"A{size}-{n}")
            await write(store, Ended(f"job_{size}_{n}", agent.id, "agt_b", USDC + n, "0xA"))
        plan = await store.read(_plan) if store.database.dialect.name == "sqlite" else []
        assert not [step for step in plan if "SCAN reputations" in step and "INDEX" not in step]
        seen.append(len((await market.call("get_leaderboard", env="live", limit=3))["data"]))
    assert seen == [3, 3]


def _plan(tx: Tx) -> list[str]:
    from storage.reputation import leaders

    plan = leaders("seller").plan(tx.dialect)
    tx.cursor.execute(f"EXPLAIN QUERY PLAN {plan.sql}", plan.bind({"env": "live", "limit": 3}))
    return [row[3] for row in tx.cursor.fetchall()]


async def test_only_the_ten_largest_categories_are_shown(store: Store) -> None:
    market = TestMarket(store)
    seller = await market.register("Sela")
    for n in range(12):
        for again in range(1 + (n == 11)):
            await write(store, Ended(f"job_{n}_{again}", seller.id, "agt_b", USDC, columns={"category": f"c{n:02d}"}))
    shown = (await figures(market, seller.id))["categories"]
    assert [one["category"] for one in shown] == ["c11", *(f"c{n:02d}" for n in range(9))]
    assert shown[0] == {
        "object": "category_figures", "category": "c11", "jobs_completed": 2, "jobs_failed": 0, "volume_usdc": 2 * USDC,
        "volume_usdc_display": "2.000000 USDC", "rating_avg": None,
        "rating_weighted": None, "rating_count": 0, "on_time_rate": 1.0,
    }  # fmt: skip


async def test_r9_what_an_older_market_left_uncounted_is_counted_once_by_a_step(store: Store) -> None:
    market = TestMarket(store)
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    jobs = [Ended(f"job_{n:03d}", seller.id, buyer.id, USDC, f"0x{n % 4}") for n in range(BATCH + 3)]
    await write(store, *jobs)
    await store.write(lambda tx: jobs[0].rate(tx, 5))
    expected = await market.call("get_reputation", agent_id=seller.id)

    def forget(tx: Tx) -> None:
        for table in (ContributionRow, ReputationRow, CategoryRow, CounterpartyRow):
            tx.run(Query[None](delete(table.__table__)))
        for one in jobs:
            tx.add(PendingContributionRow(job_id=one.id))

    await store.write(forget)
    assert (await figures(market, seller.id))["jobs_completed"] == 0
    await store.write(lambda tx: count(tx, "job_001"))  # one changes before the step reaches it
    await market.workers.recount_jobs()
    after = await market.call("get_reputation", agent_id=seller.id)
    for env in ("live", "test"):
        after[env].pop("updated_at")
        expected[env].pop("updated_at")
    assert after == expected
    assert await drift(store) == {}
    kept = await store.read(lambda tx: tx.get(ReputationRow, seller.id, "live"))
    await market.workers.recount_jobs()
    assert await store.read(lambda tx: tx.get(ReputationRow, seller.id, "live")) == kept, "nothing is left to count"
    assert kept is not None
    assert tally_in(kept.as_seller).jobs_completed == BATCH + 3


async def test_m11_a_job_that_cannot_be_counted_holds_up_no_other(store: Store) -> None:
    market = TestMarket(store)
    seller, buyer = await market.register("Sela"), await market.register("Bo")

    def leave(tx: Tx) -> None:
        for n, columns in enumerate([{"status": "no such state"}, {}]):
            tx.add(Ended(f"job_{n}", seller.id, buyer.id, columns={"price": 0, **columns}).row())
            tx.add(PendingContributionRow(job_id=f"job_{n}"))

    await store.write(leave)
    await market.workers.recount_jobs()
    assert (await figures(market, seller.id))["jobs_completed_unpaid"] == 1
    waiting = [await store.read(lambda tx, n=n: tx.get(PendingContributionRow, f"job_{n}")) for n in range(2)]  # type: ignore[misc]
    assert waiting == [None, None], "it is not tried for ever"
