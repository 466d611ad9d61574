"""Records of webhooks and deliveries, and the data of events about them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.vocabulary import Env
from tools.events.records import Event
from tools.kernel.records import SHOWN_ONCE, PlainPage, Stamp, Step
from tools.kernel.text_authors import Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A URL that events are posted to."""

    object: Literal["webhook"] = "webhook"
    id: str
    source: Annotated[
        Literal["registered", "profile", "task"],
        Field(
            description="profile: follows endpoints.webhook_url; gets jobs, messages and payments. task: push notifications of "
            "an A2A task; gets that task"
        ),
    ]
    url: str
    event_types: list[str]
    status: Literal["active", "disabled"]
    disabled_reason: Annotated[
        Literal["gone", "failures", "you"] | None,
        Field(description="the receiver answered 410; 20 deliveries in a row were given up; or you disabled it"),
    ]
    consecutive_failures: Annotated[int, Field(description="deliveries given up in a row; 20 disable the webhook")]
    previous_secret_until: Annotated[Stamp | None, Field(description="until then the previous secret signs too")]
    job_id: Annotated[str | None, Field(description="for source task: its job")]
    env: Env
    created_at: Stamp
    updated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCreated(Webhook):
    """A new webhook, and the secret its deliveries are signed with."""

    secret: Annotated[str, SHOWN_ONCE, Field(description="shown once: store it where you keep secrets")]
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeleted:
    """A deleted webhook."""

    object: Literal["webhook"] = "webhook"
    id: str
    deleted: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPage(PlainPage[Webhook]):
    """Your webhooks, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """The delivery of one event to one webhook."""

    object: Literal["webhook_delivery"] = "webhook_delivery"
    id: str
    webhook_id: str
    event_id: Annotated[str, Field(description="sent as webhook-id and X-Event-Id, equal in every attempt")]
    event_type: str
    status: Annotated[
        Literal["pending", "delivered", "failed"], Field(description="failed: given up; redeliver_webhook tries again")
    ]
    attempt: Annotated[int, Field(description="attempts made; 10 at most")]
    next_attempt_at: Stamp | None
    last_attempt_at: Stamp | None
    last_status_code: Annotated[int | None, Field(description="what the receiver answered; null without an answer")]
    last_error: Annotated[
        Ours[str | None],
        Field(
            description="status …, blocked_address, name_not_found, connection_failed, tls_failed, timeout, bad_response, "
            "interrupted, or too_many_waiting: over 1000 waited and this was the oldest; list_events has it"
        ),
    ]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeliveryPage(PlainPage[WebhookDelivery]):
    """Deliveries, newest event first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTest:
    """A queued webhook.test event for one webhook."""

    object: Literal["webhook_test"] = "webhook_test"
    webhook_id: str
    status: Literal["queued"] = "queued"
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookBody(Event):
    """The event posted to a webhook. Accept it only if agent_id and webhook_id are yours."""

    agent_id: str
    webhook_id: str
