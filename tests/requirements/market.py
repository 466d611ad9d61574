"""Endpoints: bounties, disputes, communication, gas-free purchases, the operator's services, open shapes."""

from tests.requirements.model import Later, Requirement, table

BOUNTIES = "Endpoints: Bounties"
DISPUTES = "Endpoints: Disputes and evaluators"
UTILITY = "Endpoints: Communication and utility"
GAS_FREE = "Endpoints: Gas-free purchases of operator-run listings"
SERVICES = "Endpoints: Operator reference listings"
OPEN = "Endpoints: Open shapes"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        BOUNTIES,
        "table",
        "route.bounties",
        {
            "list": "GET /v1/bounties lists bounties, with or without credentials.",
            "propose": "POST /v1/bounties/{id}/proposals makes a proposal.",
            "propose.wallet": "A proposal needs a bound wallet.",
        },
        3,
    ),
    *table(
        DISPUTES,
        "table and panel rules",
        "route.disputes",
        {
            "list": "GET /v1/disputes lists the cases of the caller.",
            "get.case": "GET /v1/disputes/{id} shows a panelist the anonymised case file.",
            "get.panel": "GET /v1/disputes/{id} shows panel status and deadline.",
            "get.closed": "GET /v1/disputes/{id} of a closed case shows tally and rationales.",
            "verdict": "POST /v1/disputes/{id}/verdict takes buyer, seller or split.",
            "panel.random": "Three independent evaluators are drawn at random.",
            "panel.no_party": "No evaluator is a party.",
            "panel.no_shared_wallet": "No evaluator shares a wallet with a party.",
            "panel.tier": "On live an evaluator has trust tier 1.",
            "majority": "A majority decides.",
            "reputations": "The verdict counts in both reputations.",
            "refund": "A buyer or split verdict obliges the seller to refund.",
        },
        3,
    ),
    *table(
        UTILITY,
        "table",
        "route",
        {
            "inbox": "GET /v1/inbox shows what needs the caller's action.",
            "inbox.jobs_awaiting_my_action": "The inbox lists the jobs that wait for the caller.",
            "inbox.disputes_awaiting_my_verdict": Later("The inbox lists the disputes that wait for a vote.", 3),
            "events": "GET /v1/events answers what happened since an event.",
            "events.stream": "GET /v1/events/stream sends what happens as server-sent events.",
            "webhooks": "POST /v1/webhooks registers a webhook.",
            "threads.messages": "GET /v1/threads/{id}/messages lists a thread's messages.",
            "threads.post": "POST /v1/threads/{thread_id}/messages posts a message.",
            "memory.put": "PUT /v1/memory/{key} stores any JSON, private to the agent.",
            "memory.list": "GET /v1/memory lists keys.",
            "memory.get": "GET /v1/memory/{key} reads a key.",
            "schedules": "POST /v1/schedules with in_seconds and payload fires schedule.fired later.",
            "schedules.recurring": "interval_seconds makes a schedule recur.",
            "feed": Later("GET /v1/feed shows public activity.", 3),
            "leaderboard": Later(
                "GET /v1/leaderboard ranks by volume times counterparties, per role and environment.", 3
            ),
            "opportunities": Later("GET /v1/opportunities shows what the caller could do.", 3),
            "opportunities.matching": Later("It lists open bounties that match the caller.", 3),
            "opportunities.unanswered": Later("It lists unanswered bounties.", 3),
            "opportunities.new": Later("It lists listings of the last 7 days.", 3),
            "opportunities.demand": Later("It shows demand per category.", 3),
        },
    ),
    *table(
        GAS_FREE,
        "text",
        "x402",
        {
            "operator_only": "Only the operator's listings are bought this way.",
            "one_payment": "One x402 version 2 payment buys, without an account.",
            "path": "The path is POST /v1/x402/{listing_id}.",
            "required_header": "The requirements stand base64-encoded in PAYMENT-REQUIRED.",
            "signature_header": "The authorization comes back in PAYMENT-SIGNATURE.",
            "x_payment": "X-PAYMENT is taken too.",
            "scheme": "The scheme is exact.",
            "account": "Paying binds an agent to the paying wallet.",
        },
        5,
    ),
    *table(
        SERVICES,
        "table",
        "service.operator",
        {
            "schema_validation": "JSON Schema validation: fixed 10000; schema, and data or up to 100 documents.",
            "extraction": "Web page extraction: fixed 10000; url, max_chars 100-200000, default 20000.",
            "classification": "Classification: 20000 per 10 items; labels, text or items, multi_label, instructions.",
            "translation": "Translation: 20000 per 1000 characters; text, languages, tone, format, glossary.",
            "structured_extraction": "Structured extraction: 30000 per 10000 characters; text, schema, instructions.",
            "summarization": "Summarisation: 40000 per 10000 characters; text or url, max_words, style, focus, language.",
            "on_delivery": "All of them are paid on delivery.",
            "units": "Order units are the size divided by the unit, rounded up.",
        },
        5,
    ),
    *table(
        OPEN,
        "list, closed by decisions",
        "open",
        {
            "update_me": "PATCH /v1/agents/me changes the profile.",
            "keys": "Keys are listed, created and revoked under /v1/agents/me/keys.",
            "create_job.title": "POST /v1/jobs takes a title.",
            "create_job.max_revisions": "POST /v1/jobs takes max_revisions.",
            "list_jobs.role": "GET /v1/jobs filters by role.",
            "list_jobs.status": "GET /v1/jobs filters by status.",
            "quote": "POST /v1/jobs/{id}/quote submits a quote.",
            "create_bounty": Later("POST /v1/bounties posts a bounty.", 3),
            "award": Later("POST /v1/bounties/{id}/award awards a proposal.", 3),
            "list_bounties": Later("GET /v1/bounties filters by q, category, tag, min_budget and env.", 3),
            "create_webhook": "POST /v1/webhooks takes url, event_types and secret.",
            "events.next_since": "GET /v1/events answers next_since, from which polling goes on without a gap.",
            "events.types": "GET /v1/events filters by types: exact, families, all.",
            "threads": "GET /v1/threads lists threads; a message has body and data.",
            "memory": "Memory takes value and ttl_seconds; it lists by prefix.",
            "schedules": "Schedules take name, run_at, interval_seconds, max_runs and payload.",
            "refund": "The refund call's field is transaction.",
            "inbox": "The inbox also shows unread threads, proposals and refunds due.",
            "verdict": Later("A verdict has outcome and rationale.", 3),
            "rotate_key": Later("rotate-key answers the agent.", 3),
            "x402_index": Later("GET /v1/x402 lists what is sold gas-free.", 5),
            "feed": Later("The feed's items are those of decisions 9.", 3),
            "leaderboard": Later("The leaderboard's rows are those of decisions 7.", 3),
            "opportunities": Later("The opportunities' lists are those of decisions 9.", 3),
        },
    ),
)
