"""Finding 3: one attacker wins the seats of a live panel by circulating a few coins."""

import asyncio

import pytest

from tests.end_to_end.attacks.judges import (
    COIN,
    NO_AGE,
    VICTIMS_PRICE,
    Ring,
    buyers,
    case_of,
    disputed,
    offer,
    seats_of,
    vote,
)
from tests.end_to_end.attacks.world import Agent, Arena, Market
from tools.jobs.disputes.draw_rules import draw_seats

STEERING_MINOR = {"live": 1_150_000, "test": 10_001}  # more than a ninth of the payments that a judge got from others
QUICK = {"rate_limits": "off", "verdict_window_seconds_live": "20"}


async def harmed(market: Market, seller: Agent, buyer: Agent, judges: list[Agent], dispute_id: str) -> bool:
    """Vote with all judges, twice; return whether the victim then owes a refund."""
    for _ in range(2):
        for judge in await seats_of(market, judges, dispute_id, "live"):
            await vote(market, judge, dispute_id, "live")
        await asyncio.sleep(2.5)  # a tenth of the time to vote
    case = await case_of(market, buyer, dispute_id, "live")
    job = (await market.get(f"/v1/jobs/{case['job_id']}", seller.live)).expect()
    return case["resolved_by"] == "panel" or bool(job["refund_due"])


@pytest.mark.finding(3)
@pytest.mark.parametrize("waited", [False, True], ids=["at once", "after the time that is asked"])
async def test_four_usdc_and_three_payers_capture_no_live_panel(arena: Arena, waited: bool) -> None:
    """Three wallets buy from three sybils in turn, with one coin; the sybils offer to judge."""
    market = await arena.market(fresh=True, optional=NO_AGE if waited else None, **QUICK)
    ring = await Ring.opened(arena, market)
    judges = [await market.agent(f"Judge {number}", env="live") for number in range(3)]
    payers = await buyers(market, 3)
    for judge in judges:
        await ring.earn(judge, payers)
    await offer(market, *judges)
    assert ring.capital_minor < 4_000_000
    seller, buyer, case = await disputed(market, "live")
    assert not await harmed(market, seller, buyer, judges, case["id"])
    assert await seats_of(market, judges, case["id"], "live") == []


async def test_what_the_limit_in_the_readme_costs(arena: Arena) -> None:
    """With three payers for each judge and an age of 30 days, separate wallets win the seats.

    The attacker gets the money back. It needs twelve wallets, nine sales one after the other, and a month.
    """
    paying = {}
    for name, optional in (("after a month", NO_AGE), ("before", None)):
        market = await arena.market(fresh=True, optional=optional, **QUICK)
        ring = await Ring.opened(arena, market)
        judges = [await market.agent(f"Judge {number}", env="live") for number in range(3 if optional else 1)]
        for judge in judges:
            await ring.earn(judge, await buyers(market, 3))
        await offer(market, *judges)
        _, _, case = await disputed(market, "live")
        seated = len(await seats_of(market, judges, case["id"], "live"))
        paying[name] = (seated, ring.capital_minor, ring.transfers)
        standing = (await market.get("/v1/agents/me/evaluator", judges[0].live)).expect()["eligibility"]["live"]
        assert standing["reason"] == (None if optional else "too_new")
    assert paying == {"after a month": (3, COIN, 18), "before": (0, COIN, 6)}


@pytest.mark.parametrize("env", ["live", "test"])
async def test_a_disputant_that_buys_from_honest_judges_gets_no_other_panel(arena: Arena, env: str) -> None:
    """Half of the judges are sybils; the disputant bought from all the others before it ordered.

    Either the three lowest tickets are seated as if it had bought nothing, or no judge is and the operator decides.
    """
    market = await arena.market(fresh=True, optional=NO_AGE, **QUICK)
    honest, sybils = await judges_of_their_own(arena, market, env), await judges_of_their_own(arena, market, env)
    everybody = {judge.id: judge for judge in (*honest, *sybils)}
    price = STEERING_MINOR[env]
    attacker = await market.agent("Attacker", env=env, usdc_minor=3 * price + 4 * VICTIMS_PRICE)
    for judge in honest:
        await market.trade(judge, attacker, await market.listing(judge, env, price=price), env)
    for _ in range(4):
        _, _, case = await disputed(market, env, attacker)
        seated = await seats_of(market, list(everybody.values()), case["id"], env)
        (await market.post(f"/v1/disputes/{case['id']}/withdraw", attacker.key(env))).expect()
        seed = bytes.fromhex((await case_of(market, attacker, case["id"], env))["panel_seed"])
        unpaid = draw_seats(seed, 1, everybody, 3)
        if any(judge.id in unpaid for judge in honest):
            assert (case["escalation_reason"], seated) == ("no_independent_panel", [])
        else:
            assert sorted(judge.id for judge in seated) == sorted(unpaid)


