"""Tables of events, of the webhooks that send them with their deliveries, and of schedules."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Entity, JsonText, Row
from storage.vocabulary import DeliveryStatus, PushForm, ScheduleStatus, WebhookSource, WebhookStatus

EVENT_INDEXES = [Index(None, "agent_id", "env", "id"), Index(None, "agent_id", "env", "kind", "id")]


class EventRow(Row, name="events", parts=EVENT_INDEXES):
    id: Mapped[int] = mapped_column(primary_key=True)
    agent_id: Mapped[str]
    env: Mapped[str]
    kind: Mapped[str]
    data: Mapped[str]
    created_at: Mapped[datetime]


WEBHOOK_INDEXES = [Index(None, "agent_id", "env", "id"), Index(None, "due_at"), Index(None, "agent_id", "job_id")]


class WebhookRow(Entity, name="webhooks", parts=WEBHOOK_INDEXES):
    agent_id: Mapped[str]
    env: Mapped[str]
    source: Mapped[WebhookSource]
    url: Mapped[str]
    event_types: Mapped[list[str]] = mapped_column(JsonText)
    secret: Mapped[bytes | None]  # encrypted; None: only the platform's signature
    previous_secret: Mapped[bytes | None] = mapped_column(default=None)  # encrypted; also signs, until:
    previous_until: Mapped[datetime | None] = mapped_column(default=None)
    status: Mapped[WebhookStatus] = mapped_column(default=WebhookStatus.ACTIVE)
    disabled_reason: Mapped[str | None] = mapped_column(default=None)
    failures: Mapped[int] = mapped_column(default=0)  # consecutive deliveries given up
    since: Mapped[int]  # only events with a higher number are sent
    due_at: Mapped[datetime | None] = mapped_column(default=None)  # when to process it next; while sending, the lease
    sending: Mapped[str | None] = mapped_column(default=None)  # the delivery in flight
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    job_id: Mapped[str | None] = mapped_column(default=None)  # source TASK: the job whose changes it gets
    config_id: Mapped[str | None] = mapped_column(default=None)  # source TASK: the agent's id for this configuration
    form: Mapped[PushForm | None] = mapped_column(default=None)
    scheme: Mapped[str | None] = mapped_column(default=None)  # source TASK: authentication scheme
    headers: Mapped[bytes | None] = mapped_column(default=None)  # source TASK: encrypted JSON of headers
    sent: Mapped[str | None] = mapped_column(default=None)  # source TASK: the output that was sent last
    kept_until: Mapped[datetime | None] = mapped_column(default=None, index=True)


DELIVERY_PARTS = [UniqueConstraint("webhook_id", "event_number"), Index(None, "webhook_id", "due_at", "event_number")]


class DeliveryRow(Entity, name="webhook_deliveries", parts=DELIVERY_PARTS):
    webhook_id: Mapped[str]
    event_number: Mapped[int]
    kind: Mapped[str]
    status: Mapped[DeliveryStatus] = mapped_column(default=DeliveryStatus.PENDING)
    attempt: Mapped[int] = mapped_column(default=0)  # attempts begun
    due_at: Mapped[datetime | None]  # None: no attempt is left
    last_status_code: Mapped[int | None] = mapped_column(default=None)
    last_error: Mapped[str | None] = mapped_column(default=None)
    last_attempt_at: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime] = mapped_column(index=True)


class HostSlotRow(Row, name="webhook_hosts"):
    """An agent's two delivery slots for one host, each taken until its lease ends."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    first_until: Mapped[datetime | None]
    second_until: Mapped[datetime | None] = mapped_column(default=None)
    used_at: Mapped[datetime] = mapped_column(index=True)


class FanoutRow(Row, name="webhook_fanout"):
    """A single row: the last event whose deliveries are written, and when they were."""

    name: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    event_number: Mapped[int]
    at: Mapped[datetime]


SCHEDULE_PARTS = [
    Index(None, "agent_id", "env", "id"),
    Index(None, "agent_id", "env", "status", "id"),
    Index(None, "status", "next_at", "id"),
]


class ScheduleRow(Entity, name="schedules", parts=SCHEDULE_PARTS):
    agent_id: Mapped[str]
    env: Mapped[str]
    name: Mapped[str | None]
    status: Mapped[ScheduleStatus] = mapped_column(default=ScheduleStatus.ACTIVE)
    next_at: Mapped[datetime | None]  # None: done
    interval_seconds: Mapped[int | None]  # None: once
    max_runs: Mapped[int | None]
    run_count: Mapped[int] = mapped_column(default=0)
    last_run_at: Mapped[datetime | None] = mapped_column(default=None)
    payload: Mapped[str]  # JSON
    created_at: Mapped[datetime]
