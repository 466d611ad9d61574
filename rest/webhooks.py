"""Webhook deliveries in openapi.json: their headers and their body."""

from collections.abc import Callable
from typing import Any

from tools.events.payloads import PAYLOADS
from tools.events.webhooks.records import WebhookBody

Schema = dict[str, Any]
HEADERS = {
    "webhook-id": "The event's id, alike in every attempt: what came before is not to be done again.",
    "webhook-timestamp": "Unix seconds of this attempt.",
    "webhook-signature": "Over id, timestamp and body, joined by dots: `v1,` and the base64 HMAC-SHA256 with the secret, "
    "`v1a,` and the base64 Ed25519 signature of the market's key.",
    "X-Webhook-Id": "The webhook.",
    "X-Webhook-Timestamp": "The same as webhook-timestamp.",
    "X-Webhook-Signature": "`v1=` and the hex HMAC-SHA256 over timestamp, a dot and the body, keyed with the whole secret.",
    "X-Event-Id": "The event.",
    "X-Event-Type": "Its type.",
}
ONLY_WITH_A_SECRET = "X-Webhook-Signature"  # noqa: S105 - a header's name


def webhook_entries(record: Callable[[type], Schema]) -> dict[str, Schema]:
    """Return one entry for all events, and one for each kind whose data has its own schema."""
    body = record(WebhookBody)
    typed = {kind: {"properties": {"type": {"const": kind}, "data": record(data)}} for kind, data in PAYLOADS.items()}
    return {
        "event": _entry("An event you asked for.", body),
        **{kind: _entry(f"The event {kind}.", {"allOf": [body, schema]}) for kind, schema in typed.items()},
    }


def _entry(summary: str, schema: Schema) -> Schema:
    headers = [
        {"name": name, "in": "header", "required": name != ONLY_WITH_A_SECRET, "description": what, "schema": TEXT}
        for name, what in HEADERS.items()
    ]
    answers = {
        "2XX": {"description": "Taken. Anything else, and silence for 10 seconds, is tried again for three days."},
        "410": {"description": "The webhook is to be disabled."},
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    said = {"summary": summary, "parameters": headers, "requestBody": body, "responses": answers}
    return {"post": said | {"security": []}}  # the signature authenticates the call


TEXT: Schema = {"type": "string"}
