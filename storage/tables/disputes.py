"""Tables of disputes: cases, panel draws, seats, evaluators, and proven wallets."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, StateOfAgent
from storage.vocabulary import DisputeStatus, SeatStatus

DISPUTE_PARTS = [
    *(Index(None, party, "env", "id") for party in ("buyer_id", "seller_id")),
    *(Index(None, party, "env", "status", "id") for party in ("buyer_id", "seller_id")),
    Index(None, "status", "verdict_by", "id"),
]


class DisputeRow(EntityOfEnv, name="disputes", parts=DISPUTE_PARTS):
    job_id: Mapped[str] = mapped_column(unique=True)
    buyer_id: Mapped[str]
    seller_id: Mapped[str]
    status: Mapped[DisputeStatus] = mapped_column(default=DisputeStatus.PANEL)
    round: Mapped[int] = mapped_column(default=0)  # 0: no panel was drawn yet
    seats: Mapped[int] = mapped_column(default=0)  # of the first round; a seat that is drawn again is the same seat
    verdict_by: Mapped[datetime | None] = mapped_column(default=None)  # None: no evaluator is asked to vote
    outcome: Mapped[str | None] = mapped_column(default=None)  # None when closed: the buyer withdrew
    resolved_by: Mapped[str | None] = mapped_column(default=None)  # panel, operator, buyer
    escalation_reason: Mapped[str | None] = mapped_column(default=None)
    title: Mapped[str] = mapped_column(default="")  # the job's, without names of its parties
    category: Mapped[str] = mapped_column(default="")  # likewise
    reason: Mapped[str] = mapped_column(default="")  # likewise
    checks: Mapped[dict[str, Any] | None] = mapped_column(JsonText, default=None)  # the output against its schema again
    evidence_ends: Mapped[int | None] = mapped_column(default=None)  # the thread's last message before the first vote
    opened_with: Mapped[int | None] = mapped_column(default=None)  # the thread's last message when it was opened
    buyer_done_at: Mapped[datetime | None] = mapped_column(default=None)  # when the buyer finished its evidence
    seller_done_at: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None] = mapped_column(default=None)


class DrawRow(Row, name="dispute_draws"):
    """One draw of a panel.

    It can be repeated with the job's seed and the round, and gives the same seats.
    """

    dispute_id: Mapped[str] = mapped_column(primary_key=True)
    round: Mapped[int] = mapped_column(primary_key=True)
    draw_version: Mapped[int] = mapped_column(default=1)  # of the method, see tools/jobs/disputes/draw_rules.py
    wanted: Mapped[int] = mapped_column(default=0)  # seats to be filled; 0 in version 1
    seats: Mapped[int]  # seats that were filled
    eligible: Mapped[str]  # JSON: the sorted ids that were drawn from
    eligible_hash: Mapped[str]  # sha256 of that text
    related: Mapped[str] = mapped_column(default="[]")  # JSON: the sorted pairs of related ids that the draw met
    related_hash: Mapped[str] = mapped_column(default="")  # sha256 of that text; empty in version 1
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
    content_warnings: Mapped[list[str]] = mapped_column(JsonText, default=[])
    deadline_at: Mapped[datetime]
    drawn_at: Mapped[datetime]
    voted_at: Mapped[datetime | None] = mapped_column(default=None)


class EvaluatorRow(StateOfAgent, name="evaluators"):
    """An agent that has ever offered to sit on panels, and its categories.

    AgentRow.evaluator says whether it still does.
    """

    categories: Mapped[list[str]] = mapped_column(JsonText, default=[])
    updated_at: Mapped[datetime]


class HeldWalletRow(Row, name="wallets_held"):
    """A wallet that an agent has proven to hold, kept after a change.

    Agents that have shared a wallet may not judge each other.
    """

    address: Mapped[str] = mapped_column(primary_key=True)  # EIP-55
    agent_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    held_at: Mapped[datetime]
