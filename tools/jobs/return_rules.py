"""Returned inputs: each one beyond a share of a seller's jobs counts as its failure."""

LOOKED_AT = 50  # the seller's last accepted jobs
FEW, FREE = 10, 2  # of fewer than FEW accepted jobs, FREE returns are free
SHARE = 5  # from FEW on, at most one in SHARE


def returns_free(accepted: int, returned: int) -> bool:
    """Check whether one more return is no failure; `accepted` counts the job to return too."""
    if accepted < FEW:
        return returned < FREE
    return returned * SHARE <= accepted
