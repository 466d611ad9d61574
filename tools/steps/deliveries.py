"""Deliveries to webhooks: claimed in one short unit of work, posted between two, and finished in the other.

A webhook sends one delivery at a time. While it does, `due_at` is the end of its lease: what a killed process held is
claimed again then. So an event arrives at least once, and in order as long as the receiver takes what it is sent.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

import orjson
import structlog

from storage.tables import (
    AgentRow,
    AgentStatus,
    DeliveryRow,
    DeliveryStatus,
    EventRow,
    HostRow,
    PushForm,
    WebhookRow,
    WebhookSource,
    WebhookStatus,
)
from storage.webhooks import due_delivery, due_webhook, end_webhook
from tools.context import Context
from tools.house import House
from tools.ports import Env, World
from tools.rates import Allowance, Rate, take_shared
from tools.records.base import EPOCH, encode
from tools.records.events import written
from tools.records.webhooks import WebhookDisabledData
from tools.rules.ids import event_id
from tools.rules.outgoing import BadTarget, NotTried, Unreached, judge_target, parse_target
from tools.rules.webhooks import (
    MOST_ATTEMPTS,
    MOST_FAILURES,
    Attempted,
    next_wait_seconds,
    plain_signature,
    retry_after_seconds,
    signed_content,
    v1,
    v1a,
)
from tools.steps.outgoing import own_places
from tools.steps.tasks import task_of
from tools.steps.webhooks import DISABLED, followed, next_turn, open_secret, profile_url, secrets_of

LEASE = timedelta(seconds=30)  # an attempt takes 11 at most
LATER = timedelta(hours=1)  # to look again at what cannot be sent now
BATCH, MOST_LOOKED = 8, 32  # attempts claimed in one unit of work, and webhooks looked at for them
MOST_OF_ONE_AGENT = 4  # attempts in flight: whose receivers are slow must leave room for all others
PUSHED_MESSAGES = 10  # the newest of the thread; GetTask has the rest
PER_MINUTE = Allowance(60, 60, shared=True)  # from one agent to one host

log = structlog.get_logger("emporion.deliveries")


@dataclass(frozen=True, slots=True)
class Pushed:
    """The task that a webhook of one is sent, and what it is sent with."""

    job_id: str
    env: Env
    form: PushForm
    headers: bytes | None = field(repr=False)  # encrypted


@dataclass(frozen=True, slots=True)
class Posting:
    """One attempt that was claimed: everything that is needed to make it and to write down how it ended."""

    agent_id: str
    webhook_id: str
    delivery_id: str
    attempt: int
    until: datetime  # the end of the lease
    url: str
    host: str
    secrets: tuple[bytes, ...]  # encrypted, the newest first
    event_id: str
    kind: str
    body: bytes  # of a task's webhook empty: the task is written when it is sent
    task: Pushed | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What one unit of work claimed, and whether others that are due may be left: those that wait must hide none."""

    postings: list[Posting]
    more: bool


def claim(ctx: Context, most: int = BATCH) -> Claimed:
    """The attempts that are due longest, leased to the caller: first of agents that have nothing in flight.

    A webhook that cannot be served is undone alone, logged, and looked at again in an hour; the rest go on.
    """
    postings = list[Posting]()
    for _ in range(MOST_LOOKED):
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


async def post(world: World, house: House, posting: Posting) -> Attempted | None:
    """Make the attempt: sign, post, and say how it ended; None where it was not begun. Never raises for what the receiver does."""
    try:
        judge_target(posting.url, house.allow_private_networks, own_places(house))
        headers = headers_of(world, house, posting)
        reply = await world.web.post(posting.url, posting.body, headers, posting.agent_id)
    except NotTried:
        return None
    except BadTarget:
        return Attempted(None, "blocked_address")
    except Unreached as unreached:
        return Attempted(None, unreached.reason)
    return Attempted(reply.status, None, retry_after_seconds(reply.retry_after, world.clock.now()))


