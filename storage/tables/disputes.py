"""Disputes: the case of a disputed job, the panels drawn for it, their seats, and who has offered to sit on one."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class DisputeStatus(StrEnum):
    PANEL = "panel"
    ESCALATED = "escalated"
    RESOLVED = "resolved"


class SeatStatus(StrEnum):
    PENDING = "pending"
    VOTED = "voted"
    MISSED = "missed"
    VOID = "void"  # the case was closed before this vote, or the evaluator left the market


DISPUTE_PARTS = [
    Index(None, "buyer_id", "env", "id"),
    Index(None, "seller_id", "env", "id"),
    Index(None, "buyer_id", "env", "status", "id"),
    Index(None, "seller_id", "env", "status", "id"),
    Index(None, "status", "verdict_by", "id"),
]


class DisputeRow(Row, name="disputes", parts=DISPUTE_PARTS):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    job_id: Mapped[str] = mapped_column(unique=True)
    buyer_id: Mapped[str]
    seller_id: Mapped[str]
    status: Mapped[DisputeStatus] = mapped_column(default=DisputeStatus.PANEL)
    round: Mapped[int] = mapped_column(default=0)  # 0: no panel was drawn yet
    seats: Mapped[int] = mapped_column(default=0)  # as drawn in the first round: a seat drawn again is the same seat
    verdict_by: Mapped[datetime | None] = mapped_column(default=None)  # None: nobody is asked to vote
    outcome: Mapped[str | None] = mapped_column(default=None)  # None when closed: the buyer withdrew
    resolved_by: Mapped[str | None] = mapped_column(default=None)  # panel, operator, buyer
    escalation_reason: Mapped[str | None] = mapped_column(default=None)
    title: Mapped[str] = mapped_column(default="")  # the job's, without what its parties are known by
    category: Mapped[str] = mapped_column(default="")  # likewise
    reason: Mapped[str] = mapped_column(default="")  # likewise
    checks: Mapped[str | None] = mapped_column(default=None)  # JSON: how the output did against its schema, judged anew
    evidence_ends: Mapped[int | None] = mapped_column(default=None)  # the thread's last message before the first vote
    created_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None] = mapped_column(default=None)


class DrawRow(Row, name="dispute_draws"):
    """One draw of a panel: with the job's seed and the round it can be made again, and comes to the same seats."""

    dispute_id: Mapped[str] = mapped_column(primary_key=True)
    round: Mapped[int] = mapped_column(primary_key=True)
    seats: Mapped[int]  # how many were to be filled
    eligible: Mapped[str]  # JSON: the sorted ids that were drawn from
    eligible_hash: Mapped[str]  # sha256 of that text
    drawn_at: Mapped[datetime]


SEAT_PARTS = [
    Index(None, "agent_id", "env", "dispute_id"),
    Index(None, "agent_id", "env", "status", "dispute_id"),
    Index(None, "status", "dispute_id"),
]


class SeatRow(Row, name="dispute_seats", parts=SEAT_PARTS):
    """An evaluator's seat on a panel: drawn once, voted at most once."""

    dispute_id: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    round: Mapped[int]
    status: Mapped[SeatStatus] = mapped_column(default=SeatStatus.PENDING)
    outcome: Mapped[str | None] = mapped_column(default=None)
    rationale: Mapped[str | None] = mapped_column(default=None)
    content_warnings: Mapped[str] = mapped_column(default="[]")
    deadline_at: Mapped[datetime]
    drawn_at: Mapped[datetime]
    voted_at: Mapped[datetime | None] = mapped_column(default=None)


class EvaluatorRow(Row, name="evaluators"):
    """Who has ever offered to sit on panels, and in which categories; whether it still does stands with the agent."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    categories: Mapped[str] = mapped_column(default="[]")  # JSON list
    updated_at: Mapped[datetime]


class HeldWalletRow(Row, name="wallets_held"):
    """A wallet an agent has proven to hold, kept after it was changed: who shared one may not judge the other."""

    address: Mapped[str] = mapped_column(primary_key=True)  # EIP-55
    agent_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    held_at: Mapped[datetime]
