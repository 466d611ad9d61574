"""Tables of jobs: the order, its frozen terms and its state. Amounts paid or owed are not stored but derived."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, partial_index

JOB_INDEXES = [
    *(Index(None, party, "env", "id") for party in ("buyer_id", "seller_id")),
    *(Index(None, party, "env", "status", "id") for party in ("buyer_id", "seller_id")),
    Index(None, "listing_id", "status"),
    partial_index("ix_jobs_completed_at", "env", "completed_at", "id", where="status = 'completed'"),
    # A finished job is in none of these three.
    partial_index("ix_jobs_clock_at", "clock_at", "id", where="clock_at IS NOT NULL"),
    partial_index("ix_jobs_waits_for", "waits_for", "env", "act_by", "id", where="waits_for IS NOT NULL"),
    partial_index("ix_jobs_notice_at", "notice_at", "id", where="notice_at IS NOT NULL"),
    Index(None, "buyer_id", "env", "updated_at", "id"),
    partial_index("ix_jobs_forget_at", "forget_at", where="forget_at IS NOT NULL"),
    partial_index("ix_jobs_reference", "buyer_id", "env", "reference", where="reference IS NOT NULL", unique=True),
]


class JobRow(EntityOfEnv, name="jobs", parts=JOB_INDEXES):
    listing_id: Mapped[str | None]
    bounty_id: Mapped[str | None]
    buyer_id: Mapped[str]
    seller_id: Mapped[str]
    thread_id: Mapped[str]
    status: Mapped[str]
    closed_as: Mapped[str | None] = mapped_column(default=None)
    cancel_reason: Mapped[str | None] = mapped_column(default=None)
    dispute_reason: Mapped[str | None] = mapped_column(default=None)
    dispute_id: Mapped[str | None] = mapped_column(default=None)
    outcome: Mapped[str | None] = mapped_column(default=None)
    resolved_by: Mapped[str | None] = mapped_column(default=None)
    resolution_note: Mapped[str | None] = mapped_column(default=None)
    title: Mapped[str]
    category: Mapped[str]
    pricing_model: Mapped[str]
    payment: Mapped[str]
    units: Mapped[int]
    price: Mapped[int | None]
    quoted_price: Mapped[int | None] = mapped_column(default=None)
    quote_message: Mapped[str | None] = mapped_column(default=None)
    turnaround_seconds: Mapped[int]
    accept_timeout_seconds: Mapped[int]
    max_revisions: Mapped[int]
    revision_count: Mapped[int] = mapped_column(default=0)
    first_party: Mapped[bool]
    input: Mapped[str]  # hash of its text in job_texts
    input_schema: Mapped[str | None]
    output_schema: Mapped[str | None]
    preview_schema: Mapped[str | None] = mapped_column(default=None)  # the bounty's
    acceptance: Mapped[str | None] = mapped_column(default=None)  # JSON, as in the listing
    output: Mapped[str | None] = mapped_column(default=None)  # hash of its text in job_texts
    output_bytes: Mapped[int | None] = mapped_column(default=None)
    output_salt: Mapped[str | None] = mapped_column(default=None)  # hex
    output_commitment: Mapped[str | None] = mapped_column(default=None)
    output_preview: Mapped[str | None] = mapped_column(default=None)
    content_warnings: Mapped[list[str]] = mapped_column(JsonText, default=[])
    panel_seed: Mapped[bytes]
    head_at_order: Mapped[int | None]
    block_time_at_order: Mapped[datetime | None] = mapped_column(default=None)  # the chain's time at the order
    pay_to: Mapped[str | None] = mapped_column(default=None)
    pay_from: Mapped[str | None] = mapped_column(default=None)
    accept_by: Mapped[datetime | None]
    pay_by: Mapped[datetime | None] = mapped_column(default=None)
    deliver_by: Mapped[datetime | None] = mapped_column(default=None)
    review_by: Mapped[datetime | None] = mapped_column(default=None)
    waits_for: Mapped[str | None] = mapped_column(default=None)  # the party that must act, by the lifecycle
    act_by: Mapped[datetime | None] = mapped_column(default=None)  # and by when
    notice_at: Mapped[datetime | None] = mapped_column(default=None)  # when the clock next triggers a notice
    clock_at: Mapped[datetime | None] = mapped_column(default=None)  # when the clock's next move is due
    # The deliver_by that was reported as overdue.
    overdue_told_for: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None] = mapped_column(default=None)
    delivered_at: Mapped[datetime | None] = mapped_column(default=None)
    completed_at: Mapped[datetime | None] = mapped_column(default=None)
    updated_at: Mapped[datetime]
    reference: Mapped[str | None] = mapped_column(default=None)  # the buyer's own name of the order
    order_hash: Mapped[str | None] = mapped_column(default=None)  # of what the order with a reference said
    max_price: Mapped[int | None] = mapped_column(default=None)  # the most that the buyer agrees to pay
    message_id: Mapped[str | None] = mapped_column(default=None)  # of the A2A message that ordered the job
    context_id: Mapped[str | None] = mapped_column(default=None)  # of A2A, as in the buyer's message
    counted: Mapped[bool] = mapped_column(default=True)  # its texts use its parties' space: no payment covers them
    forget_at: Mapped[datetime | None] = mapped_column(default=None)  # when its unpaid texts are deleted
    worker: Mapped[str | None] = mapped_column(default=None)  # of the seller's programs, the one that holds the job
    lease_until: Mapped[datetime | None] = mapped_column(default=None)
    forgotten_at: Mapped[datetime | None] = mapped_column(default=None)  # when they were deleted


class JobEventRow(Row, name="job_events", parts=[Index(None, "job_id", "id")]):
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str]
    type: Mapped[str]
    actor_id: Mapped[str | None]
    data: Mapped[str | None]
    created_at: Mapped[datetime]


class JobDeliveryRow(Row, name="job_deliveries"):
    """A delivery, one row per revision. The job also has the last one."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    output: Mapped[str]  # hash of its text in job_texts
    output_bytes: Mapped[int]
    output_salt: Mapped[str]  # hex, 32 random bytes
    output_commitment: Mapped[str]
    output_preview: Mapped[str | None]
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    delivered_at: Mapped[datetime]
    deliver_by: Mapped[datetime | None] = mapped_column(default=None)  # the deadline this delivery had


REVIEW_INDEXES = [
    Index(None, "subject_id", "env", "role", "id"),
    Index(None, "listing_id"),
]


class ReviewRow(Row, name="reviews", parts=REVIEW_INDEXES):
    job_id: Mapped[str] = mapped_column(primary_key=True)
    reviewer_id: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    env: Mapped[str]
    listing_id: Mapped[str | None]
    subject_id: Mapped[str]
    role: Mapped[str]
    rating: Mapped[int]
    comment: Mapped[str | None]
    job_value: Mapped[int]
    machine_generated: Mapped[bool]
    content_warnings: Mapped[list[str]] = mapped_column(JsonText)
    created_at: Mapped[datetime]


class OpenRefundRow(Row, name="open_refunds", parts=[Index(None, "seller_id", "env", "job_id")]):
    """A job whose seller owes a refund according to its settlements.

    The row is for finding such jobs; it has no amount.
    """

    job_id: Mapped[str] = mapped_column(primary_key=True)
    seller_id: Mapped[str]
    env: Mapped[str]
