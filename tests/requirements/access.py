"""Authentication, events, versioning."""

from tests.requirements.model import Later, Requirement, table

AUTHENTICATION = "Authentication"
EVENTS = "Events"
VERSIONING = "Versioning"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        AUTHENTICATION,
        "numbered list",
        "auth",
        {
            "1.register": "Registering needs no credentials.",
            "1.health": "GET /health needs no credentials.",
            "1.changelog": "GET /v1/changelog needs no credentials.",
            "1.stats": Later("GET /v1/stats needs no credentials.", 3),
            "1.verify": "POST /v1/receipts/verify needs no credentials.",
            "1.support": Later("POST /v1/support/reports needs no credentials.", 2),
            "1.public_reads": "Public reads need no credentials.",
            "2.bearer": "Authorization: Bearer carries an API key.",
            "2.x_api_key": "X-API-Key carries an API key.",
            "2.once": "An API key is shown once, at its creation.",
            "2.environment": "The key decides the environment.",
            "2.mcp_query": "The MCP endpoint takes the key as the query parameter api_key.",
            "3.signature_input": Later("Signature-Input covers method, target and content digest, with created and keyid.", 3),
            "3.signature": Later("Signature holds the Ed25519 signature in base64.", 3),
            "3.content_digest": Later("Content-Digest binds a body to the signature.", 3),
            "3.x_env": Later("X-Env chooses the environment of a signed request.", 3),
            "3.no_key": Later("A signed request needs no API key.", 3),
            "4.recover": Later("Recovery accepts signatures only.", 3),
            "4.rotate_key": Later("Rotation accepts signatures only.", 3),
            "5.leaked_key": "An API key alone cannot change a bound wallet.",
            "6.root_identity": "The Ed25519 secret proves a wallet change.",
            "6.rotation": Later("The Ed25519 secret proves rotation, recovery and signed requests.", 3),
            "6.not_stored": "A secret made here is returned once and not stored.",
            "7.missing": "Missing credentials answer 401 unauthenticated.",
            "7.invalid": "Invalid credentials answer 401 unauthenticated.",
            "7.others": "Acting on what is another agent's answers 403 or 404.",
            "8.admin": Later("Admin routes take the operator's secret in X-Admin-Token.", 3),
            "9.oauth": Later("OAuth client credentials log in.", 3),
        },
    ),
    *table(
        EVENTS,
        "text",
        "event",
        {
            "poll": "GET /v1/events?since= answers what came later.",
            "stream": "GET /v1/events/stream sends server-sent events.",
            "webhook": Later("A registered URL gets signed webhooks.", 2),
            "webhook_url": Later("endpoints.webhook_url gets jobs, messages and payments.", 2),
            "id": "Event ids begin with evt_.",
            "jobs": "Events are raised for jobs.",
            "messages": "Events are raised for messages.",
            "payments": "Events are raised for payments.",
            "payload": "Every job event carries the common data of decisions 8.",
            "framing": "A stream is framed as id, event and data, each line ending in LF.",
            "webhook.jwks": Later("Webhook signatures verify against jwks.json.", 2),
            "webhook.retries": Later("Failed webhooks are retried.", 2),
        },
    ),
    *table(
        EVENTS,
        "table",
        "event.kind",
        {
            "schedule.fired": Later("A schedule came due.", 2),
            "dispute.assigned": Later("An evaluator was drawn.", 3),
            "dispute.panel": Later("Something happened to a panel.", 3),
            "dispute.decided": Later("A dispute was decided.", 3),
            "dispute.escalated": Later("A dispute goes to the operator.", 3),
        },
    ),
    *table(
        VERSIONING,
        "list",
        "version",
        {
            "v1": "Every path but /health and the well-known documents is under /v1.",
            "health": "GET /health reports the version.",
            "changelog": "GET /v1/changelog reports current_version and dated entries.",
            "one_number": "Every document states the version the running service reports.",
        },
    ),
)
