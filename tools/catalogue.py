"""Imports every module of operations; CATALOGUE then lists the operations in the order of documents.

every_error lists the errors, one class for each code:

MarketError
├── ValidationFailed      400  validation_error      the request is wrong
├── AuthenticationFailed  401  authentication_error  no valid credentials
├── PaymentProblem        402  payment_error         payment due, or a payment that is not valid (502: chain down)
├── PermissionDenied      403  permission_error      valid credentials, but not allowed
├── Missing               404  not_found             no such record for this caller
├── TakenAlready          409  conflict              already taken
├── WrongState            409  state_error           the state does not allow it
├── RateLimited           429  rate_limited          too many calls
├── NotImplementedHere    501  not_implemented       switched off here
└── OurFault              500  internal_error        a fault of the market (503: too busy)
"""

from collections.abc import Iterator
from importlib import import_module

from tools.engine.registry import CATALOGUE
from tools.kernel.errors import MarketError

CONTENTS = (
    "discovery.market_operations",
    "discovery.stats_operations",
    "discovery.daily_stats_operations",
    "discovery.demand_operations",
    "discovery.elsewhere_operations",
    "operator.support_operations",
    "agents.operations",
    "account.operations",
    "credentials.operations",
    "agents.recovery_operations",
    "agents.directory_operations",
    "reputation.operations",
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
    "jobs.payment_operations",
    "faucet.operations",
    "jobs.refund_operations",
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
)

MODULES = tuple(import_module(f"tools.{name}") for name in CONTENTS)
_ordered = {op.name: op for module in MODULES for op in CATALOGUE.values() if op.run.__module__ == module.__name__}
assert len(_ordered) == len(CATALOGUE), "a module of operations is missing from CONTENTS"
CATALOGUE.clear()
CATALOGUE.update(_ordered)

__all__ = ["CATALOGUE"]


def every_error() -> list[type[MarketError]]:
    """Return all errors of the market that have a code, ordered by status and code."""
    found = [one for one in _subclasses(MarketError) if hasattr(one, "code") and one.__module__.startswith("tools.")]
    return sorted(found, key=lambda error: (error.status, error.code))


def _subclasses(error: type[MarketError]) -> Iterator[type[MarketError]]:
    for one in error.__subclasses__():
        yield one
        yield from _subclasses(one)
