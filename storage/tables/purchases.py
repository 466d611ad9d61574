"""Purchases from the operator with one signed payment: what was signed, and how far it has gone. Kept for good, as settlements are."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class PurchaseStatus(StrEnum):
    WORKING = "working"  # the job is ordered; nobody has the authorization but us
    SETTLING = "settling"  # the facilitator may have it
    REFUSED = "refused"  # the facilitator said no, and the chain shows nothing: handed over again only by who brings it
    SENT = "sent"  # a hash is known
    PAID = "paid"
    CLOSED = "closed"  # nothing was charged


PURCHASE_PARTS = [
    UniqueConstraint("env", "payer", "nonce"),
    CheckConstraint("payer = lower(payer) AND nonce = lower(nonce)", name="lower_case"),
    Index(None, "look_at"),
]


class PurchaseRow(Row, name="purchases", parts=PURCHASE_PARTS):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    payer: Mapped[str]  # address, lower case
    nonce: Mapped[str]  # 0x and 64 hex, lower case
    status: Mapped[PurchaseStatus]
    listing_id: Mapped[str]
    fingerprint: Mapped[str]  # of the order it pays for
    agent_id: Mapped[str] = mapped_column(index=True)
    job_id: Mapped[str] = mapped_column(index=True)
    amount: Mapped[int]
    pay_to: Mapped[str]
    valid_before: Mapped[int]  # Unix seconds
    scanned_to: Mapped[int]  # block: no earlier one since the order holds the transfer
    settle_body: Mapped[str]  # JSON: what the facilitator is given, as often as it must be
    tx_hash: Mapped[str | None] = mapped_column(default=None)
    reason: Mapped[str | None] = mapped_column(default=None)  # what the facilitator said last, or why it was closed
    held_until: Mapped[datetime | None] = mapped_column(default=None)  # whoever is at it has it alone until then
    look_at: Mapped[datetime | None]  # when it is looked at again by itself; None: it has ended
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
