"""Clauses of what clients need (decisions.md, "Second round", "What clients need")."""

from tests.requirements.model import Requirement, table

CLIENTS = "Second round: What clients need"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        CLIENTS,
        "P2: reference",
        "clients.reference",
        {
            "same": "hire and create_job with the same reference and arguments answer 200 with the job.",
            "reused": "The same reference with other arguments: 409 reference_reused.",
            "ever": "A reference is known for ever.",
            "unique": "A reference is unique for each buyer and environment.",
            "list": "list_jobs?reference= finds the job.",
            "private": "The seller does not see the reference.",
        },
    ),
    *table(
        CLIENTS,
        "P5: max_price",
        "clients.max_price",
        {
            "order": "hire and create_job with a price above max_price: 409 price_above_max.",
            "units": "max_price is compared with price times units.",
            "quote": "On quote listings max_price is kept and checked by accept_quote.",
            "private": "The seller does not see max_price.",
        },
    ),
    *table(
        CLIENTS,
        "P10, P4",
        "clients",
        {
            "statuses": "list_jobs takes several statuses, with commas.",
            "listing_id": "Every job event has listing_id.",
        },
    ),
    *table(
        CLIENTS,
        "P6: deliver_job on an open order",
        "clients.deliver",
        {
            "one": "deliver_job on an open on_delivery order accepts and delivers: events job.accepted and job.delivered.",
            "time": "The turnaround then counts from created_at.",
            "late": "Lateness then counts from created_at.",
            "actions": "The seller's available_actions on open: accept, deliver (on_delivery), decline, message.",
        },
    ),
)
