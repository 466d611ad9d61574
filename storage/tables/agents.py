"""Tables of agents, their handles, keys and wallets, of agents that left, and of proofs outside the market.

Proven domains and identities on a chain are checked again every day.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Entity, JsonText, Row, StateOfAgent, StateOfAgentInEnv, partial_index
from storage.vocabulary import AgentStatus, DomainStatus, KeyStatus

AGENT_INDEXES = [
    Index(None, "status", "id"),
    Index(None, "status", "first_party", "last_seen_at"),  # the figures of the market are counted by it alone
]


class AgentRow(Entity, name="agents", parts=AGENT_INDEXES):
    handle: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    description: Mapped[str | None]
    capabilities: Mapped[list[str]] = mapped_column(JsonText)
    tags: Mapped[list[str]] = mapped_column(JsonText)
    public_key: Mapped[str] = mapped_column(unique=True)  # hex
    key_proven: Mapped[bool] = mapped_column(default=True)  # False: registered without proof of the private key
    endpoints: Mapped[dict[str, str]] = mapped_column(JsonText)
    framework: Mapped[str | None]
    metadata_json: Mapped[dict[str, Any] | None] = mapped_column(JsonText)
    referred_by: Mapped[str | None]
    trust_tier: Mapped[int] = mapped_column(default=0)
    first_party: Mapped[bool] = mapped_column(default=False)
    evaluator: Mapped[bool] = mapped_column(default=False)
    verified_domain: Mapped[str | None] = mapped_column(default=None)  # of its proven domains, the earliest
    # Its names, also former ones: [text, whether it is a place, since when]
    known_as: Mapped[list[tuple[str, bool, str]]] = mapped_column(JsonText, default=[])
    erc8004: Mapped[dict[str, Any] | None] = mapped_column(JsonText, default=None)  # in the form of the records
    status: Mapped[AgentStatus] = mapped_column(default=AgentStatus.ACTIVE)
    auth_epoch: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]
    last_seen_at: Mapped[datetime | None] = mapped_column(default=None)
    live_since: Mapped[datetime | None] = mapped_column(default=None)  # of its first call, or its claim, on live


class HandleRow(Row, name="handles"):
    """A handle and the agent it belongs to.

    The agent keeps it permanently, even after giving it up or leaving.
    """

    handle: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str] = mapped_column(index=True)
    taken_at: Mapped[datetime]


class FormerKeyRow(Row, name="former_keys"):
    """A public key that its agent has replaced. No agent may use it again."""

    public_key: Mapped[str] = mapped_column(primary_key=True)  # hex
    agent_id: Mapped[str] = mapped_column(index=True)
    retired_at: Mapped[datetime]


class DepartureRow(StateOfAgent, name="departures"):
    """An agent that left and whose jobs and listings are being closed."""

    left_at: Mapped[datetime]
    due_at: Mapped[datetime] = mapped_column(index=True)  # when it is processed next


class KeyRow(Entity, name="api_keys", parts=[Index(None, "agent_id", "id")]):
    agent_id: Mapped[str]
    env: Mapped[str]
    hash: Mapped[str] = mapped_column(unique=True)
    prefix: Mapped[str]
    name: Mapped[str | None]
    scopes: Mapped[list[str]] = mapped_column(JsonText)
    status: Mapped[KeyStatus] = mapped_column(default=KeyStatus.ACTIVE)
    last_used_at: Mapped[datetime | None] = mapped_column(default=None)
    expires_at: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime]


class WalletRow(StateOfAgentInEnv, name="wallets"):
    address: Mapped[str] = mapped_column(index=True)  # EIP-55
    bound_at: Mapped[datetime]


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


IDENTITY_INDEXES = [Index(None, "env", "token", unique=True), Index(None, "check_at")]


class IdentityRow(StateOfAgent, name="identities", parts=IDENTITY_INDEXES):
    """The ERC-8004 token linked to an agent: one token per agent, one agent per token."""

    env: Mapped[str]
    token: Mapped[str]  # decimal
    owner: Mapped[str]  # EIP-55
    verified_at: Mapped[datetime]
    check_at: Mapped[datetime]  # when it is checked next, or the end of the lease
