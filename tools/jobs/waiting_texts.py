"""Sentences about the party that a job waits for, for refusals and for protocols that show jobs as tasks."""

DONE = {
    "accept": "accepted",
    "quote": "quoted a price",
    "accept_quote": "accepted the quote",
    "pay": "paid",
    "deliver": "delivered",
    "verdict": "voted",
}
ACTS = {
    "quote": "quote a price",
    "accept_quote": "accept the quote",
    "verdict": "vote",
    "refund": "send the money back",
}
PAY_FIRST = {  # actions of the buyer that a sealed delivery does not allow yet
    "accept": "Pay first: a delivery can be accepted once the output is revealed.",
    "request_revision": "Pay first: a revision can be asked for once the output is revealed.",
    "dispute": "Pay first: a delivery can be disputed once the output is revealed.",
}


def otherwise(who: str, action: str, until: str | None, then: str) -> str:
    """Return what happens if the party does not act in time."""
    if until is None:
        return then
    has = "have" if who == "evaluators" else "has"
    return f"If the {who} {has} not {DONE[action]} by {until}, {then[0].lower()}{then[1:]}"


def waits_for(who: str, action: str, until: str | None, then: str) -> str:
    """Return what follows "The job": the party it waits for, and what happens otherwise."""
    return f"waits for the {who} to {ACTS.get(action, action)}. {otherwise(who, action, until, then)}"


def pay_first(action: str, *, sealed: bool) -> list[str]:
    """Return the hint to pay first if a sealed delivery forbids the action; else empty."""
    return [PAY_FIRST[action]] if sealed and action in PAY_FIRST else []
