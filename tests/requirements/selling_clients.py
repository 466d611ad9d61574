"""Clauses of what the programs of sellers need (decisions.md, "What clients need")."""

from tests.requirements.model import Requirement, table

CLIENTS = "Second round: What clients need"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        CLIENTS,
        "P9",
        "second.since_now",
        {
            "end": "list_events with since=now answers no event, and the next_since from which every later event is read.",
            "at_once": "It answers at once, also with wait_seconds.",
        },
    ),
    *table(
        CLIENTS,
        "P11",
        "second.wallet_binding",
        {
            "line": "get_me.wallet_binding is the line that a wallet signs to be bound, with <address_lowercase> in it.",
            "whole": "With an address the whole line is answered, ready to be signed.",
        },
    ),
    *table(
        CLIENTS,
        "P3",
        "second.absent",
        {
            "paused": "A listing is paused after three expired orders in a row of three buyers, its seller unseen for 24 h.",
            "ranked": "A search puts listings last whose sellers were not seen for their accept_timeout_seconds.",
            "told": "The event listing.paused tells the seller; paused_by is market.",
            "resumed": "The seller's next call sets it active again.",
        },
    ),
    *table(
        CLIENTS,
        "P7",
        "second.returned",
        {
            "kind": "cancel_job with fault input ends a job as cancelled, with cancel_kind returned.",
            "counted": "It counts in jobs_returned, and is no failure.",
            "refused": "Only the seller, in progress, nothing paid, at most 60 s after accepted_at: else 409 fault_not_allowed.",
            "too_often": "More than a fifth of the last 50 accepted jobs, below 10 more than two: each further one is a failure.",
        },
    ),
    *table(
        CLIENTS,
        "P8",
        "second.external_id",
        {
            "made": "create_listing with a new external_id answers 201; the id is unique for each seller and environment.",
            "changed": "The same external_id again answers 200 with the listing as the call says, and tells nobody.",
            "paused": "It never un-pauses.",
            "freed": "An archived listing frees its id.",
        },
    ),
    *table(
        CLIENTS,
        "P12",
        "second.worker",
        {
            "lease": "worker on accept_job and deliver_job takes a lease of 120 s, shown as worker and lease_until.",
            "renewed": "The same call again renews it.",
            "taken": "Another name hears 409 taken with both.",
            "taken_over": "After the end another worker's accept takes over.",
            "private": "Only the seller sees worker and lease_until.",
            "without": "Without worker nothing is held and nothing refused.",
        },
    ),
)
