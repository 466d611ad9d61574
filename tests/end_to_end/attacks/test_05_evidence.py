"""Finding 5: evaluators do not read one side's evidence, because of a flood of messages or a quick vote."""

import asyncio
from typing import Any

import pytest

from tests.end_to_end.attacks.judges import NO_AGE, Ring, buyers, case_of, disputed, offer, vote
from tests.end_to_end.attacks.world import Agent, Arena, Market

HEAVY = {"body": "x" * 20_000, "data": {"more": "y" * 32_000}}


async def say(market: Market, by: Agent, thread_id: str, env: str, **message: Any) -> Any:
    return await market.post(f"/v1/threads/{thread_id}/messages", by.key(env), message)


def bodies(case: Any) -> set[str]:
    return {one["body"] for one in case["case"]["messages"]}


@pytest.mark.finding(5)
@pytest.mark.parametrize("when", ["after the dispute", "before it"])
async def test_a_flood_hides_nothing_of_the_other_side(arena: Arena, when: str) -> None:
    market = await arena.market(fresh=True, rate_limits="off")
    judge = await market.agent("Judge")
    await offer(market, judge)
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    job = await market.order(buyer, await market.listing(seller))
    await market.deliver(seller, job)
    await market.pay(buyer, job)
    thread = job["thread_id"]
    for number in (1, 2):
        (await say(market, buyer, thread, "test", body=f"EVIDENCE-{number}")).expect()

    async def flood() -> None:
        for number in range(9):
            (await say(market, seller, thread, "test", **HEAVY)).expect()
            if number % 4 == 3:
                (await say(market, buyer, thread, "test", body="And?")).expect()

    if when == "before it":
        await flood()
    reason = {"reason": "It is not what I ordered."}
    made = (await market.post(f"/v1/jobs/{job['id']}/dispute", buyer.test, reason)).expect()
    (await say(market, seller, thread, "test", body="SELLERS-ANSWER")).expect()
    if when == "after the dispute":
        await flood()
    seen = await case_of(market, judge, made["dispute_id"], "test")
    assert {"EVIDENCE-1", "EVIDENCE-2", "It is not what I ordered.", "SELLERS-ANSWER"} <= bodies(seen)
    assert seen["case"]["messages_left_out"]["seller"] > 0
    assert seen["case"]["messages_left_out"]["buyer"] == 0


async def live_panel(arena: Arena, window_seconds: int) -> tuple[Market, list[Agent], Agent, Agent, Any]:
    """Return a live case with three unrelated evaluators, its parties and its market."""
    window = {"verdict_window_seconds_live": str(window_seconds)}
    market = await arena.market(fresh=True, rate_limits="off", optional=NO_AGE, **window)
    ring = await Ring.opened(arena, market)
    judges = [await market.agent(f"Judge {number}", env="live") for number in range(3)]
    for judge in judges:
        await ring.earn(judge, await buyers(market, 3))
    await offer(market, *judges)
    seller, buyer, case = await disputed(market, "live")
    assert case["seats"] == 3
    return market, judges, seller, buyer, case


@pytest.mark.finding(5)
async def test_a_quick_vote_does_not_end_the_evidence_on_live(arena: Arena) -> None:
    """The attacker's evaluator votes at once; the seller answers later, but in time."""
    market, (quick, *others), seller, _, case = await live_panel(arena, 300)
    await vote(market, quick, case["id"], "live")
    thread = case["thread_id"]
    (await say(market, seller, thread, "live", body="SELLERS-ANSWER")).expect()
    for judge in others:
        assert "SELLERS-ANSWER" in bodies(await case_of(market, judge, case["id"], "live"))


async def test_votes_of_a_majority_at_once_do_not_decide_a_live_case_unheard(arena: Arena) -> None:
    """Neither two quick votes nor one party that sends `evidence_done` twice ends the evidence."""
    market, judges, seller, buyer, case = await live_panel(arena, 60)
    for _ in range(2):
        (await say(market, buyer, case["thread_id"], "live", body="I am done.", evidence_done=True)).expect()
    for judge in judges:
        answer = await vote(market, judge, case["id"], "live")
        assert answer.code == "evidence_open"
        assert 0 < answer.record["error"]["details"]["retry_after_seconds"] <= 6
    assert (await case_of(market, buyer, case["id"], "live"))["status"] == "panel"
    (await say(market, seller, case["thread_id"], "live", body="SELLERS-ANSWER", evidence_done=True)).expect()
    (await vote(market, judges[0], case["id"], "live", "seller")).expect()
    (await say(market, buyer, case["thread_id"], "live", body="TOO-LATE")).expect()
    for judge in judges[1:]:
        seen = bodies(await case_of(market, judge, case["id"], "live"))
        assert "SELLERS-ANSWER" in seen
        assert "TOO-LATE" not in seen, "closed for all alike"


async def test_after_the_tenth_votes_count(arena: Arena) -> None:
    market, judges, _, buyer, case = await live_panel(arena, 10)
    await asyncio.sleep(1.5)
    for judge in judges[:2]:
        (await vote(market, judge, case["id"], "live", "seller")).expect()
    assert (await case_of(market, buyer, case["id"], "live"))["outcome"] == "seller"