def headers_of(world: World, house: House, posting: Posting) -> dict[str, str]:
    """What a delivery says of itself: Standard Webhooks' headers, and the X- ones."""
    timestamp = int(world.clock.now().timestamp())
    content = signed_content(posting.event_id, timestamp, posting.body)
    secrets = [open_secret(house, posting.webhook_id, one) for one in posting.secrets]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"{house.brand}-webhooks/{house.version}",
        "webhook-id": posting.event_id,
        "webhook-timestamp": str(timestamp),
        "X-Webhook-Id": posting.webhook_id,
        "X-Webhook-Timestamp": str(timestamp),
        "X-Event-Id": posting.event_id,
        "X-Event-Type": posting.kind,
    }
    if secrets:
        headers["X-Webhook-Signature"] = plain_signature(secrets[0], timestamp, posting.body)
    if posting.task is not None and posting.task.headers is not None:
        headers |= orjson.loads(open_secret(house, posting.webhook_id, posting.task.headers))
    signatures = [*(v1(one, content) for one in secrets), v1a(world.signer.sign(content))]
    return headers | {"webhook-signature": " ".join(signatures)}


def finish(ctx: Context, posting: Posting, attempted: Attempted | None) -> None:
    """Write down how an attempt ended, unless its lease was lost to another."""
    row = ctx.tx.get(WebhookRow, posting.webhook_id, lock=True)
    delivery = ctx.tx.get(DeliveryRow, posting.delivery_id)
    _leave_host(ctx, posting)
    if row is None or delivery is None:
        return
    if (row.sending, delivery.attempt) != (posting.delivery_id, posting.attempt):
        return
    if attempted is None:
        _put_off(ctx, row, delivery)
        return
    _settle(ctx, row, delivery, attempted)


def _next_webhook(ctx: Context) -> WebhookRow | None:
    """The webhook whose turn it is: nobody gets a second place in flight while somebody waits for a first."""
    for in_flight in (0, MOST_OF_ONE_AGENT - 1):
        row = ctx.tx.one(due_webhook, now=ctx.now, in_flight=in_flight)
        if row is not None:
            return row
    return None


def _begin(ctx: Context, row: WebhookRow) -> Iterator[Posting]:
    """The next attempt of a webhook that is due, if there is one now. Either way the webhook is due later."""
    current = _current(ctx, row)
    if current is None:
        return
    delivery = ctx.tx.one(due_delivery, webhook_id=current.id, now=ctx.now)
    if delivery is None:
        _rest(ctx, current, current.failures)
        return
    event = ctx.tx.get(EventRow, delivery.event_number)
    if event is None or delivery.attempt >= MOST_ATTEMPTS:  # every attempt was cut short, or the event is forgotten
        _settle(ctx, current, ctx.tx.change(delivery, attempt=MOST_ATTEMPTS), Attempted(None, "interrupted"))
        return
    host, until = _host_of(current.url), ctx.now + LEASE
    wait = _enter_host(ctx, current.agent_id, host, until)
    if wait is not None:
        ctx.tx.change(current, sending=None, due_at=ctx.now + wait)
        return
    begun = ctx.tx.change(delivery, attempt=delivery.attempt + 1)
    ctx.tx.change(current, sending=begun.id, due_at=until)
    task = pushed(current)
    yield Posting(
        agent_id=current.agent_id,
        webhook_id=current.id,
        delivery_id=begun.id,
        attempt=begun.attempt,
        until=until,
        url=current.url,
        host=host,
        secrets=secrets_of(current, ctx.now),
        event_id=event_id(event.id),
        kind=event.kind,
        body=b"" if task else _body(event, current),
        task=task,
    )


def _current(ctx: Context, row: WebhookRow) -> WebhookRow | None:
    """The webhook as it is to be served now; None where its agent or its place in the profile is gone, or it must wait."""
    if row.status is WebhookStatus.DISABLED:  # while it was sending, and how that ended nobody has written
        ctx.tx.change(row, sending=None, due_at=None)
        return None
    agent = ctx.tx.get(AgentRow, row.agent_id)
    if agent is None or agent.status is AgentStatus.DELETED:
        ctx.tx.run(end_webhook, id=row.id)
        return None
    if agent.status is not AgentStatus.ACTIVE:
        ctx.tx.change(row, sending=None, due_at=ctx.now + LATER)
        return None
    return followed(ctx, row, profile_url(agent.endpoints)) if row.source is WebhookSource.PROFILE else row


def pushed(row: WebhookRow) -> Pushed | None:
    """What the webhook of a task is sent; None for any other."""
    if row.job_id is None or row.form is None:
        return None
    return Pushed(row.job_id, Env(row.env), row.form, row.headers)


def task_to_push(ctx: Context, posting: Posting) -> bytes:
    """The job behind a task as the webhook's agent sees it now."""
    assert posting.task is not None
    owner = replace(ctx.caller, agent_id=posting.agent_id, env=posting.task.env)
    return encode(task_of(replace(ctx, caller=owner, env=posting.task.env), posting.task.job_id, PUSHED_MESSAGES))


