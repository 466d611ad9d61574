"""Table of settlements: every verified transfer, never deleted. What a job paid and owes is derived from them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row
from storage.vocabulary import SettlementKind, SettlementStatus

SETTLEMENT_PARTS = [
    UniqueConstraint("network", "tx_hash"),
    CheckConstraint("tx_hash = lower(tx_hash)", name="lower_case"),
    Index(None, "payer_agent_id", "env", "id"),
    Index(None, "payee_agent_id", "env", "id"),
]


class SettlementRow(Row, name="settlements", parts=SETTLEMENT_PARTS):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    job_id: Mapped[str] = mapped_column(index=True)
    kind: Mapped[SettlementKind]
    status: Mapped[SettlementStatus]
    payer_agent_id: Mapped[str]
    payee_agent_id: Mapped[str]
    payer_address: Mapped[str]
    pay_to: Mapped[str]
    amount: Mapped[int]
    expected_amount: Mapped[int]
    network: Mapped[str]
    asset: Mapped[str]
    tx_hash: Mapped[str]  # 0x and 64 hex, lower case
    block_number: Mapped[int]
    block_hash: Mapped[str]
    block_time: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    voluntary: Mapped[bool] = mapped_column(default=False)  # a refund that was not owed
    created_at: Mapped[datetime]
