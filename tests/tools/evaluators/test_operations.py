"""Clauses of the contract about evaluators: the offer to judge, eligibility for a panel, and repeatable draws."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from hmac import new as hmac
from itertools import combinations
from pathlib import Path

import orjson
import pytest
from nacl.signing import SigningKey

from server.verify_draws import examine_record, findings
from storage.tables import AgentRow, DisputeRow, DrawRow, JobRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import Env, SeatStatus
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import Agent, TestMarket
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade, binding
from tools.jobs.disputes.draw_rules import Made, draw_seats, hash_of, list_text, ticket, verify_draw


@covers("route.agents.evaluator")
async def test_an_agent_offers_to_judge_and_sees_where_it_can_be_drawn(market: TestMarket) -> None:
    agent = await market.register()
    before = await market.call("get_evaluator", by=agent)
    nowhere = {"eligible": False, "reason": "not_opted_in"}
    assert (before["enabled"], before["eligibility"]) == (False, {"live": nowhere, "test": nowhere})
    offered = await market.call("set_evaluator", by=agent, enabled=True, categories=["Text", "code", "text"])
    assert (offered["enabled"], offered["categories"]) == (True, ["text", "code"])
    trusted = {"eligible": True, "reason": None}
    assert offered["eligibility"] == {"live": {"eligible": False, "reason": "trust_tier"}, "test": trusted}
    assert (await market.call("get_agent", agent_id=agent.id))["evaluator"] is True
    await write_row(market, AgentRow, agent.id, trust_tier=1)
    assert (await market.call("get_evaluator", by=agent))["eligibility"] == {"live": trusted, "test": trusted}
    stopped = await market.call("set_evaluator", by=agent, enabled=False)
    assert (stopped["enabled"], stopped["categories"]) == (False, ["text", "code"])
    assert (await market.call("get_agent", agent_id=agent.id))["evaluator"] is False


async def test_who_stops_keeps_the_seats_it_has(trade: Trade) -> None:
    court = await Court.opened(trade)
    (first, *_) = await court.panel()
    await trade.market.call("set_evaluator", by=first, enabled=False)
    assert (await court.vote(first, "buyer"))["my_vote"]["status"] == "voted"
    other = await Court.of(trade, court.seller, court.buyer, court.offered)
    assert first.id not in {seat.agent_id for seat in await other.seats()}


Ruling = Callable[[Trade, Agent, Agent, Agent], Awaitable[None]]


async def shares_the_sellers_wallet(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    judge.wallet = seller.wallet
    await trade.bind(judge)


async def shared_the_buyers_wallet_once(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    """Let the judge share the buyer's wallet, then give both other wallets."""
    await shares_the_sellers_wallet(trade, judge, buyer, seller)
    for agent in (judge, buyer):
        await change_wallet(trade, agent)


async def change_wallet(trade: Trade, agent: Agent) -> None:
    agent.wallet = trade.evm.person(0)
    text = f"service:wallet:{agent.id}:{agent.wallet.address.lower()}"
    await trade.bind(agent, proof=SigningKey(agent.seed).sign(text.encode()).signature.hex())


