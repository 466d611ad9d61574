"""Imports every module of operations, which registers them in the order documents list them."""

from tools.operations import (
    admin,
    agents,
    alerts,
    awards,
    bounties,
    directory,
    disputes,
    documents,
    domains,
    evaluators,
    events,
    exports,
    faucet,
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
    x402_accounts,
)
from tools.registry import CATALOGUE

CONTENTS = (
    meta, finding, figures, wanted, support,
    agents, exports, keys, recovery, directory, reputation, reviews, wallets, domains, onchain, documents,
    search, listings, bounties, alerts, proposals, awards,
    hiring, jobs, work, moves, disputes, evaluators, history, payments, faucet, refunds, receipts,
    inbox, threads, events, webhooks, schedules, memory,
    x402, x402_accounts, admin, overview,
)  # fmt: skip

_ordered = {op.name: op for module in CONTENTS for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE", "CONTENTS"]
