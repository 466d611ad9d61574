"""Errors of storage quotas."""

from tools.kernel.errors import ValidationFailed


class StorageFull(ValidationFailed):
    """413: the agent keeps as many bytes in this environment as it may without paying for work."""

    status, code = 413, "storage_full"
    usual_hint = "get_me shows storage. Delete memory and schedules you no longer need. Inputs and outputs of the jobs you ordered leave the count with a payment of 0.01 USDC or more that was not refunded; outputs you never paid for, and inputs of orders that never began, 30 days after the end. An order needs 1 MB left for its output."
