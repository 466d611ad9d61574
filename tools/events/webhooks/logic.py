"""Webhooks: their secrets and records, and the fan-out of events into deliveries."""

import hmac
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import orjson
import structlog
from nacl.secret import SecretBox

from storage.events import (
    end_webhook,
    end_webhooks,
    endpoints_of_agents,
    events_to_fan_out,
    fanned_out,
    fanout_if_free,
    oldest_deliveries,
    pushes_of_jobs,
    soonest_delivery,
    waiting_deliveries,
    webhooks_of_agents,
)
from storage.tables import DeliveryRow, EventRow, FanoutRow, WebhookRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, DeliveryStatus, Env, WebhookSource, WebhookStatus
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.events.types import expand
from tools.events.webhooks.records import Webhook, WebhookDelivery
from tools.kernel.ids import Prefix, event_id
from tools.kernel.records import Json, record_from, stamp_or_none

BATCH = 64
OPERATOR = "operator"  # owns the webhook of EMPORION_OPERATOR_WEBHOOK; no agent has this id
MAX_WAITING = 1000  # deliveries of one webhook
BOTH_SIGN = timedelta(days=1)  # after a change the old secret signs too
TEST, DISABLED = "webhook.test", "webhook.disabled"
PROFILE_TYPES = ("job.*", "message.*")  # jobs and payments, messages
PROFILE_KINDS = expand(PROFILE_TYPES)
TASK_KINDS = expand(("job.*", "message.received"))  # events that change a task over A2A
PUSHED_KINDS = TASK_KINDS - {"job.payment_due", "job.refund_due"}  # each of these comes with the event that made it due
TASK_KEPT = timedelta(days=90)  # after the last event that was queued for the task
FOLLOWS = {  # where a webhook that was not registered comes from, and how to change it
    WebhookSource.PROFILE: (
        "your profile",
        "Change endpoints.webhook_url of your profile, or register another with create_webhook.",
    ),
    WebhookSource.TASK: (
        "a push notification config",
        "Set the config again over A2A, with the same id; or register another with create_webhook.",
    ),
}

log = structlog.get_logger("emporion.webhooks")
W = TypeVar("W", bound=Webhook)
Owner = tuple[str, str]  # agent id and environment


class QueuedEvent(NamedTuple):
    """An event to fan out."""

    number: int
    agent_id: str
    env: str
    kind: str


class Audience(NamedTuple):
    """An agent's events in one environment, and the webhooks they may be sent to."""

    rows: list[WebhookRow]
    endpoints: dict[str, str]
    has_tasks: bool  # whether the agent has webhooks of tasks, which are not in `rows`
    events: list[QueuedEvent]


def seal_secret(ctx: TxContext, webhook_id: str, secret: str) -> bytes:
    """Encrypt a secret for storage, with a key derived from the pepper and the webhook's id."""
    return bytes(
        _box(ctx.config, webhook_id).encrypt(secret.encode(), ctx.world.dice.random_bytes(SecretBox.NONCE_SIZE))
    )


def open_secret(config: MarketConfig, webhook_id: str, sealed: bytes) -> str:
    return _box(config, webhook_id).decrypt(sealed).decode()


def with_secret(ctx: TxContext, row: WebhookRow, secret: str) -> dict[str, Json]:
    """Return the columns that a new secret changes; none if the secret is the same.

    The old secret also signs for the time of BOTH_SIGN.
    """
    if row.secret is not None and open_secret(ctx.config, row.id, row.secret) == secret:
        return {}
    sealed = seal_secret(ctx, row.id, secret)
    return {"secret": sealed, "previous_secret": row.secret, "previous_until": ctx.now + BOTH_SIGN}


def secrets_of(row: WebhookRow, now: datetime) -> tuple[bytes, ...]:
    """Return the encrypted secrets that sign deliveries now, the newest first."""
    previous = row.previous_secret if row.previous_until is not None and now < row.previous_until else None
    return tuple(one for one in (row.secret, previous) if one is not None)


