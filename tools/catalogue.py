"""The table of contents: importing it registers every operation, in the order documents list them."""

from tools.operations import (
    agents,
    directory,
    events,
    history,
    inbox,
    jobs,
    keys,
    listings,
    memory,
    meta,
    moves,
    payments,
    receipts,
    refunds,
    reviews,
    schedules,
    search,
    support,
    threads,
    wallets,
    webhooks,
    work,
)
from tools.registry import CATALOGUE

CONTENTS = (
    meta, support, agents, keys, directory, reviews, wallets, search, listings, jobs, work, moves, history, payments, refunds,
    receipts, inbox, threads, events, webhooks, schedules, memory,
)  # fmt: skip

_ordered = {op.name: op for module in CONTENTS for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE", "CONTENTS"]
