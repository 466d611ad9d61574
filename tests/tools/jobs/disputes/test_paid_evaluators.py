"""Clauses about evaluators that a party has paid: the payments give no seat to another evaluator."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.verify_draws import examine_record
from storage.tables import HeldWalletRow, JobRow
from storage.transaction import Tx
from tests.requirements import covers
from tests.support.market import Agent
from tests.support.panels import REASON, Court
from tests.support.trade import Trade
from tests.tools.jobs.disputes.test_independent_panels import draw_holds, drifts, judges, named, sitting, sold
from tools.jobs.disputes.draw_rules import hash_of, in_order, list_text, pairs_text

TICK = timedelta(microseconds=1)
AT_ONCE = timedelta(0)


async def pays(trade: Trade, party: Agent, *judges: Agent) -> None:
    """Pay each evaluator slightly more than a ninth of its payments from others."""
    for judge in judges:
        await sold(trade, judge, {party.wallet.address: 112, f"0x{judge.id}": 1000})
    trade.market.pass_seconds(1)  # the next order is later


async def ordered(trade: Trade, seller: Agent, buyer: Agent) -> JobRow:
    """Return a job that can be disputed, ordered after the wallets were bound."""
    trade.market.pass_seconds(1)
    job = await trade.job_at("revealed", seller, buyer, price=0)
    row = await trade.market.store.read(lambda tx: tx.get(JobRow, job["id"]))
    assert row is not None
    return row


async def disputed(trade: Trade, seller: Agent, buyer: Agent, row: JobRow, *offered: Agent) -> Court:
    job = await trade.market.call("dispute_job", by=buyer, job_id=row.id, reason=REASON)
    return Court(trade, seller, buyer, job, job["dispute_id"], named(*offered))


async def stamp(trade: Trade, table: str, column: str, at: Any) -> None:
    """Set a time in all rows of a table."""
    micros = (at - at.fromtimestamp(0, at.tzinfo)) // TICK
    await trade.market.store.write(lambda tx: tx.cursor.execute(f"UPDATE {table} SET {column} = {micros}"))


@covers("second.panels.bought")
@pytest.mark.parametrize("role", ["seller", "buyer"])
@pytest.mark.parametrize(("place", "ends"), [(0, True), (2, True), (3, False), (5, False)])
async def test_a_party_that_pays_evaluators_lets_no_others_sit(trade: Trade, role: str, place: int, ends: bool) -> None:
    """Either the three lowest tickets are seated as without the payments, or none."""
    offered = named(*await judges(trade, 6))
    seller, buyer = await trade.parties()
    row = await ordered(trade, seller, buyer)
    order = in_order(row.panel_seed, 1, offered)
    await pays(trade, seller if role == "seller" else buyer, offered[order[place]])
    await stamp(trade, "settlements", "settled_at", row.created_at - TICK)
    court = await disputed(trade, seller, buyer, row, *offered.values())
    case = await court.seen(buyer)
    expected = ("escalated", "no_independent_panel") if ends else ("panel", None)
    assert (case["status"], case["escalation_reason"]) == expected
    assert await sitting(court) == (set() if ends else set(order[:3]))
    (draw,) = await court.draws()
    assert orjson.loads(draw.related) == ([[order[place], order[place]]] if ends else [])
    assert await draw_holds(court)


@covers("second.panels.ordered")
@pytest.mark.parametrize(
    ("paid", "bound", "counts"), [(-TICK, -TICK, True), (AT_ONCE, -TICK, False), (-TICK, AT_ONCE, False)]
)
async def test_only_payments_from_before_the_order_by_wallets_of_then_count(
    trade: Trade, paid: timedelta, bound: timedelta, counts: bool
) -> None:
    (judge,) = await judges(trade, 1)
    seller, buyer = await trade.parties()
    row = await ordered(trade, seller, buyer)
    await sold(trade, judge, {buyer.wallet.address: 1})
    await stamp(trade, "settlements", "settled_at", row.created_at + paid)
    await stamp(trade, "wallets_held", "held_at", row.created_at + bound)
    court = await disputed(trade, seller, buyer, row, judge)
    assert await sitting(court) == (set() if counts else {judge.id})
    assert await draw_holds(court)


@covers("second.panels.ordered")
@pytest.mark.parametrize(("paid", "counts"), [(-TICK, True), (AT_ONCE, False)])
async def test_wallets_that_paid_both_relate_a_party_only_by_payments_from_before_the_order(
    trade: Trade, paid: timedelta, counts: bool
) -> None:
    near, free = await judges(trade, 2)
    seller, buyer = await trade.parties()
    row = await ordered(trade, seller, buyer)
    for one in (near, seller):
        await sold(trade, one, {"0xThird": 1})
    await stamp(trade, "settlements", "settled_at", row.created_at + paid)
    trade.market.pass_seconds(1)
    court = await disputed(trade, seller, buyer, row, near, free)
    assert await sitting(court) == ({free.id} if counts else {near.id, free.id})


@covers("second.panels.bought")
async def test_seats_drawn_again_go_to_nobody_instead_of_a_paid_evaluator(trade: Trade) -> None:
    first = await judges(trade, 3)
    seller, buyer = await trade.parties()
    later = await judges(trade, 2)
    for one in later:
        await trade.market.call("set_evaluator", by=one, enabled=False)
    await pays(trade, buyer, later[0])
    court = await Court.of(trade, seller, buyer, named(*first))
    for one in later:
        await trade.market.call("set_evaluator", by=one, enabled=True)
    await court.window_passes()
    case = await court.seen(buyer)
    assert (case["status"], case["escalation_reason"]) == ("escalated", "no_independent_panel")
    assert await sitting(court) == {one.id for one in first}
    assert await draw_holds(court)


@covers("second.panels.bought", "second.panels.kept")
async def test_anybody_sees_from_the_record_at_whom_a_draw_ended(trade: Trade, tmp_path: Path) -> None:
    offered = await judges(trade, 4)
    seller, buyer = await trade.parties()
    await pays(trade, buyer, *offered)
    court = await Court.of(trade, seller, buyer, named(*offered))
    await trade.market.as_operator("resolve_job", job_id=court.job["id"], outcome="seller")
    record, ids, pairs = (tmp_path / f"{name}.json" for name in ("record", "ids", "pairs"))
    shown = await court.seen(buyer)
    (draw,) = shown["draws"]
    assert (draw["version"], draw["wanted"], draw["seats"], draw["related_count"]) == (3, 3, 0, 1)
    first, second, *_ = in_order(bytes.fromhex(shown["panel_seed"]), 1, court.offered)
    record.write_bytes(orjson.dumps(shown))
    ids.write_text(list_text(court.offered))
    pairs.write_text(pairs_text([(first, first)]))
    assert examine_record(record, ids, pairs) == 0
    pairs.write_text(pairs_text([(second, second)]))
    assert examine_record(record, ids, pairs) == 1
    draw |= {"seats": 3}
    record.write_bytes(orjson.dumps(shown))
    pairs.write_text(pairs_text([(first, first)]))
    assert examine_record(record, ids, pairs) == 1, "with this pair nobody sits"
    draw |= {"seats": 0, "related_hash": hash_of("[]")}
    record.write_bytes(orjson.dumps(shown))
    pairs.write_text("[]")
    assert examine_record(record, ids, pairs) == 1, "without it three sit"


@covers("second.panels.bought", "second.panels.version_one")
async def test_a_draw_of_version_two_that_passed_over_a_paid_evaluator_still_holds(trade: Trade) -> None:
    """In older draws the paid evaluator counts as related, and another one is seated."""
    paid, free = await judges(trade, 2)
    seller, buyer = await trade.parties()
    await trade.market.call("set_evaluator", by=paid, enabled=False)
    await pays(trade, buyer, paid)
    court = await Court.of(trade, seller, buyer, named(free))
    eligible, related = list_text([paid.id, free.id]), pairs_text([(paid.id, buyer.id)])

    def drawn_before(tx: Tx) -> None:
        given = {
            "draw_version": 2, "eligible": eligible, "eligible_hash": hash_of(eligible),
            "related": related, "related_hash": hash_of(related),
        }  # fmt: skip
        tx.cursor.execute(
            "UPDATE dispute_draws SET " + ", ".join(f"{name} = '{value}'" for name, value in given.items())
        )

    await trade.market.store.write(drawn_before)
    assert await sitting(court) == {free.id}
    assert await draw_holds(court)
    assert await drifts(court) == []


@covers("second.panels.doctor", "second.panels.bought")
async def test_the_doctor_finds_a_member_that_a_party_had_paid(trade: Trade) -> None:
    (judge,) = await judges(trade, 1)
    seller, buyer = await trade.parties()
    wallet = HeldWalletRow(address="0xBuyers", agent_id=buyer.id, held_at=trade.market.clock.at)
    await trade.market.store.write(lambda tx: tx.add(wallet))
    row = await ordered(trade, seller, buyer)
    court = await disputed(trade, seller, buyer, row, judge)
    assert await drifts(court) == []
    await sold(trade, judge, {"0xBuyers": 1})
    await stamp(trade, "settlements", "settled_at", row.created_at - TICK)
    assert await drifts(court) == [f"{court.dispute_id} 1"]
    assert not await draw_holds(court)
