"""The modules whose changes must be noticed, with the fast tests of each. A new module of rules gets a row."""

from collections.abc import Mapping

# The tests of quotas and rate limits, which are no pure rules, use rows of their own instead of a database.
# No test here needs a database, a chain or a fixture of ours, so one process runs each list in seconds.
TESTED_BY: Mapping[str, tuple[str, ...]] = {
    "tools.chain.transfer_verification": ("chain/test_transfer_positions.py", "chain/test_transfer_verification.py"),
    "tools.jobs.lifecycle": ("jobs/test_lifecycle_rows.py", "jobs/test_lifecycle.py", "jobs/test_facts.py"),
    "tools.jobs.facts": ("jobs/test_facts.py", "jobs/test_lifecycle.py"),
    "tools.purchases.rules": ("purchases/test_rules.py",),
    "tools.chain.x402_payload": ("chain/test_x402_payload.py", "chain/test_x402_payments.py"),
    "tools.chain.x402_payments": ("chain/test_x402_payments.py", "purchases/test_rules.py"),
    "tools.purchases.quotes": ("purchases/test_quotes.py",),
    "tools.jobs.contribution_rules": ("reputation/test_rules.py", "reputation/test_sums.py"),
    "tools.reputation.rules": ("reputation/test_rules.py", "reputation/test_sums.py"),
    "tools.agents.trust_tiers": ("reputation/test_rules.py",),
    "tools.reputation.counterparty": ("reputation/test_rules.py", "reputation/test_sums.py"),
    "tools.listings.stats_rules": ("listings/test_stats_rules.py",),
    "tools.jobs.panel_rules": ("jobs/test_panel_rules.py", "jobs/disputes/test_evidence_rules.py"),
    "tools.jobs.disputes.draw_rules": ("jobs/disputes/test_draw_rules.py", "agents/test_relation_rules.py"),
    "tools.agents.relation_rules": ("agents/test_relation_rules.py",),
    "tools.jobs.return_rules": ("jobs/test_return_rules.py",),
    "tools.listings.absence_rules": ("listings/test_absence_rules.py",),
    "tools.jobs.sealing_rules": ("jobs/test_sealing_rules.py",),
    "tools.listings.pricing": ("listings/test_pricing.py",),
    "tools.kernel.money": ("kernel/test_money.py",),
    "tools.engine.rate_limits": ("engine/test_rate_limits.py",),
    "tools.engine.storage_quotas": ("engine/test_storage_quota_rules.py",),
    "tools.jobs.stored_texts": ("engine/test_storage_quota_rules.py",),
    "tools.events.webhooks.rules": ("events/webhooks/test_rules.py",),
}
FOLDER = "tests/tools"


def paths_of(module: str) -> list[str]:
    """Return the test files of a module, as paths from the root."""
    return [f"{FOLDER}/{name}" for name in TESTED_BY[module]]
