"""How a job stands, in sentences: the same over every protocol that shows a job as a task. No words of others are in them."""

from tools.errors.base import Json


def how_it_is(job: dict[str, Json]) -> str:
    return f"The job is {job['status'].replace('_', ' ')}."


def where_it_stands(job: dict[str, Json]) -> str:
    """Its status, whom it waits for, and what happens if they do nothing."""
    waits = job["waiting_on"]
    if waits is None:
        return how_it_is(job)
    by = f" until {waits['until']}" if waits["until"] else ""
    what = f"It waits for the {waits['who']} to {waits['action'].replace('_', ' ')}{by}. Otherwise: {waits['then']}"
    return f"{how_it_is(job)} {what}"


def what_is_due(payment: dict[str, Json], amount_minor: int) -> str:
    """What the buyer has to send; `payment` is the job's."""
    payer = payment["pay_from"] or "a wallet you have bound with set_wallet_address"
    return (
        f"Payment is due: send exactly {amount_minor} minor units of USDC ({payment['asset']} on {payment['network']}) "
        f"to {payment['pay_to']}, from {payer}."
    )
