"""Clauses of the contract about disputes: the panel, votes, deadlines, escalation, withdrawal, effects of a verdict."""

import hmac
from datetime import datetime, timedelta
from typing import Any

import pytest

from storage.disputes import seats_of_dispute
from storage.tables import JobRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import OPERATOR_SECRET, Agent
from tests.support.panels import Court, evaluator
from tests.support.trade import PRICE, Trade
from tools.jobs.disputes.draw_rules import draw_seats, hash_of, list_text
from tools.kernel.canonical_json import sha256_hex

SEEDS = [bytes([number] * 32) for number in range(20)]
MAJORITIES = [("buyer", "buyer"), ("seller", "split", "seller"), ("split", "buyer", "split")]


@covers("state.dispute.panel", "event.kind.dispute.assigned", "event.kind.dispute.panel")
async def test_a_dispute_draws_three_evaluators_and_tells_them_and_the_parties(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=5)
    seats = await court.seats()
    assert len({seat.agent_id for seat in seats}) == 3
    assert {(seat.round, seat.status.value) for seat in seats} == {(1, "pending")}
    for agent in await court.panel():
        ((kind, data),) = await court.told(agent)
        assert (kind, data["dispute_id"], data["round"]) == ("dispute.assigned", court.dispute_id, 1)
        assert "job_id" not in data
    for party in (court.seller, court.buyer):
        ((kind, data),) = await court.told(party)
        assert (kind, data["job_id"], data["seats"], data["required"]) == ("dispute.panel", court.job["id"], 3, 2)
    idle = [one for one in court.offered.values() if one.id not in {seat.agent_id for seat in seats}]
    for agent in idle:
        assert await court.told(agent) == []
        refused = await trade.market.refusal("get_dispute", by=agent, dispute_id=court.dispute_id)
        assert refused["code"] == "not_found"
    assert court.job["waiting_on"]["who"] == "evaluators"
    assert court.job["waiting_on"]["until"] == (await court.seen(court.buyer))["verdict_by"]


@covers("route.disputes.panel.random")
async def test_the_seed_alone_decides_who_of_the_eligible_sits(trade: Trade) -> None:
    """The lowest tickets (HMACs under the job's seed) sit; names and order have no effect."""
    seller, buyer = await trade.parties()
    offered = [(await evaluator(trade)).id for _ in range(9)]
    job = await trade.job_at("revealed", seller, buyer, price=0)
    by_name, by_offer = set(sorted(offered)[:3]), set(offered[:3])
    lowest = {seed: set(sorted(offered, key=lambda one, seed=seed: ticket(seed, one))[:3]) for seed in SEEDS}
    seed = next(seed for seed in SEEDS if lowest[seed] not in (by_name, by_offer))
    await write_row(trade.market, JobRow, job["id"], panel_seed=seed)
    disputed = await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason="It is not what was promised.")
    seats = await trade.market.store.read(lambda tx: tx.all(seats_of_dispute, dispute_id=disputed["dispute_id"]))
    assert {seat.agent_id for seat in seats} == lowest[seed]


def ticket(seed: bytes, agent_id: str) -> bytes:
    """Compute a ticket as docs and skill.md describe it."""
    return hmac.digest(seed, f"emporion:draw:v1:1:{agent_id}".encode(), "sha256")


