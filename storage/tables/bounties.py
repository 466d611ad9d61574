"""Tables of bounties (a need and a budget), of sellers' proposals, and of bounty alerts."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, StateOfAgentInEnv, partial_index
from storage.vocabulary import BountyStatus, ProposalStatus

BOUNTY_INDEXES = [
    Index(None, "buyer_id", "env", "id"),
    Index(None, "buyer_id", "env", "status", "id"),
    Index(None, "status", "expires_at", "id"),
    Index(None, "env", "status", "id"),
]


class BountyRow(EntityOfEnv, name="bounties", parts=BOUNTY_INDEXES):
    buyer_id: Mapped[str]
    title: Mapped[str]
    description: Mapped[str]
    category: Mapped[str]
    tags: Mapped[list[str]] = mapped_column(JsonText)
    budget_max: Mapped[int]
    input: Mapped[str | None]  # hash of a document
    job_input: Mapped[str]  # hash of the input document of the bounty's job: input and bounty_description
    deliverable_schema: Mapped[str | None]  # hash of the document input.deliverable_schema
    preview_schema: Mapped[str | None]  # hash of the document input.preview_schema
    acceptance: Mapped[str | None]  # JSON: input.acceptance
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    first_party: Mapped[bool]
    status: Mapped[BountyStatus] = mapped_column(default=BountyStatus.OPEN)
    proposal_count: Mapped[int] = mapped_column(default=0)  # without withdrawn ones
    stored_bytes: Mapped[int] = mapped_column(default=0)  # of its text fields, its input and its schemas
    awarded_proposal_id: Mapped[str | None] = mapped_column(default=None)
    awarded_job_id: Mapped[str | None] = mapped_column(default=None)
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


PROPOSAL_INDEXES = [
    Index(None, "bounty_id", "seller_id", unique=True),
    Index(None, "bounty_id", "price", "id"),
    Index(None, "seller_id", "env", "status", "id"),
    Index(None, "buyer_id", "env", "status", "id"),
]


class ProposalRow(EntityOfEnv, name="proposals", parts=PROPOSAL_INDEXES):
    bounty_id: Mapped[str]
    buyer_id: Mapped[str]  # the bounty's buyer, which decides
    seller_id: Mapped[str]
    thread_id: Mapped[str]
    price: Mapped[int]
    payment: Mapped[str]
    message: Mapped[str | None]
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    status: Mapped[ProposalStatus] = mapped_column(default=ProposalStatus.PENDING)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


ALERT_INDEXES = [partial_index("ix_bounty_alerts_on", "env", "agent_id", where="enabled")]


class BountyAlertRow(StateOfAgentInEnv, name="bounty_alerts", parts=ALERT_INDEXES):
    """An agent's setting for bounty alerts, and the buyers of the bounties sent on a UTC day."""

    enabled: Mapped[bool]
    day: Mapped[str] = mapped_column(default="")
    buyers: Mapped[list[str]] = mapped_column(JsonText, default=[])  # of each bounty it was sent on that day
    strangers: Mapped[int] = mapped_column(default=0)  # how many of them had never paid
    updated_at: Mapped[datetime]


class BountyMatchRow(Row, name="bounty_matches"):
    """A bounty still to be announced, to agents with ids after `after`."""

    bounty_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    after: Mapped[str] = mapped_column(default="")
