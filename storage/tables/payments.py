"""Tables of settlements, of gas-free payments to search for, of x402 purchases, and of claims of test money.

A settlement is a verified transfer and is never deleted: what a job paid and owes is derived from them.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import EntityOfEnv, JsonText, Row, StateOfAgent, partial_index
from storage.vocabulary import PurchaseStatus, SettlementKind, SettlementStatus

SETTLEMENT_PARTS = [
    UniqueConstraint("network", "tx_hash"),
    CheckConstraint("tx_hash = lower(tx_hash)", name="lower_case"),
    Index(None, "payer_agent_id", "env", "id"),
    Index(None, "payee_agent_id", "env", "id"),
]


class SettlementRow(EntityOfEnv, name="settlements", parts=SETTLEMENT_PARTS):
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


SEARCH_PARTS = [
    CheckConstraint("nonce = lower(nonce) AND length(nonce) = 66", name="nonce"),
    CheckConstraint("scanned_to >= 0 AND valid_before > 0", name="bounds"),
    Index(None, "env", "valid_before", "job_id"),
]


class PaymentSearchRow(Row, name="payment_searches", parts=SEARCH_PARTS):
    """A job whose gas-free terms were answered: a later block may have its payment."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    nonce: Mapped[str]  # 0x and 64 hex, lower case
    scanned_to: Mapped[int]  # block number; no block up to this one has the payment
    valid_before: Mapped[int]  # Unix seconds
    look_at: Mapped[datetime]  # when a worker searches again


PURCHASE_PARTS = [
    UniqueConstraint("env", "payer", "nonce"),
    CheckConstraint("payer = lower(payer) AND nonce = lower(nonce)", name="lower_case"),
    Index(None, "look_at"),
    Index(None, "status", "created_at", "env"),
]


class PurchaseRow(EntityOfEnv, name="purchases", parts=PURCHASE_PARTS):
    payer: Mapped[str]  # address, lower case
    nonce: Mapped[str]  # 0x and 64 hex, lower case
    status: Mapped[PurchaseStatus]
    listing_id: Mapped[str]
    fingerprint: Mapped[str]  # of the order it pays for
    agent_id: Mapped[str] = mapped_column(index=True)  # empty while CHECKING, like job_id
    job_id: Mapped[str] = mapped_column(index=True)
    amount: Mapped[int]
    pay_to: Mapped[str]
    valid_before: Mapped[int]  # Unix seconds
    scanned_to: Mapped[int]  # block number; no block from the order up to this one has the transfer
    # The request to the facilitator, the same at every attempt
    settle_body: Mapped[dict[str, Any]] = mapped_column(JsonText)
    tx_hash: Mapped[str | None] = mapped_column(default=None)
    reason: Mapped[str | None] = mapped_column(default=None)  # the facilitator's last reason, or why it was closed
    held_until: Mapped[datetime | None] = mapped_column(default=None)  # end of the lease of the process working on it
    asked_at: Mapped[datetime | None] = mapped_column(default=None)  # when a call with this payment was last connected
    look_at: Mapped[datetime | None]  # when a worker looks at it again; None: it has ended
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


ACCOUNT_PARTS = [partial_index("ix_x402_accounts_unclaimed", "env", "address", where="claimed_at IS NULL", unique=True)]


class X402AccountRow(StateOfAgent, name="x402_accounts", parts=ACCOUNT_PARTS):
    """The agent that a purchase created for a wallet.

    The wallet is bound to the agent only when the wallet claims it.
    """

    env: Mapped[str]
    address: Mapped[str]  # EIP-55
    made_at: Mapped[datetime]
    claimed_at: Mapped[datetime | None] = mapped_column(default=None)


class FaucetClaimRow(StateOfAgent, name="faucet_claims"):
    """The last claim of an agent: at most one per UTC day."""

    claimed_at: Mapped[datetime | None] = mapped_column(default=None)  # None: the faucet sent nothing
    address: Mapped[str]  # EIP-55
    tx_hash: Mapped[str | None] = mapped_column(default=None)  # None: the faucet did not say
