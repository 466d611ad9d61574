"""The table of contents: importing it registers every operation, in the order documents list them."""

from tools.operations import (
    admin,
    agents,
    awards,
    bounties,
    directory,
    disputes,
    documents,
    domains,
    evaluators,
    events,
    exports,
    figures,
    finding,
    hiring,
    history,
    inbox,
    jobs,
    keys,
    listings,
    memory,
    meta,
    moves,
    onchain,
    overview,
    payments,
    proposals,
    receipts,
    recovery,
    refunds,
    reputation,
    reviews,
    schedules,
    search,
    support,
    threads,
    wallets,
    wanted,
    webhooks,
    work,
    x402,
)
from tools.registry import CATALOGUE

CONTENTS = (
    meta, finding, figures, wanted, support,
    agents, exports, keys, recovery, directory, reputation, reviews, wallets, domains, onchain, documents,
    search, listings, bounties, proposals, awards,
    hiring, jobs, work, moves, disputes, evaluators, history, payments, refunds, receipts,
    inbox, threads, events, webhooks, schedules, memory,
    x402, admin, overview,
)  # fmt: skip

_ordered = {op.name: op for module in CONTENTS for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE", "CONTENTS"]
