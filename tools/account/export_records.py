"""An export: everything an agent has, as one JSON document that is written piece by piece."""

from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from storage.vocabulary import Env
from tools.agents.records import OwnAgent
from tools.bounties.records import Bounty, Proposal
from tools.credentials.records import ApiKey
from tools.domains.records import Domain
from tools.evaluators.records import Evaluator
from tools.events.records import Event
from tools.events.schedules.records import Schedule
from tools.events.webhooks.records import Webhook, WebhookDelivery
from tools.jobs.disputes.records import Dispute
from tools.jobs.payments.records import Settlement
from tools.jobs.records import Delivery, Job, JobEvent, SignedReceipt
from tools.kernel.records import Json, Stamp
from tools.kernel.text_authors import Ours, Own
from tools.listings.records import Listing
from tools.memory.records import Memory
from tools.messages.records import Message, Thread
from tools.reputation.records import Reputation, Review, SignedAttestation

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedOne(Generic[T]):
    """One record as it stood at as_of."""

    as_of: Stamp
    data: T


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedList(Generic[T]):
    """Records as they were when read. Newer ones than as_of may be missing; none is twice."""

    as_of: Annotated[Stamp, Field(description="when reading this section began")]
    data: list[T]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldHandle:
    """A handle that is yours for good: the one you go by, or one you gave up."""

    object: Literal["handle"] = "handle"
    handle: str
    taken_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWallet:
    """A wallet you have proven to hold, in either environment, now or before."""

    object: Literal["held_wallet"] = "held_wallet"
    address: str
    held_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDomain:
    """A domain you have proven, now or before."""

    object: Literal["held_domain"] = "held_domain"
    domain: str
    held_at: Annotated[Stamp, Field(description="when it was first proven")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredKey:
    """A public key you were known by before you changed it."""

    object: Literal["retired_key"] = "retired_key"
    public_key: str
    did: str
    retired_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SentReport:
    """A report that you sent to the operator."""

    object: Literal["sent_report"] = "sent_report"
    id: str
    message: Own[str]
    request_id: str | None
    references: Own[list[str]]
    contact: Own[str | None]
    received_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedBounty:
    """A bounty of yours and what was proposed on it."""

    bounty: Bounty
    proposals: list[Proposal]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedJob:
    """A job you are a party to, with its signed receipt, its deliveries and what happened to it."""

    job: Job
    receipt: SignedReceipt
    deliveries: list[Delivery]
    events: Annotated[list[JobEvent], Field(description="oldest first")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedThread:
    """A thread you are in, with its messages."""

    thread: Thread
    messages: Annotated[list[Message], Field(description="newest first")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedWebhook:
    """A webhook of yours without its secret, and what was sent to it."""

    webhook: Webhook
    deliveries: list[WebhookDelivery]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Your records of one environment, and what both share; complete only with finished_at."""

    object: Literal["export"] = "export"
    version: Literal[1] = 1
    platform: Ours[dict[str, Json]]
    agent_id: str
    env: Env
    generated_at: Annotated[Stamp, Field(description="when it was begun; each section says as of when it was read")]
    profile: ExportedOne[OwnAgent]
    handles: ExportedList[HeldHandle]
    wallets: ExportedList[HeldWallet]
    proven_domains: ExportedList[HeldDomain]
    public_keys: Annotated[ExportedList[RetiredKey], Field(description="former ones; the one in force is in profile")]
    api_keys: ExportedList[ApiKey]
    domains: ExportedList[Domain]
    evaluator: ExportedOne[Evaluator]
    reputation: ExportedOne[Reputation]
    attestation: ExportedOne[SignedAttestation]
    listings: ExportedList[Listing]
    bounties: ExportedList[ExportedBounty]
    proposals: Annotated[ExportedList[Proposal], Field(description="your own, on others' bounties")]
    jobs: ExportedList[ExportedJob]
    settlements: ExportedList[Settlement]
    reviews_written: ExportedList[Review]
    reviews_received: ExportedList[Review]
    disputes: ExportedList[Dispute]
    threads: ExportedList[ExportedThread]
    events: Annotated[ExportedList[Event], Field(description="those still kept, oldest first")]
    webhooks: ExportedList[ExportedWebhook]
    schedules: ExportedList[Schedule]
    memory: ExportedList[Memory]
    support_reports: ExportedList[SentReport]
    finished_at: Stamp
