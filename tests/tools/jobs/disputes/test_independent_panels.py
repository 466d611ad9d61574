"""Clauses about independent evaluators: the relations that rows show, and the resulting panels."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import text

from server.verify_draws import examine_record, findings
from storage.disputes import seats_of_dispute
from storage.migrate import upgrade
from storage.tables import AgentRow, DrawRow, HeldDomainRow, HeldWalletRow, JobRow, SeatRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.earlier_revisions import at_revision
from tests.support.market import Agent
from tests.support.panels import Court, evaluator
from tests.support.proofs import ReadContext
from tests.support.reputation import Ended
from tests.support.trade import Trade
from tools.jobs.disputes.draw_rules import hash_of, in_order, list_text, pairs_text
from tools.operator.recompute import recompute

Relating = Callable[[Trade, Agent, Agent], Awaitable[None]]
MONTH = timedelta(days=30)


async def one_wallet_that_changed_hands(trade: Trade, one: Agent, other: Agent) -> None:
    wallet = trade.evm.person(0)
    await trade.rebind(one, wallet)
    await trade.rebind(one, trade.evm.person(0))
    await trade.rebind(other, wallet)
    await trade.rebind(other, trade.evm.person(0))


async def one_referrer(trade: Trade, one: Agent, other: Agent) -> None:
    referrer = await trade.market.register("Rex")
    for agent in (one, other):
        await write_row(trade.market, AgentRow, agent.id, referred_by=referrer.id)


async def one_referred_the_other(trade: Trade, one: Agent, other: Agent) -> None:
    await write_row(trade.market, AgentRow, other.id, referred_by=one.id)


async def one_site_proven_and_given_up(trade: Trade, one: Agent, other: Agent) -> None:
    outside = ReadContext(trade.market)
    for agent, domain in ((one, "a.example.co.uk"), (other, "b.example.co.uk")):
        outside.zone.records[f"_service.{domain}"] = [f"service={agent.id}".encode()]
        await trade.market.call("add_domain", by=agent, domain=domain)
        await trade.market.call("verify_domain", by=agent, domain=domain)
    await trade.market.call("remove_domain", by=one, domain="a.example.co.uk")


async def one_paid_much_of_the_other(trade: Trade, one: Agent, other: Agent) -> None:
    await sold(trade, other, {one.wallet.address: 11, "0xPayer": 98})


async def one_set_of_payers(trade: Trade, one: Agent, other: Agent) -> None:
    for seller in (one, other):
        await sold(trade, seller, {"0xFirst": 20, "0xSecond": 20, f"0x{seller.id}": 30})


async def one_set_of_payers_paid_back(trade: Trade, one: Agent, other: Agent) -> None:
    """Refund both sellers' payers: it removes the volume, but not the trace."""
    for seller in (one, other):
        await sold(trade, seller, {"0xFirst": 20, "0xSecond": 20}, refunded=True)


RELATING: list[Relating] = [
    one_wallet_that_changed_hands,
    one_referrer,
    one_referred_the_other,
    one_site_proven_and_given_up,
    one_paid_much_of_the_other,
    one_set_of_payers,
    one_set_of_payers_paid_back,
]


async def sold(
    trade: Trade, seller: Agent, paid: dict[str, int], *, env: str = "test", refunded: bool = False, minor: int = 10_000
) -> None:
    """Insert completed jobs of the seller, paid by these wallets with this many units."""
    jobs = [
        Ended(f"job_{wallet}_{seller.id}_{env}", seller.id, "agt_buyer", units * minor, wallet, env)
        for wallet, units in paid.items()
    ]

    def write(tx: Tx) -> None:
        for job in jobs:
            job.write(tx)
            if refunded:
                job.refund(tx, job.paid_minor)

    await trade.market.store.write(write)


async def judges(trade: Trade, count: int) -> list[Agent]:
    found = [await evaluator(trade) for _ in range(count)]
    for one in found:
        one.wallet = trade.evm.person(0)
        await trade.bind(one)
    return found


def named(*agents: Agent) -> dict[str, Agent]:
    return {one.id: one for one in agents}


async def sitting(court: Court) -> set[str]:
    return {seat.agent_id for seat in await court.seats()}


async def draw_holds(court: Court) -> bool:
    found = await court.trade.market.store.read(lambda tx: findings(tx, court.dispute_id))
    return all(well for well, _ in found)


