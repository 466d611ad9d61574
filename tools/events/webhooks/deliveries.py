"""Deliveries to webhooks: claimed in one short unit of work, posted outside of it, and finished in another.

A webhook sends one delivery at a time. Meanwhile `due_at` is the end of its lease, after which another process
claims what a killed process held. So an event arrives at least once, and in order if the receiver accepts every
request.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import orjson
import structlog

from storage.events import due_delivery, due_webhook, end_webhook
from storage.tables import AgentRow, DeliveryRow, EventRow, HostSlotRow, WebhookRow
from storage.vocabulary import AgentStatus, DeliveryStatus, Env, WebhookSource, WebhookStatus
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.engine.outgoing_urls import own_places
from tools.engine.ports import World
from tools.engine.rate_limits import Rate, RateLimit, Share, take_shares, used_of
from tools.events.identity_payloads import WebhookDisabledData
from tools.events.records import written
from tools.events.webhooks.logic import DISABLED, OPERATOR, followed, next_turn, open_secret, secrets_of
from tools.events.webhooks.rules import (
    MAX_ATTEMPTS,
    MAX_FAILURES,
    Attempted,
    next_wait_seconds,
    plain_signature,
    retry_after_seconds,
    signed_content,
    v1,
    v1a,
)
from tools.kernel.ids import event_id
from tools.kernel.records import EPOCH
from tools.kernel.ssrf_guard import BadTarget, NotAttempted, UrlUnreachable, judge_target, parse_target

LEASE = timedelta(seconds=30)  # an attempt takes at most 11
LATER = timedelta(hours=1)  # until the next look at a webhook that cannot be served now
BATCH, MAX_LOOKED = 8, 32  # attempts claimed in one unit of work, and webhooks examined for them
MAX_OF_ONE_AGENT = 4  # attempts in flight: an agent with slow receivers must leave room for the others
MEGABYTE = 2**20
POSTS, BYTES = RateLimit(60, 60, shared=True), RateLimit(5 * MEGABYTE, 60, shared=True)  # from one agent to one host
ALL_POSTS, ALL_BYTES = RateLimit(600, 60, shared=True), RateLimit(50 * MEGABYTE, 60, shared=True)  # from all agents
NEVER_WAITS = 10  # posts a minute to a host: the limits of all agents do not delay an agent that posts less
UNBOUND = 2**62
NO_OUTPUT = "-"
HOST_SLOTS = ("first_until", "second_until")  # columns of HostSlotRow: the ends of the leases of its attempts

log = structlog.get_logger("emporion.deliveries")


@dataclass(frozen=True, slots=True)
class Posting:
    """A claimed attempt: the data to make the request and to store its result."""

    webhook: WebhookRow = field(repr=False)  # as it was claimed
    delivery: DeliveryRow
    until: datetime  # the end of the lease
    secrets: tuple[bytes, ...]  # encrypted, the newest first
    body: bytes  # empty for a task's webhook, because the task is read just before it is sent
    shows: str | None = None  # the hash of the output that this push contains or that the receiver has

    @property
    def agent_id(self) -> str:
        return self.webhook.agent_id

    @property
    def event_id(self) -> str:
        return event_id(self.delivery.event_number)

    @property
    def host(self) -> str:
        return _host_of(self.webhook.url)


@dataclass(frozen=True, slots=True)
class Claimed:
    """The attempts that one unit of work claimed, and whether more may be due."""

    postings: list[Posting]
    more: bool


def claim(ctx: TxContext, most: int = BATCH) -> Claimed:
    """Claim due attempts, oldest first and beginning with agents that have none in flight.

    If a webhook cannot be served, its changes are undone, the error is logged, and it is due again in an hour.
    """
    postings = list[Posting]()
    for _ in range(MAX_LOOKED):
        if len(postings) == most:
            break
        row = _next_webhook(ctx)
        if row is None:
            return Claimed(postings, False)
        with ctx.tx.alone() as kept:
            postings.extend(_begin(replace(ctx, env=Env(row.env)), row))
        if kept.error is not None:
            log.error("a webhook could not be served", webhook_id=row.id, error=repr(kept.error))
            ctx.tx.change(row, due_at=ctx.now + LATER)
    return Claimed(postings, True)


async def post(world: World, config: MarketConfig, posting: Posting) -> Attempted | None:
    """Sign and post one attempt; return its result (also if it failed), or None if not begun."""
    try:
        judge_target(posting.webhook.url, config.allow_private_networks, own_places(config))
        headers = headers_of(world, config, posting)
        reply = await world.web.post(posting.webhook.url, posting.body, headers, posting.agent_id)
    except NotAttempted:
        return None
    except BadTarget:
        return Attempted(None, "blocked_address")
    except UrlUnreachable as unreached:
        return Attempted(None, unreached.reason)
    return Attempted(reply.status, None, retry_after_seconds(reply.retry_after, world.clock.now()))


def headers_of(world: World, config: MarketConfig, posting: Posting) -> dict[str, str]:
    """Return the headers of a delivery: those of Standard Webhooks, and the X- headers."""
    timestamp, webhook = int(world.clock.now().timestamp()), posting.webhook
    content = signed_content(posting.event_id, timestamp, posting.body)
    secrets = [open_secret(config, webhook.id, one) for one in posting.secrets]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"{config.brand}-webhooks/{config.version}",
        "webhook-id": posting.event_id,
        "webhook-timestamp": str(timestamp),
        "X-Webhook-Id": webhook.id,
        "X-Webhook-Timestamp": str(timestamp),
        "X-Event-Id": posting.event_id,
        "X-Event-Type": posting.delivery.kind,
    }
    if secrets:
        headers["X-Webhook-Signature"] = plain_signature(secrets[0], timestamp, posting.body)
    if webhook.headers is not None:
        headers |= orjson.loads(open_secret(config, webhook.id, webhook.headers))
    signatures = [*(v1(one, content) for one in secrets), v1a(world.signer.sign(content))]
    return headers | {"webhook-signature": " ".join(signatures)}


def wait_to_push(ctx: TxContext, posting: Posting) -> timedelta | None:
    """Count the bytes of a push; return how long it must wait if they exceed the limit."""
    agent_id, host = posting.agent_id, posting.host
    own = Share(f"{Rate.DELIVERIES}:{agent_id}:{host}", POSTS)
    wait = take_shares(ctx.tx, _bytes_shares(ctx, agent_id, host, len(posting.body), own), ctx.now)
    return None if wait is None else timedelta(seconds=wait)


def finish(ctx: TxContext, posting: Posting, attempted: Attempted | None, wait: timedelta | None = None) -> None:
    """Store the result of an attempt, unless another process has taken over its lease.

    `wait`: the delay before an attempt that was not begun is made again.
    """
    row = ctx.tx.get(WebhookRow, posting.webhook.id, lock=True)
    delivery = ctx.tx.get(DeliveryRow, posting.delivery.id)
    _leave_host(ctx, posting)
    if row is None or delivery is None:
        return
    if (row.sending, delivery.attempt) != (posting.delivery.id, posting.delivery.attempt):
        return
    if attempted is None:
        _put_off(ctx, row, delivery, wait)
        return
    if posting.shows is not None and attempted.taken and row.sent != posting.shows:
        row = ctx.tx.change(row, sent=posting.shows)
    _settle(ctx, row, delivery, attempted)


def _next_webhook(ctx: TxContext) -> WebhookRow | None:
    """Return the next due webhook, first of agents that have no attempt in flight."""
    for in_flight in (0, MAX_OF_ONE_AGENT - 1):
        row = ctx.tx.one(due_webhook, now=ctx.now, in_flight=in_flight)
        if row is not None:
            return row
    return None


def _begin(ctx: TxContext, row: WebhookRow) -> Iterator[Posting]:
    """Yield the next attempt of a due webhook, if any; the webhook is due later in either case."""
    current = _current(ctx, row)
    if current is None:
        return
    delivery = ctx.tx.one(due_delivery, webhook_id=current.id, now=ctx.now)
    if delivery is None:
        _rest(ctx, current, current.failures)
        return
    event = ctx.tx.get(EventRow, delivery.event_number)
    if event is None or delivery.attempt >= MAX_ATTEMPTS:  # every attempt was interrupted, or the event is deleted
        _settle(ctx, current, ctx.tx.change(delivery, attempt=MAX_ATTEMPTS), Attempted(None, "interrupted"))
        return
    host, until = _host_of(current.url), ctx.now + LEASE
    body = _body(event, current) if current.job_id is None else b""
    wait = _enter_host(ctx, current.agent_id, host, until, len(body))
    if wait is not None:
        ctx.tx.change(current, sending=None, due_at=ctx.now + wait)
        return
    begun = ctx.tx.change(delivery, attempt=delivery.attempt + 1)
    sending = ctx.tx.change(current, sending=begun.id, due_at=until)
    yield Posting(sending, begun, until, secrets_of(current, ctx.now), body)


def _current(ctx: TxContext, row: WebhookRow) -> WebhookRow | None:
    """Return the webhook with its current settings; None if it has ended or must wait.

    It has ended if its agent is deleted or its URL is gone from the profile.
    """
    if row.status is WebhookStatus.DISABLED:  # disabled while it was sending
        ctx.tx.change(row, sending=None, due_at=None)
        return None
    if row.agent_id == OPERATOR:
        return followed(ctx, row, ctx.config.operator_webhook)
    agent = ctx.tx.get(AgentRow, row.agent_id)
    if agent is None or agent.status is AgentStatus.DELETED:
        ctx.tx.run(end_webhook, id=row.id)
        return None
    if agent.status is not AgentStatus.ACTIVE:
        ctx.tx.change(row, sending=None, due_at=ctx.now + LATER)
        return None
    return followed(ctx, row, agent.endpoints.get("webhook_url")) if row.source is WebhookSource.PROFILE else row


def _body(event: EventRow, row: WebhookRow) -> bytes:
    """Return the event's record with the ids of the agent and the webhook that it is meant for.

    The ids are needed because the same platform key signs the deliveries of all agents.
    """
    at = (event.created_at - EPOCH) // timedelta(microseconds=1)
    record = written([(event.id, event.kind, at, event.data)], event.env)
    return f'{record[:-1]},"agent_id":"{row.agent_id}","webhook_id":"{row.id}"}}'.encode()


def _settle(ctx: TxContext, row: WebhookRow, delivery: DeliveryRow, attempted: Attempted) -> None:
    """Store the result (delivered, retry or failed); then reschedule the webhook or disable it."""
    wait = None
    if not attempted.taken:
        wait = next_wait_seconds(delivery.attempt, attempted, int.from_bytes(ctx.world.dice.random_bytes(2)))
    given_up = wait is None and not attempted.taken
    pending = DeliveryStatus.PENDING if wait is not None else DeliveryStatus.FAILED
    after = ctx.tx.change(
        delivery,
        status=DeliveryStatus.DELIVERED if attempted.taken else pending,
        due_at=None if wait is None else ctx.now + timedelta(seconds=wait),
        last_status_code=attempted.status,
        last_error=attempted.error,
        last_attempt_at=ctx.now,
    )
    failures = 0 if attempted.taken else row.failures + given_up
    reason = "gone" if attempted.is_gone else "failures" if failures >= MAX_FAILURES else None
    if row.status is WebhookStatus.DISABLED:
        ctx.tx.change(row, sending=None, due_at=None, failures=failures)
    elif reason is None:
        _rest(ctx, row, failures)
    else:
        _disable(ctx, row, after, reason, failures)


def _put_off(ctx: TxContext, row: WebhookRow, delivery: DeliveryRow, wait: timedelta | None) -> None:
    """Uncount an attempt that was not begun; the webhook is due again after a short wait."""
    ctx.tx.change(delivery, attempt=delivery.attempt - 1)
    active = row.status is WebhookStatus.ACTIVE
    ctx.tx.change(row, sending=None, due_at=ctx.now + (wait or _soon(ctx)) if active else None)


def _rest(ctx: TxContext, row: WebhookRow, failures: int) -> None:
    """Mark the webhook as idle, due when its next delivery is."""
    ctx.tx.change(row, sending=None, due_at=next_turn(ctx, row.id), failures=failures)


def _disable(ctx: TxContext, row: WebhookRow, delivery: DeliveryRow, reason: str, failures: int) -> None:
    """Disable a webhook and tell its agent why: silence would look like a market without events."""
    off = {"status": WebhookStatus.DISABLED, "disabled_reason": reason, "failures": failures}
    ctx.tx.change(row, **off, sending=None, due_at=None, updated_at=ctx.now)
    told: WebhookDisabledData = {
        "webhook_id": row.id,
        "url": row.url,
        "reason": "gone" if reason == "gone" else "failures",
        "consecutive_failures": failures,
        "last_status_code": delivery.last_status_code,
        "last_error": delivery.last_error,
        "delivery_id": delivery.id,
        "hint": "Mend the receiver, then update_webhook with status active; read what you missed with list_events.",
    }
    ctx.emit(row.agent_id, row.env, DISABLED, told)


def _host_of(url: str) -> str:
    try:
        return parse_target(url).host
    except BadTarget:  # no request will be made
        return ""


def _enter_host(ctx: TxContext, agent_id: str, host: str, until: datetime, size: int) -> timedelta | None:
    """Take a slot at the host and a share of its rate limits; if that fails, return the wait."""
    place = ctx.tx.get(HostSlotRow, agent_id, host, lock=True)
    slot = next((slot for slot in HOST_SLOTS if _is_free(getattr(place, slot, None), ctx.now)), None)
    if slot is None:
        return _soon(ctx)
    own, all_agents = Share(f"{Rate.DELIVERIES}:{agent_id}:{host}", POSTS), f"{Rate.DELIVERIES}:*:{host}"
    shares = [own, Share(all_agents, _unless_few(ctx, own, ALL_POSTS)), *_bytes_shares(ctx, agent_id, host, size, own)]
    wait = take_shares(ctx.tx, shares, ctx.now)
    if wait is not None:
        return timedelta(seconds=wait)
    if place is None:
        ctx.tx.add(HostSlotRow(agent_id=agent_id, host=host, first_until=until, used_at=ctx.now))
    else:
        ctx.tx.change(place, **{slot: until}, used_at=ctx.now)
    return None


def _bytes_shares(ctx: TxContext, agent_id: str, host: str, size: int, own: Share) -> list[Share]:
    """Return what a post takes of the byte limits of its agent and of all agents at a host."""
    name = f"{Rate.DELIVERIES} bytes"
    return [
        Share(f"{name}:{agent_id}:{host}", BYTES, size),
        Share(f"{name}:*:{host}", _unless_few(ctx, own, ALL_BYTES), size),
    ]


def _unless_few(ctx: TxContext, own: Share, allowance: RateLimit) -> RateLimit:
    """Return the limit of all agents at a host; unlimited for an agent that posts little there."""
    few = used_of(ctx.tx, own, ctx.now) < NEVER_WAITS
    return replace(allowance, calls=UNBOUND) if few else allowance


def _leave_host(ctx: TxContext, posting: Posting) -> None:
    place = ctx.tx.get(HostSlotRow, posting.agent_id, posting.host, lock=True)
    slot = place and next((slot for slot in HOST_SLOTS if getattr(place, slot) == posting.until), None)
    if place and slot:
        ctx.tx.change(place, **{slot: None})


def _soon(ctx: TxContext) -> timedelta:
    """Return a short random wait, so that waiting webhooks do not all try again at once."""
    return timedelta(seconds=1 + ctx.world.dice.random_bytes(1)[0] / 64)


def _is_free(until: datetime | None, now: datetime) -> bool:
    return until is None or until <= now
