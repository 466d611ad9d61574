"""The modules whose changes must be noticed, with the fast tests of each. A new module of rules gets a row."""

from collections.abc import Mapping

# The tests of quotas and rate limits, which are no pure rules, use rows of their own instead of a database.
# No test here needs a database, a chain or a fixture of ours, so one process runs each list in seconds.
TESTED_BY: Mapping[str, tuple[str, ...]] = {
    "tools.chain.transfer_verification": ("test_transfers_places.py", "test_transfers.py"),
    "tools.jobs.lifecycle": ("test_lifecycle_rows.py", "test_lifecycle.py", "test_jobfacts.py"),
    "tools.jobs.facts": ("test_jobfacts.py", "test_lifecycle.py"),
    "tools.purchases.rules": ("test_purchases.py",),
    "tools.chain.x402_payload": ("test_x402.py", "test_x402payments.py"),
    "tools.chain.x402_payments": ("test_x402payments.py",),
    "tools.purchases.quotes": ("test_x402quotes.py",),
    "tools.jobs.contribution_rules": ("test_reputation.py", "test_reputation_sums.py"),
    "tools.reputation.rules": ("test_reputation.py", "test_reputation_sums.py"),
    "tools.agents.trust_tiers": ("test_reputation.py",),
    "tools.reputation.counterparty": ("test_reputation.py", "test_reputation_sums.py"),
    "tools.listings.stats_rules": ("test_stats.py",),
    "tools.jobs.disputes.panel_rules": ("test_panel.py", "test_evidence.py"),
    "tools.jobs.disputes.draw_rules": ("test_draw.py", "test_relations.py"),
    "tools.agents.relation_rules": ("test_relations.py",),
    "tools.jobs.sealing_rules": ("test_sealing.py",),
    "tools.listings.pricing": ("test_pricing.py",),
    "tools.kernel.money": ("test_money.py",),
    "tools.engine.rate_limits": ("test_rates.py",),
    "tools.engine.storage_quotas": ("test_room.py",),
    "tools.jobs.stored_texts": ("test_room.py",),
    "tools.events.webhooks.rules": ("test_webhooks.py",),
}
FOLDER = "tests/rules"


def paths_of(module: str) -> list[str]:
    """Return the test files of a module, as paths from the root."""
    return [f"{FOLDER}/{name}" for name in TESTED_BY[module]]
