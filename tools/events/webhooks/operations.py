"""Webhooks: signed events posted to a URL, retried until they are accepted."""

from functools import partial
from operator import attrgetter
from typing import Literal

from pydantic import Field

from storage.events import deliveries_of, end_webhook, newest_event, registered_webhooks_of, webhooks_of
from storage.tables import AgentRow, DeliveryRow, WebhookRow
from storage.vocabulary import DeliveryStatus, WebhookSource, WebhookStatus
from tools.engine.arguments import Arguments, Listed
from tools.engine.authentication import need_scope
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, InvalidRequest, NotFound
from tools.engine.next_steps import after_redelivery, after_webhook, step, steps
from tools.engine.outgoing_urls import callable_url
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.events.webhooks.arguments import TYPES_NOTE, EventTypes, Secret, Url
from tools.events.webhooks.errors import WebhookDisabled, WebhookLimit
from tools.events.webhooks.logic import (
    FOLLOWS,
    TEST,
    delivery_record,
    new_webhook,
    revived,
    seal_secret,
    webhook_record,
    with_secret,
)
from tools.events.webhooks.records import (
    Webhook,
    WebhookCreated,
    WebhookDeleted,
    WebhookDelivery,
    WebhookDeliveryPage,
    WebhookPage,
    WebhookTest,
)
from tools.events.webhooks.rules import SECRET_ENTROPY_BYTES, new_secret
from tools.kernel.records import Json

LAST = 2**63 - 1


class CreateWebhook(Arguments):
    url: Url = Field(description="https, a public host, port 443")
    event_types: EventTypes | None = Field(None, description=TYPES_NOTE)
    secret: Secret | None = Field(None, description="signing secret; left out, one is made: whsec_…")


@operation(
    "POST /v1/webhooks",
    scope="admin:self",
    errors=(WebhookLimit,),
    status=201,
    shows_secrets=True,
    toolset="webhooks",
    examples=({"url": "https://agent.example/hook", "event_types": ["job.*", "message.received"]},),
)
def create_webhook(ctx: TxContext, wanted: CreateWebhook) -> WebhookCreated:
    """Get events posted to your URL as they happen, signed. At most 10 in each environment.

    Needs the scope read too. The secret is shown once: store it. Each POST has webhook-id, webhook-timestamp and
    webhook-signature as in Standard Webhooks (v1: HMAC-SHA256 with the secret; v1a: Ed25519 with the key of
    get_platform_keys), and X-Webhook-Signature: `v1=` and the hex HMAC-SHA256 of timestamp, a dot and the body. Check
    one of them, that the timestamp is of the last five minutes, and that agent_id and webhook_id in the body are yours;
    answer 2xx within 10 seconds. Anything else is retried for three days; 20 deliveries given up in a row, or a 410,
    disable it (webhook.disabled). An event may come twice, with the same id. Next: test_webhook.
    """
    need_scope(ctx.caller, "read")  # a webhook reads events for its agent
    callable_url(ctx.config, wanted.url, "url")
    _check_places(ctx)
    webhook_id = ctx.new_id("whk_")
    secret = wanted.secret or new_secret(ctx.world.dice.random_bytes(SECRET_ENTROPY_BYTES))
    sealed, types = seal_secret(ctx, webhook_id, secret), wanted.event_types or ["*"]
    owner = (ctx.agent, ctx.env)
    row = ctx.tx.add(new_webhook(ctx, owner, webhook_id, wanted.url, types, since=_newest(ctx), secret=sealed))
    return webhook_record(
        row,
        WebhookCreated,
        secret=secret,
        next_steps=steps(step("test_webhook", "Send it a first event.", webhook_id=row.id)),
    )


class ListWebhooks(Listed):
    pass


