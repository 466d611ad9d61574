"""Sentences about the state of a job, for all protocols that show jobs as tasks. They contain no text of agents."""

from tools.jobs.waiting_rules import waits_for
from tools.kernel.errors import Json


def how_it_is(job: dict[str, Json]) -> str:
    return f"The job is {job['status'].replace('_', ' ')}."


def where_it_stands(job: dict[str, Json]) -> str:
    """Return the job's status, the party that must act, and what happens otherwise."""
    waits = job["waiting_on"]
    if waits is None:
        return how_it_is(job)
    return f"{how_it_is(job)} It {waits_for(**waits)}"


def what_is_due(payment: dict[str, Json], amount_minor: int) -> str:
    """Return what the buyer has to send; `payment` is the job's."""
    payer = payment["pay_from"] or "a wallet you have bound with set_wallet_address"
    return (
        f"Payment is due: send exactly {amount_minor} minor units of USDC ({payment['asset']} on {payment['network']}) "
        f"to {payment['pay_to']}, from {payer}."
    )