async def shares_it_on_live_alone(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    judge.wallet = seller.wallet
    given = {"address": judge.wallet.address, "signature": binding(judge)}
    await trade.market.call("set_wallet_address", by=judge, on="live", **given)


async def was_referred_by_the_buyer(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    await write_row(trade.market, AgentRow, judge.id, referred_by=buyer.id)


async def is_run_by_the_operator_like_the_seller(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    for agent in (judge, seller):
        await trade.market.as_operator("set_first_party", agent_id=agent.id, first_party=True)


async def is_suspended(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    await trade.market.as_operator("set_agent_status", agent_id=judge.id, status="suspended")


async def has_stopped(trade: Trade, judge: Agent, seller: Agent, buyer: Agent) -> None:
    await trade.market.call("set_evaluator", by=judge, enabled=False)


RULED_OUT: list[Ruling] = [
    shares_the_sellers_wallet,
    shared_the_buyers_wallet_once,
    shares_it_on_live_alone,
    was_referred_by_the_buyer,
    is_run_by_the_operator_like_the_seller,
    is_suspended,
    has_stopped,
]


@covers("route.disputes.panel.no_shared_wallet")
@pytest.mark.parametrize("ruling", RULED_OUT, ids=lambda ruling: ruling.__name__)
async def test_who_is_near_a_party_is_not_drawn_from(trade: Trade, ruling: Ruling) -> None:
    seller, buyer = await trade.parties()
    judge, free = await evaluator(trade, "Near"), await evaluator(trade, "Free")
    await ruling(trade, judge, seller, buyer)
    court = await Court.of(trade, seller, buyer, {one.id: one for one in (judge, free)})
    assert [seat.agent_id for seat in await court.seats()] == [free.id]
    assert orjson.loads((await court.draws())[0].eligible) == [free.id]


@covers("route.disputes.panel.no_party")
async def test_a_party_that_offers_to_judge_does_not_judge_itself(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for agent in (seller, buyer):
        await trade.market.call("set_evaluator", by=agent, enabled=True)
    court = await Court.of(trade, seller, buyer, {})
    assert (await court.seen(buyer))["escalation_reason"] == "no_eligible_evaluators"


async def test_the_operators_agents_judge_others(trade: Trade) -> None:
    judge = await evaluator(trade, first_party=True)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, {judge.id: judge})
    assert [seat.agent_id for seat in await court.seats()] == [judge.id]


@covers("route.disputes.panel.tier")
@pytest.mark.parametrize(("trusted", "seats"), [(2, 0), (3, 3), (4, 3)])
async def test_on_live_three_trusted_evaluators_sit_or_none(trade: Trade, trusted: int, seats: int) -> None:
    offered = [await evaluator(trade, trust_tier=1) for _ in range(trusted)]
    offered += [await evaluator(trade) for _ in range(3)]
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    await write_row(trade.market, JobRow, job["id"], env=Env.LIVE.value)
    answer = await trade.market.answer("dispute_job", {"job_id": job["id"], "reason": "Empty."}, key=buyer.keys["live"])
    made = orjson.loads(answer.body)
    court = Court(trade, seller, buyer, made, made["dispute_id"], {one.id: one for one in offered})
    assert {seat.agent_id for seat in await court.seats()} <= {one.id for one in offered[:trusted]}
    assert len(await court.seats()) == seats
    (draw,) = await court.draws()
    assert len(orjson.loads(draw.eligible)) == trusted
    seen = await trade.market.call("get_dispute", by=buyer, on="live", dispute_id=court.dispute_id)
    assert seen["status"] == ("panel" if seats else "escalated")


# The draw.


def test_a_draw_is_the_lowest_tickets_whatever_order_the_ids_come_in() -> None:
    """Recompute the draw from its description; every set of three from six occurs."""
    ids = [f"agt_{letter}" for letter in "ABCDEF"]
    met = set()
    for number in range(2000):
        seed = number.to_bytes(32)
        tickets = {one: hmac(seed, f"emporion:draw:v1:1:{one}".encode(), sha256).digest() for one in ids}
        lowest = sorted(ids, key=tickets.__getitem__)[:3]
        assert draw_seats(seed, 1, ids, 3) == draw_seats(seed, 1, reversed(ids), 3) == lowest
        met.add(frozenset(lowest))
    assert met == {frozenset(three) for three in combinations(ids, 3)}


def test_who_joins_or_leaves_the_list_changes_the_order_of_no_others() -> None:
    ids, seed = [f"agt_{number}" for number in range(50)], b"s" * 32
    order = draw_seats(seed, 1, ids, 50)
    assert sorted(order) == sorted(ids)
    for gone in (order[0], order[25], order[49]):
        assert draw_seats(seed, 1, [one for one in ids if one != gone], 50) == [one for one in order if one != gone]
    assert draw_seats(seed, 2, ids, 50) != order, "each round is a draw of its own"
    assert len({ticket(seed, 1, one) for one in ids}) == 50


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"eligible_hash": "0" * 64}, "the list of ids is not the one that was hashed"),
        ({"eligible": '["c","a","b","d"]'}, "the list of ids is not sorted, or names one twice"),
    ],
)
def test_a_draw_that_was_tampered_with_is_told(change: dict[str, object], wrong: str) -> None:
    seed, text = b"s" * 32, list_text("abcd")
    sitting = draw_seats(seed, 1, "abcd", 2)
    made = Made(version=1, round=1, wanted=0, seats=2, eligible=text, eligible_hash=hash_of(text))
    assert verify_draw(seed, made, sitting) == []
    assert wrong in verify_draw(seed, made._replace(**change), sitting)  # type: ignore[arg-type]
    others = sorted(set("abcd") - set(sitting))
    assert verify_draw(seed, made, others) == ["the seed draws others than those who sat"]


