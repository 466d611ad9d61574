"""The table of contents: importing it registers every operation, in the order documents list them."""

from tools.operations import (
    agents,
    events,
    history,
    jobs,
    listings,
    meta,
    moves,
    payments,
    receipts,
    refunds,
    search,
    wallets,
    webhooks,
    work,
)
from tools.registry import CATALOGUE

CONTENTS = (
    meta,
    agents,
    wallets,
    search,
    listings,
    jobs,
    work,
    moves,
    history,
    payments,
    refunds,
    receipts,
    events,
    webhooks,
)

_ordered = {op.name: op for module in CONTENTS for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE", "CONTENTS"]