@covers("second.panels.relations", "second.panels.kept")
@pytest.mark.parametrize("relating", RELATING, ids=lambda one: one.__name__)
async def test_no_two_related_evaluators_sit_on_one_panel(trade: Trade, relating: Relating) -> None:
    one, other, free = await judges(trade, 3)
    await relating(trade, one, other)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(one, other, free))
    assert free.id in await sitting(court)
    assert len(await sitting(court)) == 2, "as many as are unrelated, and no more"
    (draw,) = await court.draws()
    assert orjson.loads(draw.eligible) == sorted([one.id, other.id, free.id])
    assert orjson.loads(draw.related) == [sorted([one.id, other.id])]
    assert (draw.draw_version, draw.wanted, draw.seats) == (3, 3, 2)
    assert (draw.eligible_hash, draw.related_hash) == (hash_of(draw.eligible), hash_of(draw.related))
    assert await draw_holds(court)


@covers("second.panels.parties")
@pytest.mark.parametrize("relating", RELATING, ids=lambda one: one.__name__)
@pytest.mark.parametrize("party", ["seller", "buyer"])
async def test_nobody_sits_who_is_related_to_a_party(trade: Trade, relating: Relating, party: str) -> None:
    near, free = await judges(trade, 2)
    seller, buyer = await trade.parties()
    await relating(trade, near, seller if party == "seller" else buyer)
    court = await Court.of(trade, seller, buyer, named(near, free))
    assert await sitting(court) == {free.id}
    assert await draw_holds(court)


@covers("second.panels.operator")
async def test_what_the_operator_paid_relates_nobody(trade: Trade) -> None:
    operator = await trade.agent("Ops")
    offered = await judges(trade, 3)
    for one in offered:
        await sold(trade, one, {operator.wallet.address: 90, f"0x{one.id}": 10})
    await trade.market.as_operator("set_first_party", agent_id=operator.id, first_party=True)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(*offered))
    assert await sitting(court) == {one.id for one in offered}


@covers("second.panels.relations", "second.panels.operator")
async def test_agents_that_the_operator_referred_are_not_related_by_it(trade: Trade) -> None:
    operator, offered = await trade.agent("Ops"), await judges(trade, 3)
    for one in offered:
        await write_row(trade.market, AgentRow, one.id, referred_by=operator.id)
    await trade.market.as_operator("set_first_party", agent_id=operator.id, first_party=True)
    seller, buyer = await trade.parties()
    assert len(await sitting(await Court.of(trade, seller, buyer, named(*offered)))) == 3


@covers("second.panels.round_two")
async def test_a_seat_drawn_again_is_related_to_nobody_of_the_first_round(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    first = await judges(trade, 3)
    court = await Court.of(trade, seller, buyer, named(*first))
    near, free = await judges(trade, 2)
    await one_referred_the_other(trade, first[0], near)
    court.offered |= named(near, free)
    await court.window_passes()
    assert await sitting(court) == {one.id for one in (*first, free)}
    _, again = await court.draws()
    assert orjson.loads(again.eligible) == sorted([near.id, free.id])
    assert orjson.loads(again.related) in ([], [sorted([first[0].id, near.id])]), "only if the walk met it"
    assert await draw_holds(court)


@covers("second.panels.draw")
async def test_thousands_in_one_hand_hold_one_seat_and_their_pairs_stay_few(trade: Trade) -> None:
    """The stored pairs grow linearly with the evaluators, and traces are read in batches."""
    offered = await judges(trade, 60)
    referrer = await trade.market.register("Rex")
    for one in offered[:58]:
        await write_row(trade.market, AgentRow, one.id, referred_by=referrer.id)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(*offered))
    assert len(await sitting(court) & {one.id for one in offered[:58]}) == 1
    assert {one.id for one in offered[58:]} <= await sitting(court)
    (draw,) = await court.draws()
    assert len(orjson.loads(draw.related)) < 60
    assert await draw_holds(court)


