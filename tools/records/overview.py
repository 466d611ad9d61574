"""What the operator sees of the market: what is stuck, and how much there is of everything. Nothing of what jobs are about."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.ports import Env
from tools.records.base import Minor, Stamp
from tools.records.meta import SanctionsState
from tools.records.payments import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalatedDispute:
    """A case its panel did not decide: resolve_job does."""

    id: str
    job_id: str
    env: Env
    escalation_reason: str | None
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundOwed:
    """A job whose seller owes something back."""

    job_id: str
    env: Env
    seller_id: str
    buyer_id: str
    amount: Minor
    display: str
    updated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingWebhook:
    """A webhook whose deliveries do not arrive."""

    id: str
    agent_id: str
    env: Env
    status: Literal["active", "disabled"]
    failures: Annotated[int, Field(description="deliveries given up in a row")]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCount:
    env: Env
    status: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What waits for the operator; at most 100 of each."""

    object: Literal["overview"] = "overview"
    disputes: Annotated[list[EscalatedDispute], Field(description="escalated, the oldest first")]
    refunds_due: list[RefundOwed]
    orphaned_settlements: Annotated[list[Settlement], Field(description="of jobs that still owe something back")]
    failing_webhooks: list[FailingWebhook]
    agents: Annotated[dict[str, int], Field(description="by status")]
    jobs: list[JobCount]
    sanctions: SanctionsState
    generated_at: Stamp