async def test_every_draw_of_a_database_is_made_again_and_one_that_was_written_otherwise_is_found(trade: Trade) -> None:
    court = await Court.opened(trade, evaluators=6)
    await court.window_passes()
    found = await trade.market.store.read(lambda tx: findings(tx, court.dispute_id))
    assert [well for well, _ in found] == [True, True]

    def a_friend_sits_too(tx: Tx) -> None:
        first = tx.get(DrawRow, court.dispute_id, 1)
        assert first is not None
        extra = SeatRow(
            dispute_id=court.dispute_id,
            agent_id="agt_friend",
            env="test",
            round=1,
            status=SeatStatus.MISSED,
            deadline_at=first.drawn_at,
            drawn_at=first.drawn_at,
        )
        tx.add(extra)

    await trade.market.store.write(a_friend_sits_too)
    found = await trade.market.store.read(lambda tx: findings(tx, court.dispute_id))
    assert [well for well, _ in found] == [False, True]


async def test_anybody_makes_the_draw_of_a_closed_case_again_from_its_record(
    trade: Trade, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    court = await Court.opened(trade, evaluators=5)
    sitting = await court.panel()
    record, ids = tmp_path / "record.json", tmp_path / "ids.json"
    ids.write_bytes(orjson.dumps(list(court.offered)))
    record.write_bytes(orjson.dumps(await court.seen(court.buyer)))
    assert examine_record(record, ids) == 1, "an open case shows no seed"
    await court.votes("buyer", "buyer")
    record.write_bytes(orjson.dumps(await court.seen(court.buyer)))
    capsys.readouterr()
    assert examine_record(record, ids) == 0
    said = capsys.readouterr().out
    assert all(agent.id in said for agent in sitting)
    ids.write_bytes(orjson.dumps(list(court.offered)[1:]))
    assert examine_record(record, ids) == 1, "not the list that was drawn from"


async def test_a_case_from_before_there_were_panels_gets_one_at_the_next_sweep(trade: Trade) -> None:
    """After the migration a case is disputed but has no drawn panel."""
    court = await Court.opened(trade, evaluators=0)
    judge = await evaluator(trade)
    court = replace(court, offered={judge.id: judge})

    def undrawn(tx: Tx) -> None:
        row = tx.get(DisputeRow, court.dispute_id)
        assert row is not None
        early = {"round": 0, "seats": 0, "verdict_by": row.created_at, "title": "", "reason": ""}
        tx.cursor.execute("DELETE FROM dispute_draws")
        tx.change(row, status="panel", escalation_reason=None, **early)

    await trade.market.store.write(undrawn)
    await trade.market.workers.resolve_disputes()
    assert [one.id for one in await court.panel()] == [judge.id]
    seen = await court.seen(judge)
    assert (seen["reason"], seen["case"]["job"]["title"]) == (court.job["dispute_reason"], court.job["title"])