@covers(
    "state.job.disputed.verdict",
    "job.status.resolved",
    "open_record.job_resolution",
    "route.disputes.majority",
    "route.disputes.refund",
    "refund.due.verdict",
    "event.kind.dispute.decided",
    "event.kind.job.resolved",
)
@pytest.mark.parametrize("votes", MAJORITIES, ids=lambda votes: "-".join(votes))
async def test_a_majority_decides_at_once_and_the_job_is_resolved(trade: Trade, votes: tuple[str, ...]) -> None:
    court = await Court.opened(trade, price=PRICE)
    panel = await court.panel()
    for agent, outcome in zip(panel, votes[:-1], strict=False):
        await court.vote(agent, outcome)
        assert (await court.job_seen())["status"] == "disputed"
    await court.vote(panel[len(votes) - 1], votes[-1])
    job = await court.job_seen()
    outcome = votes[-1]
    assert (job["status"], job["resolution"]) == ("resolved", {"outcome": outcome, "note": None, "by": "panel"})
    owed = {"buyer": PRICE, "split": PRICE // 2, "seller": None}[outcome]
    assert (job["refund_due"], job["refund_expected"]) == (owed is not None, owed)
    assert (job["completed_at"] is None) == (outcome == "buyer")
    assert job["available_actions"] == ["review", "message"]
    ((_, told),) = await court.told(court.seller, "job.resolved")
    assert (told["dispute_id"], told["outcome"], told["by"]) == (court.dispute_id, outcome, "panel")
    assert len(await court.told(court.seller, "job.refund_due")) == (owed is not None)
    stats = (await trade.market.call("get_listing", listing_id=job["listing_id"], env="test"))["stats"]
    assert (stats["jobs_completed"], stats["jobs_failed"]) == ((0, 1) if outcome == "buyer" else (1, 0))
    for agent, vote in zip(panel, votes, strict=False):
        (_, decided) = (await court.told(agent))[-1]
        assert (decided["outcome"], decided["your_vote"]) == (outcome, vote)
        assert decided["agreed"] is (vote == outcome)
    for agent in panel[len(votes) :]:
        assert (await court.seen(agent))["my_vote"]["status"] == "void"
        assert (await court.vote(agent, outcome))["code"] == "dispute_closed"


@covers(
    "state.dispute",
    "open_record.dispute",
    "route.disputes.get.panel",
    "route.disputes.get.closed",
    "route.disputes.verdict",
)
async def test_a_closed_case_shows_tally_rationales_and_the_draw_and_an_open_one_none_of_it(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, second, _ = await court.panel()
    await court.vote(first, "buyer", "The output is empty.")
    seen = await court.seen(court.seller)
    hidden = ("tally", "verdicts", "panel_seed", "draws", "outcome", "resolved_by", "resolved_at", "case", "my_vote")
    assert {seen[name] for name in hidden} == {None}
    assert (seen["status"], seen["votes_received"], seen["required"], seen["seats"]) == ("panel", 1, 2, 3)
    await court.vote(second, "buyer", "Nothing was done.")
    for who, role in ((court.buyer, "buyer"), (court.seller, "seller"), (first, "evaluator")):
        seen = await court.seen(who)
        assert (seen["role"], seen["status"], seen["resolved_by"]) == (role, "resolved", "panel")
        assert seen["tally"] == {"buyer": 2, "seller": 0, "split": 0}
        rationales = [verdict["rationale"] for verdict in seen["verdicts"]]
        assert sorted(rationales) == ["Nothing was done.", "The output is empty."]
        assert seen["verdict_by"] is None
        assert sha256_hex(bytes.fromhex(seen["panel_seed"])) == court.job["panel_seed_hash"] == seen["panel_seed_hash"]
        (draw,) = seen["draws"]
        ids = list(court.offered)
        assert draw == {
            "round": 1, "version": 3, "wanted": 3, "seats": 3, "eligible_count": 3,
            "eligible_hash": hash_of(list_text(ids)), "related_count": 0, "related_hash": hash_of("[]"),
        }  # fmt: skip
        assert sorted(draw_seats(bytes.fromhex(seen["panel_seed"]), 1, ids, 3)) == sorted(ids)
    assert first.id not in str(await court.seen(court.buyer)), "who voted is told to nobody"


async def test_three_votes_for_three_outcomes_go_to_the_operator(trade: Trade) -> None:
    court = await Court.opened(trade)
    await court.votes("buyer", "seller", "split")
    seen = await court.seen(court.buyer)
    assert (seen["status"], seen["escalation_reason"], seen["outcome"]) == ("escalated", "no_plurality", None)
    assert (seen["tally"], seen["panel_seed"]) == (None, None), "escalated is not closed"
    job = await court.job_seen()
    assert (job["status"], job["waiting_on"]["who"]) == ("disputed", "operator")
    ((_, told),) = await court.told(court.seller, "dispute.escalated")
    assert (told["reason"], told["job_id"]) == ("no_plurality", job["id"])


@covers("state.dispute.redraw")
async def test_a_missed_seat_is_drawn_again_once_and_nobody_is_drawn_twice(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=4)
    first, second, late = await court.panel()
    await court.vote(first, "buyer")
    await court.vote(second, "seller")
    await court.window_passes()
    seen = await court.seen(court.buyer)
    assert (seen["round"], seen["seats"], seen["status"]) == (2, 3, "panel")
    (fresh,) = await court.panel()
    assert fresh.id not in {first.id, second.id, late.id}
    assert (await court.seen(late))["my_vote"]["status"] == "missed"
    assert (await court.vote(late, "buyer"))["code"] == "deadline_missed"
    await court.vote(fresh, "buyer")
    assert (await court.job_seen())["resolution"]["outcome"] == "buyer"
    record = (await trade.market.call("get_evaluator", by=late))["record"]["test"]
    assert record == {"verdicts": 0, "missed": 1, "pending": 0, "agreement_rate": None}
    record = (await trade.market.call("get_evaluator", by=first))["record"]["test"]
    assert record == {"verdicts": 1, "missed": 0, "pending": 0, "agreement_rate": 1.0}


@covers("state.dispute.plurality")
async def test_after_the_second_round_the_most_votes_decide(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=6)
    (first, *_) = await court.panel()
    await court.vote(first, "split")
    await court.window_passes()
    assert len(await court.panel()) == 2
    await court.window_passes()
    assert (await court.job_seen())["resolution"] == {"outcome": "split", "note": None, "by": "panel"}
    assert [draw.round for draw in await court.draws()] == [1, 2]


async def test_where_every_seat_is_missed_twice_the_operator_decides(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=6)
    await court.window_passes()
    assert (await court.seen(court.buyer))["round"] == 2
    await court.window_passes()
    seen = await court.seen(court.buyer)
    assert (seen["status"], seen["escalation_reason"]) == ("escalated", "no_votes")
    assert {seat.status.value for seat in await court.seats()} == {"missed"}
    assert len({seat.agent_id for seat in await court.seats()}) == 6


async def test_a_deadline_holds_whether_or_not_a_sweep_has_run(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=3)
    first, second, third = await court.panel()
    await court.vote(first, "seller")
    await court.window_passes(swept=False)
    assert (await court.seen(second))["my_vote"]["status"] == "missed"
    assert (await court.vote(second, "seller"))["code"] == "deadline_missed"
    job = await court.job_seen()
    assert (job["status"], job["resolution"]["outcome"]) == ("resolved", "seller"), "nobody is left to draw"
    assert (await court.vote(third, "buyer"))["code"] == "deadline_missed"


async def test_a_sweep_that_comes_late_changes_nothing_that_was_shown_of_a_verdict(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=6)
    (first, *_) = await court.panel()
    await court.vote(first, "split")
    await court.window_passes()
    await court.window_passes(swept=False)
    trade.market.pass_seconds(100)
    shown = await court.job_seen(), await court.seen(court.buyer)
    assert (shown[0]["status"], shown[1]["status"]) == ("resolved", "resolved")
    await trade.market.workers.resolve_disputes()
    assert await court.job_seen() == shown[0]
    assert await court.seen(court.buyer) == shown[1]
    decided_at = {shown[0]["completed_at"], shown[0]["updated_at"], shown[1]["resolved_at"]}
    assert [trade.market.clock.now() - datetime.fromisoformat(one) for one in decided_at] == [timedelta(seconds=100)]


async def test_the_last_deadline_is_seen_by_everybody_before_anybody_writes_it(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=6)
    (first, *_) = await court.panel()
    await court.vote(first, "seller")
    await court.window_passes()
    await court.window_passes(swept=False)
    job = await court.job_seen()
    assert (job["status"], job["resolution"]["outcome"], job["available_actions"]) == (
        "resolved",
        "seller",
        ["review", "message"],
    )
    listed = await trade.market.call("list_jobs", by=court.seller)
    assert [one["status"] for one in listed["data"]] == ["resolved"]
    seen = await court.seen(court.buyer)
    assert (seen["status"], seen["outcome"], seen["tally"]["seller"]) == ("resolved", "seller", 1)
    review = await trade.market.call("review_job", by=court.buyer, job_id=job["id"], rating=2)
    assert review["rating"] == 2
    assert (await court.job_seen())["status"] == "resolved"


@pytest.mark.parametrize("evaluators", [1, 2])
async def test_on_test_as_many_sit_as_there_are(trade: Trade, evaluators: int) -> None:
    court = await Court.opened(trade, evaluators=evaluators)
    seen = await court.seen(court.buyer)
    assert (seen["seats"], seen["required"]) == (evaluators, evaluators // 2 + 1)
    await court.votes(*["seller"] * evaluators)
    assert (await court.job_seen())["resolution"]["outcome"] == "seller"


async def test_two_of_two_who_disagree_leave_it_to_the_operator(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=2)
    await court.votes("seller", "buyer")
    assert (await court.seen(court.buyer))["escalation_reason"] == "no_plurality"


@covers("event.kind.dispute.escalated")
async def test_where_nobody_can_judge_the_case_is_the_operators_at_once(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=0)
    seen = await court.seen(court.buyer)
    assert (seen["status"], seen["escalation_reason"]) == ("escalated", "no_eligible_evaluators")
    assert court.job["waiting_on"]["who"] == "operator"
    assert [kind for kind, _ in await court.told(court.buyer)] == ["dispute.escalated"]


@covers("error.more.already_voted", "error.more.dispute_closed", "error.more.deadline_missed")
async def test_a_vote_is_final_and_the_same_vote_again_is_the_same_answer(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, second, third = await court.panel()
    once = await court.vote(first, "buyer", "The output is empty.")
    assert await court.vote(first, "buyer", "In other words.") == once
    assert once["my_vote"]["rationale"] == "The output is empty."
    assert (await court.vote(first, "seller"))["code"] == "already_voted"
    await court.vote(second, "buyer")
    assert (await court.vote(third, "buyer"))["code"] == "dispute_closed"
    closed = await court.vote(first, "buyer")
    assert (closed["status"], closed["my_vote"]["agreed"]) == ("resolved", True)


async def withdrawn(court: Court) -> Any:
    return await court.trade.market.call("withdraw_dispute", by=court.buyer, dispute_id=court.dispute_id)


async def test_a_buyer_withdraws_and_the_job_is_completed_as_it_was_delivered(trade: Trade) -> None:
    court = await Court.opened(trade, price=PRICE)
    first, second, _ = await court.panel()
    await court.vote(first, "buyer")
    seen = await withdrawn(court)
    assert (seen["status"], seen["outcome"], seen["resolved_by"]) == ("resolved", None, "buyer")
    assert await withdrawn(court) == seen
    job = await court.job_seen()
    assert (job["status"], job["refund_due"]) == ("completed", False)
    assert job["resolution"] == {"outcome": None, "note": None, "by": "buyer"}
    assert (await court.vote(second, "buyer"))["code"] == "dispute_closed"
    (_, told) = (await court.told(first))[-1]
    assert (told["decided_by"], told["outcome"], told["your_vote"], told["agreed"]) == ("buyer", None, "buyer", None)
    assert "withdrew" in told["note"]
    assert "votes" not in told["note"]
    assert (await trade.market.call("get_evaluator", by=first))["record"]["test"]["agreement_rate"] is None


async def test_an_escalated_case_is_withdrawn_too_and_a_decided_one_is_not(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=0)
    assert (await withdrawn(court))["resolved_by"] == "buyer"
    court = await Court.of(trade, court.seller, court.buyer, {one.id: one for one in [await evaluator(trade)]})
    await court.votes("seller")
    refused = await trade.market.refusal("withdraw_dispute", by=court.buyer, dispute_id=court.dispute_id)
    assert (refused["code"], refused["details"]["outcome"]) == ("dispute_closed", "seller")


async def test_what_a_seller_does_next_is_said_as_the_case_stands(trade: Trade) -> None:
    court = await Court.opened(trade)

    async def next_step() -> Any:
        seen = await trade.market.call("get_dispute", by=court.seller, dispute_id=court.dispute_id)
        *evidence, step = seen["next_steps"]
        assert [one["tool"] for one in evidence] == (["post_message"] if seen["evidence"]["open"] else [])
        return step["tool"], step["why"]

    assert await next_step() == ("get_dispute", "Look again: there is no verdict yet.")
    await withdrawn(court)
    assert await next_step() == ("get_job", "It was withdrawn: see how the job ended.")
    court = await Court.of(trade, court.seller, court.buyer, court.offered)
    await court.votes("seller", "seller")
    assert await next_step() == ("get_job", "See what the verdict left to do.")


async def test_only_the_buyer_withdraws(trade: Trade) -> None:
    court = await Court.opened(trade)
    for agent, code in ((court.seller, "invalid_transition"), ((await court.panel())[0], "not_found")):
        refused = await trade.market.refusal("withdraw_dispute", by=agent, dispute_id=court.dispute_id)
        assert refused["code"] == code


@covers("route.agents.admin.resolve", "invariant.12.verdict")
async def test_the_operator_decides_what_is_escalated_and_nothing_else(trade: Trade) -> None:
    market = trade.market
    court = await Court.opened(trade, price=PRICE)
    said = {"job_id": court.job["id"], "verdict": "split", "note": "Half of it was done."}
    early = await as_operator(trade, **said)
    assert (early["code"], early["details"]["dispute_status"]) == ("invalid_transition", "panel")
    await court.votes("buyer", "seller", "split")
    decided = await market.as_operator("resolve_job", **said)
    assert (decided["role"], decided["status"], decided["outcome"]) == ("operator", "resolved", "split")
    job = await court.job_seen()
    assert job["resolution"] == {"outcome": "split", "note": "Half of it was done.", "by": "operator"}
    assert (job["status"], job["refund_expected"]) == ("resolved", PRICE // 2)
    same = await market.as_operator("resolve_job", job_id=court.job["id"], outcome="split")
    assert same == decided
    assert (await as_operator(trade, job_id=court.job["id"], outcome="buyer"))["code"] == "invalid_transition"
    sitting = [court.offered[seat.agent_id] for seat in await court.seats()]
    agreed = [(await court.told(one))[-1][1]["agreed"] for one in sitting]
    assert sorted(agreed) == [False, False, True]


async def as_operator(trade: Trade, **given: Any) -> Any:
    return (await trade.market.answer("resolve_job", given, admin_token=OPERATOR_SECRET)).error


@covers("route.inbox.disputes_awaiting_my_verdict")
async def test_the_inbox_shows_what_waits_for_a_vote_until_it_is_given_or_too_late(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, second, _ = await court.panel()
    (waiting,) = await awaited(court, first)
    assert (waiting["id"], waiting["title"], waiting["round"]) == (court.dispute_id, court.job["title"], 1)
    await court.vote(first, "seller")
    assert await awaited(court, first) == []
    assert len(await awaited(court, second)) == 1
    await court.window_passes(swept=False)
    assert await awaited(court, second) == []


async def awaited(court: Court, agent: Agent) -> Any:
    return (await court.trade.market.call("get_inbox", by=agent))["disputes_awaiting_my_verdict"]


@covers("route.disputes.list")
async def test_everybody_lists_the_cases_it_has_to_do_with(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=1)
    other = await Court.of(trade, court.seller, court.buyer, court.offered)
    (agent,) = court.offered.values()
    newest = [other.dispute_id, court.dispute_id]

    async def listed(by: Agent, **asked: Any) -> list[str]:
        return [one["id"] for one in (await trade.market.call("list_disputes", by=by, **asked))["data"]]

    for who in (court.seller, court.buyer):
        assert await listed(who) == newest
        assert await listed(who, role="party") == newest
        assert await listed(who, role="evaluator") == []
    assert await listed(agent) == await listed(agent, role="evaluator") == newest
    assert await listed(agent, role="party") == []
    await court.votes("seller")
    assert await listed(agent, status="resolved") == await listed(court.buyer, status="resolved") == [court.dispute_id]
    assert await listed(agent, status="panel") == [other.dispute_id]
    page = await trade.market.call("list_disputes", by=agent, limit=1)
    rest = await trade.market.call("list_disputes", by=agent, limit=1, cursor=page["next_cursor"])
    assert [one["id"] for one in (*page["data"], *rest["data"])] == newest
    assert await listed(await trade.market.register("Stranger")) == []


async def test_an_evaluator_who_leaves_or_is_suspended_frees_its_seat_without_a_miss(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=5)
    first, second, third = await court.panel()
    await trade.market.call("delete_me", by=first, confirm=first.handle)
    await trade.market.as_operator("set_agent_status", agent_id=second.id, status="suspended")
    await trade.market.workers.resolve_disputes()
    assert [one.id for one in await court.panel()] == [third.id], "the third can still be the one that votes"
    await court.vote(third, "seller")
    fresh = await court.panel()
    assert len(fresh) == 2, "the free seats are drawn again once nobody else is waited for"
    assert {seat.status.value for seat in await court.seats() if seat.agent_id in (first.id, second.id)} == {"void"}
    await court.votes("seller")
    assert (await court.job_seen())["resolution"]["outcome"] == "seller"
    await trade.market.as_operator("set_agent_status", agent_id=second.id, status="active")
    record = (await trade.market.call("get_evaluator", by=second))["record"]["test"]
    assert record == {"verdicts": 0, "missed": 0, "pending": 0, "agreement_rate": None}


async def test_an_evaluator_who_comes_to_share_a_wallet_with_a_party_loses_its_seat(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=5)
    first, *others = await court.panel()
    for agent in others:
        await court.vote(agent, "seller" if agent is others[0] else "buyer")
    first.wallet = court.buyer.wallet
    await trade.bind(first)
    assert (await court.vote(first, "buyer"))["code"] == "dispute_closed"
    assert (await court.seen(first))["my_vote"]["status"] == "void"
    fresh = await court.panel()
    assert (len(fresh), first in fresh) == (1, False), "its seat is drawn again"
    await court.votes("seller")
    assert (await court.job_seen())["resolution"]["outcome"] == "seller"