def _body(event: EventRow, row: WebhookRow) -> bytes:
    """The event's record, and for whom it is: one platform key signs for all, so the body says which agent it is meant for."""
    at = (event.created_at - EPOCH) // timedelta(microseconds=1)
    record = written([(event.id, event.kind, at, event.data)], event.env)
    return f'{record[:-1]},"agent_id":"{row.agent_id}","webhook_id":"{row.id}"}}'.encode()


def _settle(ctx: Context, row: WebhookRow, delivery: DeliveryRow, attempted: Attempted) -> None:
    """What follows from an attempt: done, tried again later, or given up; and whether the webhook goes on."""
    wait = None
    if not attempted.taken:
        wait = next_wait_seconds(delivery.attempt, attempted, int.from_bytes(ctx.world.dice.roll(2)))
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
    reason = "gone" if attempted.gone else "failures" if failures >= MOST_FAILURES else None
    if row.status is WebhookStatus.DISABLED:
        ctx.tx.change(row, sending=None, due_at=None, failures=failures)
    elif reason is None:
        _rest(ctx, row, failures)
    else:
        _disable(ctx, row, after, reason, failures)


def _put_off(ctx: Context, row: WebhookRow, delivery: DeliveryRow) -> None:
    """What was not begun is no attempt; the webhook has its next turn in seconds."""
    ctx.tx.change(delivery, attempt=delivery.attempt - 1)
    active = row.status is WebhookStatus.ACTIVE
    ctx.tx.change(row, sending=None, due_at=ctx.now + _soon(ctx) if active else None)


def _rest(ctx: Context, row: WebhookRow, failures: int) -> None:
    """Nothing is in flight; the webhook is due at its next turn."""
    ctx.tx.change(row, sending=None, due_at=next_turn(ctx, row.id), failures=failures)


def _disable(ctx: Context, row: WebhookRow, delivery: DeliveryRow, reason: str, failures: int) -> None:
    """Switch a webhook off, and say so with the reason: silence would look like a market where nothing happens."""
    off = {"status": WebhookStatus.DISABLED, "disabled_reason": reason, "failures": failures}
    ctx.tx.change(row, **off, sending=None, due_at=None, updated_at=ctx.now)
    told = WebhookDisabledData(
        webhook_id=row.id,
        url=row.url,
        reason="gone" if reason == "gone" else "failures",
        consecutive_failures=failures,
        last_status_code=delivery.last_status_code,
        last_error=delivery.last_error,
        delivery_id=delivery.id,
        hint="Mend the receiver, then update_webhook with status active; read what you missed with list_events.",
    )
    ctx.tx.say(row.agent_id, row.env, DISABLED, orjson.dumps(asdict(told)).decode(), ctx.now)


def _host_of(url: str) -> str:
    try:
        return parse_target(url).host
    except BadTarget:  # nothing will be dialled
        return ""


def _enter_host(ctx: Context, agent_id: str, host: str, until: datetime) -> timedelta | None:
    """Take one of the agent's two places at the host, and one of its 60 a minute there; else how long to wait."""
    place = ctx.tx.get(HostRow, agent_id, host, lock=True)
    free = place is None or any(_is_free(taken, ctx.now) for taken in (place.first_until, place.second_until))
    if not free:
        return _soon(ctx)
    quota = take_shared(ctx.tx, Rate.DELIVERIES, PER_MINUTE, f"{agent_id}:{host}", ctx.now)
    if quota.remaining < 0:
        return timedelta(seconds=quota.reset_seconds)
    if place is None:
        ctx.tx.add(HostRow(agent_id=agent_id, host=host, first_until=until, used_at=ctx.now))
    elif _is_free(place.first_until, ctx.now):
        ctx.tx.change(place, first_until=until, used_at=ctx.now)
    else:
        ctx.tx.change(place, second_until=until, used_at=ctx.now)
    return None


def _leave_host(ctx: Context, posting: Posting) -> None:
    place = ctx.tx.get(HostRow, posting.agent_id, posting.host, lock=True)
    if place is None:
        return
    if place.first_until == posting.until:
        ctx.tx.change(place, first_until=None)
    elif place.second_until == posting.until:
        ctx.tx.change(place, second_until=None)


def _soon(ctx: Context) -> timedelta:
    """A wait for a place, not the same for all who wait."""
    return timedelta(seconds=1 + ctx.world.dice.roll(1)[0] / 64)


def _is_free(until: datetime | None, now: datetime) -> bool:
    return until is None or until <= now
