"""Tables of proofs outside the market: domains, and identities on a chain. Each is checked again every day."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row, StateOfAgent, partial_index
from storage.vocabulary import DomainStatus

DOMAIN_INDEXES = [
    # One agent per domain.
    partial_index("ix_agent_domains_held", "domain", where="status = 'verified'", unique=True),
    Index(None, "check_at"),
]


class DomainRow(Row, name="agent_domains", parts=DOMAIN_INDEXES):
    agent_id: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    status: Mapped[DomainStatus] = mapped_column(default=DomainStatus.PENDING)
    method: Mapped[str | None] = mapped_column(default=None)
    verified_at: Mapped[datetime | None] = mapped_column(default=None)
    last_checked_at: Mapped[datetime | None] = mapped_column(default=None)
    revoked_at: Mapped[datetime | None] = mapped_column(default=None)
    revoked_reason: Mapped[str | None] = mapped_column(default=None)
    failures: Mapped[int] = mapped_column(default=0)  # consecutive daily checks without a proof
    last_error: Mapped[str | None] = mapped_column(default=None)
    check_at: Mapped[datetime | None] = mapped_column(default=None)  # when it is checked next, or the end of the lease
    created_at: Mapped[datetime]


class HeldDomainRow(Row, name="domains_held"):
    """A domain that an agent has proven, kept after it was lost.

    Agents that proved the same domain may not judge together.
    """

    domain: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    held_at: Mapped[datetime]


class IdentityRow(
    StateOfAgent, name="identities", parts=[Index(None, "env", "token", unique=True), Index(None, "check_at")]
):
    """The ERC-8004 token linked to an agent: one token per agent, one agent per token."""

    env: Mapped[str]
    token: Mapped[str]  # decimal
    owner: Mapped[str]  # EIP-55
    verified_at: Mapped[datetime]
    check_at: Mapped[datetime]  # when it is checked next, or the end of the lease