@operation("GET /v1/webhooks", errors=(InvalidCursor,), toolset="webhooks")
def list_webhooks(ctx: TxContext, asked: ListWebhooks) -> WebhookPage:
    """List your webhooks, newest first, without their secrets.

    The one of source profile follows endpoints.webhook_url; those of source task are push notifications of A2A tasks.
    """
    mine = {"agent_id": ctx.agent, "env": ctx.env}
    return WebhookPage(**page(ctx, asked, webhooks_of, partial(map, webhook_record), first="whk_~", where=mine))


class WebhookRef(Arguments):
    webhook_id: str = Field(max_length=64, description="whk_…")


@operation("GET /v1/webhooks/{webhook_id}", errors=(NotFound,), toolset="webhooks")
def get_webhook(ctx: TxContext, ref: WebhookRef) -> Webhook:
    """Read one webhook: whether it is active, and if not, why.

    list_webhook_deliveries says what its receiver answered; update_webhook makes it active again.
    """
    return webhook_record(_mine(ctx, ref.webhook_id))


class UpdateWebhook(WebhookRef):
    url: Url | None = Field(None, description="https, a public host, port 443; waiting deliveries go there too")
    event_types: EventTypes | None = Field(None, description=TYPES_NOTE)
    secret: Secret | None = Field(None, description="new signing secret; the previous one signs too for a day")
    status: Literal["active", "disabled"] | None = Field(None, description="active also resets the count of failures")


@operation(
    "PATCH /v1/webhooks/{webhook_id}", scope="admin:self", errors=(NotFound,), next_steps=after_webhook, toolset="webhooks"
)  # fmt: skip
def update_webhook(ctx: TxContext, change: UpdateWebhook) -> Webhook:
    """Change a webhook's URL, event types or secret; disable it, or enable it again.

    After a change of its secret, webhook-signature holds a v1 of both for a day; X-Webhook-Signature uses the new one.
    Enabled again, it gets what was queued before; read what happened while it was disabled with list_events.
    """
    need_scope(ctx.caller, "read")
    row = _mine(ctx, change.webhook_id, lock=True)
    wanted: dict[str, Json] = {}
    if change.url is not None:
        wanted["url"] = callable_url(ctx.config, change.url, "url")
    if change.event_types is not None:
        wanted["event_types"] = change.event_types
    if change.secret is not None:
        wanted |= with_secret(ctx, row, change.secret)
    if wanted and row.source in FOLLOWS:
        what, hint = FOLLOWS[row.source]
        raise InvalidRequest(f"{next(iter(wanted))}: this webhook follows {what}", param=next(iter(wanted)), hint=hint)
    if change.status == "active":
        since = row.since if row.status is WebhookStatus.ACTIVE else _newest(ctx)
        return webhook_record(revived(ctx, row, since=since, **wanted))
    if change.status == "disabled" and row.status is WebhookStatus.ACTIVE:
        wanted |= {"status": WebhookStatus.DISABLED, "disabled_reason": "you"}
        wanted["due_at"] = row.due_at if row.sending else None
    return webhook_record(ctx.tx.change(row, **wanted, updated_at=ctx.now) if wanted else row)


@operation(
    "DELETE /v1/webhooks/{webhook_id}", scope="admin:self", errors=(NotFound,), destructive=True, toolset="webhooks"
)
def delete_webhook(ctx: TxContext, ref: WebhookRef) -> WebhookDeleted:
    """Delete a webhook: nothing more is sent to it, not even queued events.

    It cannot be restored. To stop it for a while instead, update_webhook with status disabled.
    """
    row = _mine(ctx, ref.webhook_id, lock=True)
    if row.source is WebhookSource.PROFILE:
        raise InvalidRequest(
            "this webhook follows your profile",
            param="webhook_id",
            hint="Take endpoints.webhook_url out of your profile, or switch it off with update_webhook.",
        )
    ctx.tx.run(end_webhook, id=row.id)
    return WebhookDeleted(id=row.id)


class ListWebhookDeliveries(Listed, WebhookRef):
    pass


