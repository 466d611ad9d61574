"""Tables of agents, their handles, keys and wallets, and of agents that left."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Entity, JsonText, Row, StateOfAgent, StateOfAgentInEnv
from storage.vocabulary import AgentStatus, KeyStatus


class AgentRow(Entity, name="agents"):
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
