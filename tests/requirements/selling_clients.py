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
)