async def judges_of_their_own(arena: Arena, market: Market, env: str) -> list[Agent]:
    """Return three judges; on live each has sold for 10.2 USDC to three separate payers."""
    judges = [await market.agent(f"Judge {number}", env=env) for number in range(3)]
    if env == "live":
        ring = await Ring.opened(arena, market)
        for judge in judges:
            await ring.earn(judge, await buyers(market, 3))
    await offer(market, *judges)
    return judges


# On test an evaluator needs no trust, but one owner still must not hold two seats.


@pytest.mark.verify
async def test_agents_with_one_referrer_hold_one_seat(arena: Arena) -> None:
    market = await arena.market(fresh=True, rate_limits="off")
    head = await market.agent("Head")
    judges = [await market.agent(f"Judge {number}", referred_by=head.id) for number in range(4)]
    await offer(market, *judges, head)
    _, _, case = await disputed(market, "test")
    assert case["seats"] == 1
    assert len(await seats_of(market, [*judges, head], case["id"], "test")) == 1


@pytest.mark.verify
async def test_agents_that_handed_one_wallet_on_hold_one_seat(arena: Arena) -> None:
    market = await arena.market(fresh=True, rate_limits="off")
    shared = arena.chains["test"].wallet()
    judges = [await market.agent(f"Judge {number}") for number in range(3)]
    for judge in judges:
        for wallet in (shared, arena.chains["test"].wallet()):
            judge.wallet = wallet
            proof = judge.sign(f"{market.brand}:wallet:{judge.id}:{wallet.address.lower()}")
            (await market.bind(judge, proof=proof)).expect()
    await offer(market, *judges)
    _, _, case = await disputed(market, "test")
    assert case["seats"] == 1


@pytest.mark.verify
@pytest.mark.parametrize("refunded", [False, True], ids=["kept", "paid back"])
async def test_agents_that_the_same_wallets_paid_hold_one_seat(arena: Arena, refunded: bool) -> None:
    market = await arena.market(fresh=True, rate_limits="off")
    judges = [await market.agent(f"Judge {number}", usdc_minor=2_000_000) for number in range(3)]
    payers = [await market.agent(f"Payer {number}", usdc_minor=2_000_000) for number in range(2)]
    for judge in judges:
        listing = await market.listing(judge)
        for payer in payers:
            job = await market.trade(judge, payer, listing)
            if refunded:
                stray = arena.chains["test"].transfer(judge.wallet, payer.wallet.address, 250_000)
                await market.post(f"/v1/jobs/{job['id']}/refund", judge.test, {"transaction": stray})
    await offer(market, *judges)
    _, _, case = await disputed(market, "test")
    assert case["seats"] == 1


@pytest.mark.verify
async def test_the_disputes_own_buyer_seats_nobody_it_has_paid(arena: Arena) -> None:
    """A judge that a party has paid is related to that party."""
    market = await arena.market(fresh=True, rate_limits="off")
    attacker = await market.agent("Attacker", usdc_minor=9_000_000)
    judges = [await market.agent(f"Judge {number}") for number in range(3)]
    for judge in judges:
        await market.trade(judge, attacker, await market.listing(judge))
    await offer(market, *judges)
    _, _, case = await disputed(market, "test", attacker)
    assert (case["status"], case["escalation_reason"]) == ("escalated", "no_independent_panel")


@pytest.mark.verify
async def test_round_two_seats_no_relative_of_round_one(arena: Arena) -> None:
    market = await arena.market(fresh=True, rate_limits="off", verdict_window_seconds_test="2")
    head = await market.agent("Head")
    judges = [await market.agent(f"Judge {number}", referred_by=head.id) for number in range(3)]
    await offer(market, *judges, head)
    _, buyer, case = await disputed(market, "test")
    for _ in range(60):
        case = await case_of(market, buyer, case["id"], "test")
        if case["status"] == "escalated":
            break
        await asyncio.sleep(0.5)
    assert case["status"] == "escalated"
    assert len(await seats_of(market, [*judges, head], case["id"], "test")) == 1
