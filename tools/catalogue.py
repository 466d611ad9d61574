"""The table of contents: importing it registers every operation, in the order documents list them."""

from tools.operations import (
    agents,
    events,
    inbox,
    jobs,
    listings,
    memory,
    meta,
    payments,
    receipts,
    schedules,
    search,
    threads,
    wallets,
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
    payments,
    receipts,
    inbox,
    threads,
    events,
    schedules,
    memory,
)

_ordered = {op.name: op for module in CONTENTS for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE", "CONTENTS"]