def new_webhook(
    ctx: TxContext,
    owner: Owner,
    webhook_id: str,
    url: str,
    types: Sequence[str],
    *,
    since: int,
    secret: bytes | None = None,
    source: WebhookSource = WebhookSource.REGISTERED,
) -> WebhookRow:
    """Make the row of an active webhook; the caller stores it.

    The webhook gets the events after number `since`. Without a secret its deliveries carry only the market's Ed25519 signature.
    """
    return WebhookRow(
        id=webhook_id,
        agent_id=owner[0],
        env=owner[1],
        source=source,
        url=url,
        event_types=list(types),
        secret=secret,
        since=since,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def webhook_record(row: WebhookRow, kind: type[W] = Webhook, **others: object) -> W:  # type: ignore[assignment]
    """Return a webhook's record, which never has the secret, or another record that extends it."""
    named = {"consecutive_failures": row.failures, "previous_secret_until": stamp_or_none(row.previous_until)}
    return record_from(kind, row, **named, **others)


def delivery_record(row: DeliveryRow) -> WebhookDelivery:
    named = {"event_id": event_id(row.event_number), "event_type": row.kind}
    return record_from(WebhookDelivery, row, **named, next_attempt_at=stamp_or_none(row.due_at))


def followed(ctx: TxContext, row: WebhookRow, url: str | None) -> WebhookRow | None:
    """Update a profile's webhook to the profile's URL; delete it if the URL was removed.

    A new URL activates the webhook and resets its failures.
    """
    if url is None:
        ctx.tx.run(end_webhook, id=row.id)
        return None
    return row if row.url == url else revived(ctx, row, url=url)


def revived(ctx: TxContext, row: WebhookRow, **changes: object) -> WebhookRow:
    """Activate a webhook and reset its failures; its pending deliveries are sent."""
    due_at = row.due_at if row.sending else next_turn(ctx, row.id)
    fresh = {"status": WebhookStatus.ACTIVE, "disabled_reason": None, "failures": 0, "due_at": due_at}
    return ctx.tx.change(row, **fresh, updated_at=ctx.now, **changes)


def next_turn(ctx: TxContext, webhook_id: str) -> datetime | None:
    """Return when the first pending delivery is due, but not before now; None if there is none.

    An earlier time would send a backlog before the deliveries of other webhooks.
    """
    soonest = ctx.tx.one(soonest_delivery, webhook_id=webhook_id)
    return None if soonest is None else max(soonest, ctx.now)


def fan_out(ctx: TxContext) -> int:
    """Write the deliveries of one batch of events; return the number of events.

    Events are read once, in the order of their commits, by one process at a time. Deliveries that are due at the same
    time are sent by event number.
    """
    place = ctx.tx.one(fanout_if_free)
    if place is None and ctx.tx.one(fanned_out) is not None:
        return 0  # another process has the lock
    place = place or ctx.tx.add(FanoutRow(name="events", event_number=0, at=ctx.now))
    found = ctx.tx.all(events_to_fan_out, after=place.event_number, limit=BATCH)
    if not found:
        return 0
    events, at = [QueuedEvent(*one) for one in found], max(ctx.now, place.at)
    for owner, told in _audiences(ctx, events):
        with ctx.tx.alone() as kept:
            _queue_all(ctx, owner, told, at)
        _log(kept.error, agent_id=owner[0])
    ctx.tx.change(place, event_number=events[-1].number, at=at)
    return len(events)


def _audiences(ctx: TxContext, events: list[QueuedEvent]) -> list[tuple[Owner, Audience]]:
    """Return the active agents that have events and may have webhooks, by environment."""
    told = defaultdict[Owner, list[QueuedEvent]](list)
    for one in events:
        told[one.agent_id, one.env].append(one)
    agent_ids = {agent_id for agent_id, _ in told}
    rows = defaultdict[Owner, list[WebhookRow]](list)
    for row in ctx.tx.all(webhooks_of_agents, agent_ids=agent_ids):
        rows[row.agent_id, row.env].append(row)
    agents = ctx.tx.all(endpoints_of_agents, agent_ids=agent_ids)
    for agent_id, status, *_ in agents:
        if status is AgentStatus.DELETED:
            ctx.tx.run(end_webhooks, agent_id=agent_id)
    operator: tuple[str, AgentStatus, dict[str, str], bool] = (OPERATOR, AgentStatus.ACTIVE, {}, False)
    found = [
        (owner, Audience(rows[owner], endpoints, bool(has_tasks), told[owner]))
        for agent_id, status, endpoints, has_tasks in (*agents, operator)
        if status is AgentStatus.ACTIVE
        for owner in ((agent_id, env.value) for env in Env)
        if owner in told
    ]
    return [(owner, one) for owner, one in found if one.rows or one.has_tasks or "webhook_url" in one.endpoints]


def _queue_all(ctx: TxContext, owner: Owner, audience: Audience, at: datetime) -> None:
    """Queue an agent's events for each of its active webhooks; if one fails, only it is skipped."""
    for row in _with_profile(ctx, owner, audience):
        with ctx.tx.alone() as kept:
            _queue(ctx, row, _matching(ctx.tx, row, audience.events), at)
        _log(kept.error, webhook_id=row.id)
    for row, events in _of_tasks(ctx.tx, owner, audience.events) if audience.has_tasks else ():
        with ctx.tx.alone() as kept:
            _queue(ctx, row, events, at)
        _log(kept.error, webhook_id=row.id)


def _log(error: Exception | None, **names: str) -> None:
    if error is not None:
        log.error("events were not queued", error=repr(error), **names)


def _with_profile(ctx: TxContext, owner: Owner, audience: Audience) -> list[WebhookRow]:
    """Return the active webhooks of an agent; its profile's webhook is updated first."""
    profile = next((row for row in audience.rows if row.source is WebhookSource.PROFILE), None)
    url = audience.endpoints.get("webhook_url")
    first = next((one.number for one in audience.events if one.kind in PROFILE_KINDS), None)
    if profile is not None:
        profile = followed(ctx, profile, url)
    elif url is not None and first is not None:
        new = new_webhook(
            ctx, owner, ctx.new_id("whk_"), url, PROFILE_TYPES, since=first - 1, source=WebhookSource.PROFILE
        )
        profile = ctx.tx.add(new)
    registered = [row for row in audience.rows if row.source is WebhookSource.REGISTERED]
    every = [*registered, profile] if profile else registered
    return [row for row in every if row.status is WebhookStatus.ACTIVE]


def _matching(tx: Tx, row: WebhookRow, events: list[QueuedEvent]) -> list[QueuedEvent]:
    """Return the events for a webhook: those of its types since it began, and its own tests."""
    kinds = expand(row.event_types)
    return [
        one
        for one in events
        if one.number > row.since
        and (_data_of(tx, one).get("webhook_id") == row.id if one.kind == TEST else one.kind in kinds)
    ]


def _of_tasks(tx: Tx, owner: Owner, events: list[QueuedEvent]) -> Iterator[tuple[WebhookRow, list[QueuedEvent]]]:
    """Yield the webhooks of tasks that these events changed or tested, each with its events."""
    told = defaultdict[str, list[QueuedEvent]](list)
    for one in events:
        if one.kind in PUSHED_KINDS or one.kind == TEST:
            data = _data_of(tx, one)
            told[data.get("job_id") or data.get("webhook_id") or ""].append(one)
    rows = {row.id: row for row in tx.all(pushes_of_jobs, agent_id=owner[0], job_ids=told)}
    tested = [tx.get(WebhookRow, name) for name in told if name.startswith(Prefix.WEBHOOK)]
    rows |= {row.id: row for row in tested if row is not None and row.source is WebhookSource.TASK}
    for row in rows.values():
        mine = [one for one in (*told.get(row.job_id or "", ()), *told.get(row.id, ())) if one.number > row.since]
        if row.env == owner[1]:
            yield row, sorted(mine)


def _data_of(tx: Tx, one: QueuedEvent) -> dict[str, Json]:
    event = tx.get(EventRow, one.number)
    found: dict[str, Json] = {} if event is None else orjson.loads(event.data)
    return found


def _queue(ctx: TxContext, seen: WebhookRow, events: list[QueuedEvent], at: datetime) -> None:
    """Write the deliveries of these events, due at `at`, and set when the webhook is due.

    A webhook that is sending is not changed, because it looks for its next delivery afterwards.
    """
    row = ctx.tx.get(WebhookRow, seen.id, lock=True) if events else None
    if row is None or row.status is not WebhookStatus.ACTIVE:
        return
    if row.source is WebhookSource.TASK:
        row = ctx.tx.change(row, kept_until=ctx.now + TASK_KEPT)
    for one in events:
        ctx.tx.add(
            DeliveryRow(
                id=ctx.new_id("dlv_"),
                webhook_id=row.id,
                event_number=one.number,
                kind=one.kind,
                due_at=at,
                created_at=ctx.now,
            )
        )
    if row.sending is not None or row.due_at is not None:  # otherwise no delivery was pending
        _leave_behind(ctx, row)
    if row.sending is None and (row.due_at is None or row.due_at > at):
        ctx.tx.change(row, due_at=at)


def _leave_behind(ctx: TxContext, row: WebhookRow) -> None:
    """Give up the oldest pending deliveries beyond MAX_WAITING.

    This does not count as a failure of the receiver, and the other deliveries are sent.
    """
    waiting = ctx.tx.one(waiting_deliveries, webhook_id=row.id) or 0
    if waiting <= MAX_WAITING:
        return
    for one in ctx.tx.all(oldest_deliveries, webhook_id=row.id, limit=waiting - MAX_WAITING):
        if one.id != row.sending:
            ctx.tx.change(one, status=DeliveryStatus.FAILED, due_at=None, last_error="too_many_waiting")


def _box(config: MarketConfig, webhook_id: str) -> SecretBox:
    return SecretBox(hmac.digest(config.pepper, b"emporion:webhook-secret:" + webhook_id.encode(), sha256))


TYPES = ("dispute.escalated",)


def tell_operator(ctx: TxContext, env: Env, kind: str, data: Mapping[str, Any]) -> None:
    """Queue an event for EMPORION_OPERATOR_WEBHOOK in this unit of work, if one is set."""
    url = ctx.config.operator_webhook
    if url is None:
        return
    row_id = f"whk_{OPERATOR}_{env}"
    ctx.tx.insert_if_absent(new_webhook(ctx, (OPERATOR, env), row_id, url, TYPES, since=0))
    row = ctx.tx.get(WebhookRow, row_id, lock=True)
    if row is not None and (row.url != url or row.status is WebhookStatus.DISABLED):
        revived(ctx, row, url=url)
    ctx.emit(OPERATOR, env, kind, data)
