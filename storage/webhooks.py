"""Queries of webhooks: by agent, by due time, and the deliveries to send next."""

from typing import Any

from sqlalchemy import bindparam, delete, exists, func, literal, select

from storage.json_in import in_json_list
from storage.query import Query, deleting
from storage.tables import AgentRow, DeliveryRow, EventRow, FanoutRow, HostSlotRow, WebhookRow

_ONES = WebhookRow.agent_id == bindparam("agent_id"), WebhookRow.env == bindparam("env")

webhooks_of = Query(
    select(WebhookRow)
    .where(*_ONES, WebhookRow.id < bindparam("before"))
    .order_by(WebhookRow.id.desc())
    .limit(bindparam("limit"))
)
registered_webhooks_of = Query(
    select(func.count()).select_from(WebhookRow.__table__).where(*_ONES, WebhookRow.source == literal("registered"))
)
end_webhooks = Query(delete(WebhookRow.__table__).where(WebhookRow.agent_id == bindparam("agent_id")))
end_webhook = Query(delete(WebhookRow.__table__).where(WebhookRow.id == bindparam("id")))
deliveries_of = Query(
    select(DeliveryRow)
    .where(DeliveryRow.webhook_id == bindparam("webhook_id"), DeliveryRow.event_number < bindparam("before"))
    .order_by(DeliveryRow.event_number.desc())
    .limit(bindparam("limit"))
)

fanned_out = Query(select(FanoutRow.event_number).where(FanoutRow.name == literal("events")))
fanout_if_free = Query(
    select(FanoutRow).where(FanoutRow.name == literal("events")).with_for_update(skip_locked=True)
)  # another process that has locked it does the same work
newest_of_all = Query(select(func.max(EventRow.id)))
events_to_fan_out: Query[Any] = Query(
    select(EventRow.id, EventRow.agent_id, EventRow.env, EventRow.kind)
    .where(EventRow.id > bindparam("after"))
    .order_by(EventRow.id)
    .limit(bindparam("limit"))
)
webhooks_of_agents = Query(
    select(WebhookRow).where(in_json_list(WebhookRow.agent_id, "agent_ids"), WebhookRow.job_id.is_(None))
)
_PUSHES = exists().where(WebhookRow.agent_id == AgentRow.id, WebhookRow.job_id.is_not(None))
endpoints_of_agents: Query[Any] = Query(
    select(AgentRow.id, AgentRow.status, AgentRow.endpoints, _PUSHES).where(in_json_list(AgentRow.id, "agent_ids"))
)  # and whether it has webhooks of tasks: they may be many, but few get events
pushes_of_job = Query(
    select(WebhookRow)
    .where(WebhookRow.agent_id == bindparam("agent_id"), WebhookRow.job_id == bindparam("job_id"))
    .order_by(WebhookRow.id)
)
pushes_of_jobs = Query(
    select(WebhookRow).where(WebhookRow.agent_id == bindparam("agent_id"), in_json_list(WebhookRow.job_id, "job_ids"))
)

_MATE = WebhookRow.__table__.alias("mate")  # another webhook of the same agent
_IN_FLIGHT = (
    select(func.count())
    .select_from(_MATE)
    .where(_MATE.c.agent_id == WebhookRow.agent_id, _MATE.c.sending.is_not(None), _MATE.c.due_at > bindparam("now"))
    .scalar_subquery()
)
due_webhook = Query(
    select(WebhookRow)
    .where(WebhookRow.due_at <= bindparam("now"), bindparam("in_flight") >= _IN_FLIGHT)
    .order_by(WebhookRow.due_at)
    .limit(literal(1))
    .with_for_update(skip_locked=True, of=WebhookRow.__table__)
)  # of an agent with at most `in_flight` deliveries in flight
soonest_webhook = Query(
    select(WebhookRow.due_at).where(WebhookRow.due_at.is_not(None)).order_by(WebhookRow.due_at).limit(literal(1))
)
_PENDING = DeliveryRow.webhook_id == bindparam("webhook_id"), DeliveryRow.due_at.is_not(None)
due_delivery = Query(
    select(DeliveryRow)
    .where(*_PENDING, DeliveryRow.due_at <= bindparam("now"))
    .order_by(DeliveryRow.due_at, DeliveryRow.event_number)
    .limit(literal(1))
)
waiting_deliveries = Query(select(func.count()).select_from(DeliveryRow.__table__).where(*_PENDING))
oldest_deliveries = Query(
    select(DeliveryRow).where(*_PENDING).order_by(DeliveryRow.event_number).limit(bindparam("limit"))
)
soonest_delivery = Query(select(DeliveryRow.due_at).where(*_PENDING).order_by(DeliveryRow.due_at).limit(literal(1)))

forget_pushes = deleting(WebhookRow, WebhookRow.kept_until)
forget_deliveries = deleting(DeliveryRow, DeliveryRow.created_at)
forget_hosts = deleting(HostSlotRow, HostSlotRow.used_at)
