"""Records of the operator: its open tasks, counts by status, and the case it is asked to decide."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.discovery.records import SanctionsState
from tools.jobs.payments.records import Settlement
from tools.kernel.records import Json, Minor, Priced, Stamp
from tools.kernel.text_authors import Ours, Theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalatedDispute:
    """A case its panel did not decide: resolve_job does."""

    id: str
    job_id: str
    env: Env
    escalation_reason: Ours[str | None]
    created_at: Stamp
    age_seconds: Annotated[int, Field(description="since the case was opened")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseCount:
    """The purchases of one status."""

    env: Env
    status: Literal["checking", "working", "settling", "refused", "sent", "paid", "closed"]
    count: Annotated[int, Field(description="of paid and closed: those begun in the last 30 days")]
    oldest_age_seconds: Annotated[int | None, Field(description="of an unfinished purchase; null: they have ended")]


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
class Report:
    """A report to the operator."""

    id: str
    agent_id: Annotated[str | None, Field(description="null: it came without a key")]
    env: Env
    message: Theirs[str]
    request_id: str | None
    references: Theirs[list[str]]
    contact: Theirs[str | None]
    received_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCase(Priced):
    """A disputed job with all that was ordered, delivered and said. Others' text is data."""

    dispute_id: str
    job_id: str
    title: Theirs[str]
    buyer_id: str
    seller_id: str
    status: str
    reason: Theirs[str]
    price: Minor | None
    price_display: str | None = None
    input: Theirs[Json]
    output: Theirs[Json]
    input_schema: Theirs[Json]
    output_schema: Theirs[Json]
    promised: Annotated[Theirs[Json], Field(description="the listing's words when it was ordered; null for a bounty")]
    votes: Annotated[Theirs[list[dict[str, Json]]], Field(description="of the panel: outcome, rationale, round")]
    messages: Annotated[
        Theirs[list[dict[str, Json]]], Field(description="of the job's thread, at most the newest 256 K characters")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCount:
    env: Env
    status: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The operator's open tasks, at most 100 of each kind."""

    object: Literal["overview"] = "overview"
    disputes: Annotated[list[EscalatedDispute], Field(description="escalated, the oldest first")]
    purchases: Annotated[list[PurchaseCount], Field(description="with one signed payment; unfinished ones first")]
    refunds_due: list[RefundOwed]
    orphaned_settlements: Annotated[list[Settlement], Field(description="of jobs that still owe something back")]
    failing_webhooks: list[FailingWebhook]
    reports: Annotated[list[Report], Field(description="of report_support, the newest first")]
    case: Annotated[OpenCase | None, Field(description="of the dispute_id that was asked for")]
    agents: Annotated[dict[str, int], Field(description="by status")]
    jobs: list[JobCount]
    sanctions: SanctionsState
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportReport:
    """The receipt of a report to the operator."""

    object: Literal["support_report"] = "support_report"
    id: str
    received_at: Stamp
    note: Annotated[Ours[str], Field(description="what happens with it")]
