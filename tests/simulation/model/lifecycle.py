"""State the contract's tables: states of jobs, bounties and cases, their moves, and what a party may do."""

from typing import Any

from tests.simulation.model.history import PANEL, TIME, VERDICT, Graph, Moves

MOST_REVISIONS = 5
BUYER, SELLER = "buyer", "seller"

_WITHDRAWN = (
    ("decline:seller", "declined"),
    ("cancel:seller", "declined"),
    ("cancel:buyer", "cancelled"),
    ("left:seller", "declined"),
    ("left:buyer", "cancelled"),
)


def _job_moves() -> Moves:
    moves: dict[str, tuple[tuple[str, str], ...]] = {
        "quote_requested": (("quote:seller", "quoted"), (TIME, "expired"), *_WITHDRAWN),
        "quoted": (
            ("accept_quote:buyer", "in_progress:0"),
            ("accept_quote:buyer", "awaiting_payment"),
            (TIME, "expired"),
            *_WITHDRAWN,
        ),
        "open": (
            ("accept:seller", "in_progress:0"),
            ("accept:seller", "awaiting_payment"),
            ("deliver:seller", "sealed"),
            ("deliver:seller", "revealed:0"),
            (TIME, "expired"),
            ("purchase", "cancelled"),
            *_WITHDRAWN,
        ),
        "awaiting_payment": (("pay:buyer", "in_progress:0"), (TIME, "unpaid"), *_WITHDRAWN),
        "unpaid": (("pay:buyer", "in_progress:0"),),
        "sealed": (
            ("pay:buyer", "revealed:0"),
            ("cancel:buyer", "cancelled"),
            (TIME, "unpaid_sealed"),
            ("purchase", "cancelled"),
        ),
        "unpaid_sealed": (("pay:buyer", "revealed:0"),),
        "disputed": ((VERDICT, "resolved"), ("withdraw:buyer", "completed")),
    }
    for revision in range(MOST_REVISIONS + 1):
        moves |= _work(revision)
    return moves | dict.fromkeys(("completed", "resolved", "declined", "cancelled", "expired"), ())


def _work(revision: int) -> Moves:
    sealed = (("deliver:seller", "sealed"), ("purchase", "cancelled")) if not revision else ()
    again = (("request_revision:buyer", f"in_progress:{revision + 1}"),) if revision < MOST_REVISIONS else ()
    return {
        f"in_progress:{revision}": (
            ("deliver:seller", f"revealed:{revision}"),
            ("cancel:seller", "cancelled"),
            ("cancel:buyer", "cancelled"),
            (TIME, "cancelled"),
            *sealed,
        ),
        f"revealed:{revision}": (
            ("accept:buyer", "completed"),
            (TIME, "completed"),
            ("dispute:buyer", "disputed"),
            *again,
        ),
    }


JOB = Graph(_job_moves(), ("open", "quote_requested"))
AWARDED_JOB = Graph(_job_moves(), ("in_progress:0", "awaiting_payment"))
BOUNTY = Graph(
    {
        "open": (("award:buyer", "awarded"), ("close:buyer", "closed"), ("left:buyer", "closed"), (TIME, "expired")),
        "awarded": (),
        "closed": (),
        "expired": (),
    },
    ("open",),
)
PROPOSAL = Graph(
    {
        "pending": (
            ("award:buyer", "accepted"),
            ("end", "rejected"),
            (TIME, "rejected"),
            ("withdraw:seller", "withdrawn"),
            ("left:seller", "withdrawn"),
        ),
        "accepted": (),
        "rejected": (),
        "withdrawn": (),
    },
    ("pending",),
)
DISPUTE = Graph(
    {
        "panel": ((PANEL, "resolved"), (PANEL, "escalated"), ("withdraw:buyer", "resolved")),
        "escalated": (("resolve:operator", "resolved"), ("withdraw:buyer", "resolved")),
        "resolved": (),
    },
    ("panel", "escalated"),
)

PLACE = ("open", "quote_requested", "quoted", "awaiting_payment", "in_progress")  # what fills a listing's places
ACTION = {
    "accept_job": "accept",
    "decline_job": "decline",
    "quote_job": "quote",
    "accept_quote": "accept_quote",
    "deliver_job": "deliver",
    "request_revision": "request_revision",
    "cancel_job": "cancel",
    "dispute_job": "dispute",
    "pay_job": "pay",
    "refund_job": "refund",
}
ROLES = {
    "accept": (BUYER, SELLER),
    "decline": (SELLER,),
    "quote": (SELLER,),
    "accept_quote": (BUYER,),
    "deliver": (SELLER,),
    "request_revision": (BUYER,),
    "cancel": (BUYER, SELLER),
    "dispute": (BUYER,),
    "pay": (BUYER,),
    "refund": (SELLER,),
}
RESULTS = {
    "accept:seller": ("in_progress", "awaiting_payment"),
    "accept:buyer": ("completed",),
    "decline:seller": ("declined",),
    "quote:seller": ("quoted",),
    "accept_quote:buyer": ("in_progress", "awaiting_payment"),
    "deliver:seller": ("sealed", "revealed"),
    "request_revision:buyer": ("in_progress",),
    "cancel:seller": ("cancelled", "declined"),
    "cancel:buyer": ("cancelled",),
    "dispute:buyer": ("disputed",),
}
ACTIONS = {
    SELLER: {
        "open": {"accept", "decline", "message"},
        "quote_requested": {"quote", "decline"},
        "quoted": {"quote", "decline", "message"},
        "awaiting_payment": {"decline", "message"},
        "in_progress": {"deliver", "cancel", "message"},
        "sealed": {"message"},
        "revealed": {"message"},
    },
    BUYER: {
        "open": {"cancel", "message"},
        "quote_requested": {"cancel", "message"},
        "quoted": {"accept_quote", "cancel", "message"},
        "awaiting_payment": {"pay", "cancel", "message"},
        "in_progress": {"message"},
        "sealed": {"pay", "cancel", "message"},
        "revealed": {"accept", "dispute", "message"},
    },
}
WAITS = {
    "open": (SELLER, "accept_by"),
    "quote_requested": (SELLER, "accept_by"),
    "quoted": (BUYER, "accept_by"),
    "awaiting_payment": (BUYER, "pay_by"),
    "in_progress": (SELLER, "deliver_by"),
    "sealed": (BUYER, "pay_by"),
    "revealed": (BUYER, "review_by"),
}


def state_of(record: Any) -> str:
    """Return the state of the lifecycle that a job record shows."""
    status, revision = record["status"], record["revision_count"]
    if status == "in_progress":
        return f"in_progress:{revision}"
    if status == "delivered":
        return "sealed" if record["output_sealed"] else f"revealed:{revision}"
    if status == "expired" and record["unpaid"]:
        return "unpaid_sealed" if record["delivered_at"] else "unpaid"
    return str(status)


def kind(state: str) -> str:
    """Return a state without its revision."""
    return state.partition(":")[0]


def reviewable(state: str) -> bool:
    return state in ("completed", "resolved")