async def live_case(trade: Trade, offered: list[Agent]) -> tuple[Court, Any]:
    """Dispute a live job; return the case as the buyer sees it."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    await write_row(trade.market, JobRow, job["id"], env=Env.LIVE.value)
    made = await trade.market.call("dispute_job", by=buyer, on="live", job_id=job["id"], reason="Empty.")
    court = Court(trade, seller, buyer, made, made["dispute_id"], named(*offered))
    return court, await trade.market.call("get_dispute", by=buyer, on="live", dispute_id=court.dispute_id)


@covers("second.panels.escalation")
@pytest.mark.parametrize(
    ("free", "related", "reason"),
    [(3, 0, None), (2, 2, None), (2, 0, "no_eligible_evaluators"), (1, 2, "no_independent_panel")],
)
async def test_on_live_three_unrelated_evaluators_sit_or_the_operator_decides(
    trade: Trade, free: int, related: int, reason: str | None
) -> None:
    offered = await judges(trade, free + related)
    for one in offered:
        await write_row(trade.market, AgentRow, one.id, trust_tier=1)
    for one in offered[free:]:
        await write_row(trade.market, AgentRow, one.id, referred_by=offered[free].id)
    court, seen = await live_case(trade, offered)
    assert seen["escalation_reason"] == reason
    assert (seen["status"], len(await court.seats())) == (("panel", 3) if reason is None else ("escalated", 0))
    assert await draw_holds(court)
    if reason:
        (said,) = [
            event["data"]
            for event in (await trade.market.call("list_events", by=court.seller, on="live"))["data"]
            if event["type"] == "dispute.escalated"
        ]
        assert said["reason"] == reason


@covers("second.panels.age", "route.agents.evaluator")
@pytest.mark.parametrize(
    ("job", "paid", "waited", "reason"),
    [
        ({}, 10_000, MONTH, None),
        ({}, 10_000, MONTH - timedelta(seconds=1), "too_new"),
        ({}, 9_999, MONTH, "too_new"),
        ({"status": "in_progress", "closed_as": None}, 10_000, MONTH, "too_new"),
        ({"status": "resolved", "outcome": "buyer", "closed_as": "verdict"}, 10_000, MONTH, "too_new"),
        ({"status": "resolved", "outcome": "split", "closed_as": "verdict"}, 10_000, MONTH, None),
        ({"first_party": True}, 10_000, MONTH, "too_new"),
    ],
)
async def test_on_live_an_evaluators_first_counted_payment_has_an_age(
    trade: Trade, job: dict[str, Any], paid: int, waited: timedelta, reason: str | None
) -> None:
    trade.market.market.services.config = replace(trade.market.market.config, evaluator_min_age=MONTH)
    judge = await evaluator(trade, trust_tier=1)
    ended = Ended(f"job_{judge.id}", judge.id, "agt_buyer", paid, columns=job)
    await trade.market.store.write(ended.write)
    when = {"settled_at": trade.market.clock.at - waited}
    await write_row(trade.market, SettlementRow, f"stl_{ended.id}_payment", **when)
    seen = await trade.market.call("get_evaluator", by=judge)
    assert seen["eligibility"]["live"] == {"eligible": reason is None, "reason": reason}
    assert seen["eligibility"]["test"] == {"eligible": True, "reason": None}, "no age is asked on test"
    court, _ = await live_case(trade, [judge])
    assert orjson.loads((await court.draws())[0].eligible) == ([judge.id] if reason is None else [])


@covers("second.panels.version_one")
async def test_a_draw_of_version_one_is_verified_by_version_one_and_keeps_its_seats(trade: Trade) -> None:
    offered = await judges(trade, 5)
    for one in offered:
        await write_row(trade.market, AgentRow, one.id, referred_by=offered[0].id)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(*offered))
    ids = [one.id for one in offered]

    def drawn_before(tx: Tx) -> None:
        """Draw as an older version did: the lowest tickets, related or not."""
        job = tx.get(JobRow, court.job["id"])
        (seat,) = _seats(tx, court)
        assert job is not None
        lowest = in_order(job.panel_seed, 1, ids)[:3]
        for one in lowest:
            if one != seat.agent_id:
                tx.add(SeatRow(**(seat.__dict__ | {"agent_id": one})))
        tx.cursor.execute(
            f"UPDATE dispute_draws SET draw_version = 1, wanted = 0, seats = 3, related = '[]', related_hash = '' "
            f"WHERE dispute_id = '{court.dispute_id}'"
        )
        tx.cursor.execute(f"UPDATE disputes SET seats = 3 WHERE id = '{court.dispute_id}'")

    await trade.market.store.write(drawn_before)
    assert await draw_holds(court), "related members, but drawn by the rule of their time"
    assert await drifts(court) == []
    await court.votes("buyer", "buyer")
    assert (await court.seen(buyer))["outcome"] == "buyer"


def _seats(tx: Tx, court: Court) -> list[SeatRow]:
    return tx.all(seats_of_dispute, dispute_id=court.dispute_id)


async def drifts(court: Court) -> list[str]:
    return [
        key
        async for drift in recompute(court.trade.market.store)
        if drift.aggregate.table == "dispute_draws"
        for key in drift.keys
    ]


@covers("second.panels.doctor")
@pytest.mark.parametrize("relation", ["wallet", "referral", "domain", "payers", "listed"])
async def test_the_doctor_finds_a_panel_with_related_members(trade: Trade, relation: str) -> None:
    """The panel is as a draw of version 2 would leave it that missed the relation."""
    one, other, free = await judges(trade, 3)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(one, other, free))
    assert await drifts(court) == []
    before = (await court.draws())[0].drawn_at - timedelta(days=1)

    def relate(tx: Tx) -> None:
        for agent in (one, other):
            if relation == "wallet":
                tx.add(HeldWalletRow(address="0xOne", agent_id=agent.id, held_at=before))
            if relation == "domain":
                tx.add(HeldDomainRow(domain=f"{agent.handle}.example.com", agent_id=agent.id, held_at=before))
        if relation == "listed":
            draw = tx.get(DrawRow, court.dispute_id, 1)
            assert draw is not None
            related = pairs_text([(one.id, other.id)])
            given = f"related = '{related}', related_hash = '{hash_of(related)}'"
            tx.cursor.execute(f"UPDATE dispute_draws SET {given}")

    await trade.market.store.write(relate)
    if relation == "referral":
        await one_referrer(trade, one, other)
    if relation == "payers":
        await one_set_of_payers(trade, one, other)
        when = f"UPDATE settlements SET settled_at = {int(before.timestamp() * 1_000_000)}"
        await trade.market.store.write(lambda tx: tx.cursor.execute(when))
    assert await drifts(court) == [f"{court.dispute_id} 1"]
    assert not await draw_holds(court)


@covers("second.panels.doctor")
async def test_what_relates_members_after_the_draw_is_no_fault_of_it(trade: Trade) -> None:
    one, other, free = await judges(trade, 3)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(one, other, free))
    trade.market.pass_seconds(1)
    await one_wallet_that_changed_hands(trade, one, other)
    assert await drifts(court) == []


@covers("second.panels.kept", "second.panels.draw")
async def test_anybody_makes_a_draw_of_version_two_again_from_the_record_and_both_lists(
    trade: Trade, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other, free, fourth = await judges(trade, 4)
    await one_referrer(trade, one, other)
    seller, buyer = await trade.parties()
    court = await Court.of(trade, seller, buyer, named(one, other, free, fourth))
    (draw,) = await court.draws()
    await court.votes("buyer", "buyer")
    record, ids, pairs = (tmp_path / f"{name}.json" for name in ("record", "ids", "pairs"))
    shown = await court.seen(buyer)
    assert shown["draws"] == [
        {
            "round": 1, "version": 3, "wanted": 3, "seats": 3, "eligible_count": 4, "eligible_hash": draw.eligible_hash,
            "related_count": len(orjson.loads(draw.related)), "related_hash": draw.related_hash,
        }
    ]  # fmt: skip
    record.write_bytes(orjson.dumps(shown))
    ids.write_text(list_text(court.offered))
    pairs.write_text(draw.related)
    assert examine_record(record, ids, pairs) == 0
    said = capsys.readouterr().out
    assert all(agent_id in said for agent_id in await sitting(court))
    pairs.write_text(pairs_text([(free.id, fourth.id)]))
    assert examine_record(record, ids, pairs) == 1
    for broken in ("{}", '[["one"]]', '["one"]', "[[1,2]]"):
        pairs.write_text(broken)
        assert examine_record(record, ids, pairs) == 1


@covers("second.panels.relations")
def test_the_migration_keeps_every_domain_that_was_ever_proven(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    proven = {"version": 1, "failures": 0, "created_at": 1, "status": "verified"}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("agent_domains", {"agent_id": "agt_a", "domain": "a.com", "verified_at": 7, **proven}),
        ("agent_domains", {"agent_id": "agt_a", "domain": "pending.com", "verified_at": None, **proven}),
        ("agent_domains", {"agent_id": "agt_b", "domain": "lost.com", "verified_at": 9, **proven, "status": "revoked"}),
    ]
    for number, (agent, domain, at) in enumerate(
        [("agt_b", "gone.com", 3), ("agt_a", "a.com", 5), ("agt_a", "a.com", 6)]
    ):
        data = f'{{"domain":"{domain}"}}'
        event = {"agent_id": agent, "env": "test", "kind": "agent.domain_verified", "data": data, "created_at": at}
        rows.append(("events", {"id": number + 1, **event}))
    with at_revision("0026", rows, database, tmp_path, request) as earlier:
        upgrade(earlier)
        with earlier.engine.connect() as connection:
            held = connection.execute(text("SELECT agent_id, domain, held_at FROM domains_held ORDER BY 1, 2")).all()
    assert [tuple(row) for row in held] == [("agt_a", "a.com", 5), ("agt_b", "gone.com", 3), ("agt_b", "lost.com", 9)]
