"""Evaluators: their figures computed from seats, and their eligibility for a panel."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from storage.tables import DisputeRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import DisputeStatus, Env, SeatStatus
from tests.support.market import TestMarket
from tools.evaluators.logic import evaluator_record
from tools.evaluators.records import VotingRecord

NOBODY = VotingRecord(verdicts=0, missed=0, pending=0, agreement_rate=None)
SeatOf = tuple[SeatStatus, str | None, str | None, int]
SEATS: tuple[SeatOf, ...] = (  # status of the seat, its vote, the outcome of the case, seconds until its deadline
    (SeatStatus.VOTED, "buyer", "buyer", 60),
    (SeatStatus.VOTED, "split", "split", -60),
    (SeatStatus.VOTED, "buyer", "buyer", -60),
    (SeatStatus.VOTED, "seller", "buyer", 60),
    (SeatStatus.VOTED, "seller", None, 60),
    (SeatStatus.MISSED, None, "buyer", -60),
    (SeatStatus.PENDING, None, None, 60),
    (SeatStatus.PENDING, None, None, 0),
    (SeatStatus.VOID, None, "buyer", 60),
)


async def test_a_record_is_what_the_seats_say_and_a_deadline_holds_without_a_sweep(market: TestMarket) -> None:
    now = market.clock.at
    await market.store.write(lambda tx: sit(tx, now))
    seen = VotingRecord(verdicts=5, missed=2, pending=1, agreement_rate=0.75)
    for agent, env, record in (("a", Env.TEST, seen), ("a", Env.LIVE, NOBODY), ("b", Env.TEST, NOBODY)):
        found = await market.store.read(lambda tx, agent=agent, env=env: evaluator_record(tx, agent, env, now))
        assert found == record


def sit(tx: Tx, now: datetime, agent_id: str = "a", seats: Sequence[SeatOf] = SEATS) -> None:
    """Insert one case with one seat for each of these."""
    for number, (status, vote, outcome, seconds) in enumerate(seats):
        case = DisputeRow(
            id=f"d{number}", env="test", job_id=f"j{number}", buyer_id="x", seller_id="y", created_at=now,
            status=DisputeStatus.RESOLVED if outcome else DisputeStatus.PANEL, outcome=outcome,
        )  # fmt: skip
        seat = SeatRow(
            dispute_id=case.id, agent_id=agent_id, env="test", round=1, status=status, outcome=vote, drawn_at=now,
            deadline_at=now + timedelta(seconds=seconds),
        )  # fmt: skip
        tx.add(case)
        tx.add(seat)
