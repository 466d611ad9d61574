"""Queries of events in the order of their commits, of the webhooks that send them, and of schedules."""

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, bindparam, delete, exists, func, literal, select, type_coerce, union_all

from storage.query import Query
from storage.quotas import EVENT_BYTES
from storage.statements import (
    LIMIT,
    after_id,
    before_id,
    count,
    delete_where,
    deleting,
    due_rows,
    in_json_list,
    matching,
    newest_rows,
    newest_rows_chosen,
)
from storage.tables import AgentRow, DeliveryRow, EventRow, FanoutRow, HostSlotRow, ScheduleRow, WebhookRow

_MINE = matching(EventRow.agent_id, EventRow.env)
_MICROSECONDS = type_coerce(EventRow.created_at, BigInteger)  # as stored, because making datetimes is slow
_SHOWN = EventRow.id, EventRow.kind, _MICROSECONDS, EventRow.data
_TOLD = after_id(select(*_SHOWN).where(*_MINE), EventRow.id)
events_after: Query[Any] = Query(_TOLD)
events_of_kinds: Query[Any] = Query(_TOLD.where(in_json_list(EventRow.kind, "kinds")))
event_at: Query[int] = Query(
    select(EventRow.id)
    .where(*_MINE, EventRow.id > bindparam("after"))
    .order_by(EventRow.id)
    .offset(bindparam("place"))
    .limit(1)
)


@cache
def events_by_kind(kinds: int) -> Query[Any]:
    """Build the query of a page of an agent's events of several kinds, oldest first.

    The kinds are the parameters kind_0, kind_1, …. It reads one range of an index for each kind, so events of other
    kinds cost nothing.
    """
    mine = (select(EventRow.id).where(*_MINE, EventRow.kind == bindparam(f"kind_{place}")) for place in range(kinds))
    pages = [after_id(one, EventRow.id).subquery(f"page_{place}") for place, one in enumerate(mine)]
    ids = union_all(*(select(page.c.id) for page in pages)).order_by("id").limit(LIMIT).subquery("page_ids")
    return Query(select(*_SHOWN).where(EventRow.id.in_(select(ids.c.id))).order_by(EventRow.id))


newest_event = Query(select(func.max(EventRow.id)).where(*_MINE))
oldest_event = Query(select(func.min(EventRow.id)))
newest_of_all = Query(select(func.max(EventRow.id)))
_FIRST = (
    select(EventRow.id, EventRow.created_at)
    .where(EventRow.id > literal(0))
    .order_by(EventRow.id)
    .limit(LIMIT)
    .subquery("page_first")
)
_OLD = select(_FIRST.c.id).where(_FIRST.c.created_at < bindparam("before", type_=EventRow.created_at.type))
forget_events: Query[Any] = Query(  # the oldest have the lowest ids
    delete(EventRow.__table__).where(EventRow.id.in_(_OLD)).returning(EventRow.agent_id, EventRow.env, EVENT_BYTES)
)

# Schedules: an agent's, and those that are due.

_SCHEDULES = matching(ScheduleRow.agent_id, ScheduleRow.env)
_ACTIVE = ScheduleRow.status == literal("active")
active_schedules = count(ScheduleRow, *_SCHEDULES, _ACTIVE)
forget_schedule = delete_where(ScheduleRow, *matching(ScheduleRow.id))
due_schedules: Query[ScheduleRow] = due_rows(ScheduleRow, ScheduleRow.next_at, _ACTIVE)
schedules_of = newest_rows_chosen(ScheduleRow, *_SCHEDULES, by=ScheduleRow.status)

# Webhooks, and how far events have been fanned out to them.

_WEBHOOKS = matching(WebhookRow.agent_id, WebhookRow.env)
webhooks_of: Query[WebhookRow] = newest_rows(WebhookRow, *_WEBHOOKS)
registered_webhooks_of = count(WebhookRow, *_WEBHOOKS, WebhookRow.source == literal("registered"))
end_webhooks = delete_where(WebhookRow, *matching(WebhookRow.agent_id))
end_webhook = delete_where(WebhookRow, *matching(WebhookRow.id))
_FANOUT = FanoutRow.name == literal("events")
fanned_out = Query(select(FanoutRow.event_number).where(_FANOUT))
fanout_if_free = Query(
    select(FanoutRow).where(_FANOUT).with_for_update(skip_locked=True)
)  # another process that has locked it does the same work
events_to_fan_out: Query[Any] = Query(
    after_id(select(EventRow.id, EventRow.agent_id, EventRow.env, EventRow.kind), EventRow.id)
)
webhooks_of_agents = Query(
    select(WebhookRow).where(in_json_list(WebhookRow.agent_id, "agent_ids"), WebhookRow.job_id.is_(None))
)
_PUSHES = exists().where(WebhookRow.agent_id == AgentRow.id, WebhookRow.job_id.is_not(None))
endpoints_of_agents: Query[Any] = Query(
    select(AgentRow.id, AgentRow.status, AgentRow.endpoints, _PUSHES).where(in_json_list(AgentRow.id, "agent_ids"))
)  # and whether it has webhooks of tasks: they may be many, but few get events
pushes_of_job = Query(
    select(WebhookRow).where(*matching(WebhookRow.agent_id, WebhookRow.job_id)).order_by(WebhookRow.id)
)
pushes_of_jobs = Query(
    select(WebhookRow).where(*matching(WebhookRow.agent_id), in_json_list(WebhookRow.job_id, "job_ids"))
)
forget_pushes = deleting(WebhookRow, WebhookRow.kept_until)
forget_hosts = deleting(HostSlotRow, HostSlotRow.used_at)

# The deliveries to send next.

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
deliveries_of: Query[DeliveryRow] = Query(
    before_id(select(DeliveryRow).where(*matching(DeliveryRow.webhook_id)), DeliveryRow.event_number)
)
_PENDING = *matching(DeliveryRow.webhook_id), DeliveryRow.due_at.is_not(None)
due_delivery = Query(
    select(DeliveryRow)
    .where(*_PENDING, DeliveryRow.due_at <= bindparam("now"))
    .order_by(DeliveryRow.due_at, DeliveryRow.event_number)
    .limit(literal(1))
)
waiting_deliveries = count(DeliveryRow, *_PENDING)
oldest_deliveries = Query(select(DeliveryRow).where(*_PENDING).order_by(DeliveryRow.event_number).limit(LIMIT))
soonest_delivery = Query(select(DeliveryRow.due_at).where(*_PENDING).order_by(DeliveryRow.due_at).limit(literal(1)))
forget_deliveries = deleting(DeliveryRow, DeliveryRow.created_at)
