"""Imports every module of operations; CATALOGUE then lists the operations in the order of documents."""

from importlib import import_module

from tools.engine.registry import CATALOGUE

CONTENTS = (
    "discovery.market_operations",
    "discovery.tool_search_operations",
    "discovery.stats_operations",
    "discovery.demand_operations",
    "operator.support_operations",
    "agents.operations",
    "account.operations",
    "account.export_operations",
    "credentials.operations",
    "agents.recovery_operations",
    "agents.directory_operations",
    "reputation.operations",
    "reputation.review_operations",
    "wallets.operations",
    "domains.operations",
    "identities.operations",
    "agents.document_operations",
    "listings.search_operations",
    "listings.operations",
    "bounties.operations",
    "bounties.alert_operations",
    "bounties.proposal_operations",
    "bounties.award_operations",
    "jobs.operations",
    "jobs.delivery_operations",
    "jobs.transition_operations",
    "jobs.disputes.operations",
    "evaluators.operations",
    "jobs.history_operations",
    "jobs.payments.operations",
    "faucet.operations",
    "jobs.payments.refund_operations",
    "jobs.receipt_operations",
    "inbox.operations",
    "messages.operations",
    "jobs.message_operations",
    "events.operations",
    "events.webhooks.operations",
    "events.schedules.operations",
    "memory.operations",
    "purchases.operations",
    "purchases.account_operations",
    "operator.operations",
    "operator.overview_operations",
)

MODULES = tuple(import_module(f"tools.{name}") for name in CONTENTS)
_ordered = {op.name: op for module in MODULES for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE"]