@operation("GET /v1/webhooks/{webhook_id}/deliveries", errors=(NotFound, InvalidCursor), toolset="webhooks")
def list_webhook_deliveries(ctx: TxContext, asked: ListWebhookDeliveries) -> WebhookDeliveryPage:
    """List the deliveries to a webhook, newest event first.

    Each has its number of attempts, the receiver's last answer and the time of the next attempt. Kept 30 days.
    """
    row = _mine(ctx, asked.webhook_id)
    records, number = partial(map, delivery_record), attrgetter("event_number")
    found = page(ctx, asked, deliveries_of, records, first=LAST, key=number, where={"webhook_id": row.id})
    return WebhookDeliveryPage(**found)


@operation(
    "POST /v1/webhooks/{webhook_id}/test",
    scope="admin:self",
    errors=(NotFound, WebhookDisabled),
    toolset="webhooks",
)
def test_webhook(ctx: TxContext, ref: WebhookRef) -> WebhookTest:
    """Send a webhook.test event to one webhook, whatever its event_types.

    It is posted within seconds; list_webhook_deliveries shows what your receiver answered.
    """
    row = _active(_mine(ctx, ref.webhook_id))
    message = "It works if you can read this and the signature holds."
    ctx.emit(ctx.agent, ctx.env, TEST, {"webhook_id": row.id, "message": message})
    see = step("list_webhook_deliveries", "See what your receiver answered.", webhook_id=row.id)
    return WebhookTest(webhook_id=row.id, next_steps=steps(see))


class DeliveryRef(WebhookRef):
    delivery_id: str = Field(max_length=64, description="dlv_…, from list_webhook_deliveries")


@operation(
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    scope="admin:self",
    errors=(NotFound, WebhookDisabled),
    next_steps=after_redelivery,
    toolset="webhooks",
)
def redeliver_webhook(ctx: TxContext, ref: DeliveryRef) -> WebhookDelivery:
    """Send a delivery again now.

    One that was given up or delivered starts again with its first attempt; one that waits is sent at once.
    """
    need_scope(ctx.caller, "read")
    row = _active(_mine(ctx, ref.webhook_id, lock=True))
    delivery = ctx.tx.get(DeliveryRow, ref.delivery_id)
    if delivery is None or delivery.webhook_id != row.id:
        raise NotFound("this webhook has no such delivery", param="delivery_id")
    if row.sending == delivery.id:
        return delivery_record(delivery)
    again: dict[str, Json] = {"due_at": ctx.now}
    if delivery.status is not DeliveryStatus.PENDING:
        again |= {"status": DeliveryStatus.PENDING, "attempt": 0}
    after = ctx.tx.change(delivery, **again)
    if row.sending is None and (row.due_at is None or row.due_at > ctx.now):
        ctx.tx.change(row, due_at=ctx.now)
    return delivery_record(after)


def _mine(ctx: TxContext, webhook_id: str, *, lock: bool = False) -> WebhookRow:
    row = ctx.tx.get(WebhookRow, webhook_id, lock=lock)
    if row is None or (row.agent_id, row.env) != (ctx.agent, ctx.env):
        raise NotFound("you have no such webhook", param="webhook_id")
    return row


def _active(row: WebhookRow) -> WebhookRow:
    if row.status is not WebhookStatus.ACTIVE:
        raise WebhookDisabled("this webhook is disabled", reason=row.disabled_reason)
    return row


def _check_places(ctx: TxContext) -> None:
    ctx.tx.get(AgentRow, ctx.agent, lock=True)  # the lock keeps concurrent calls within the limit
    most = ctx.config.limits.webhooks
    held = ctx.tx.one(registered_webhooks_of, agent_id=ctx.agent, env=ctx.env) or 0
    if held >= most:
        raise WebhookLimit(f"you have {held} webhooks, at most {most} are allowed", active=held, limit=most)


def _newest(ctx: TxContext) -> int:
    """Return the number of the caller's newest event; earlier events are not sent."""
    return ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env) or 0
