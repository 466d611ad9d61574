"""The modules whose changes must be noticed, with the fast tests of each. A new module of rules gets a row."""

from collections.abc import Mapping

# The tests of storage and rates, which are outside tools.rules, use rows of their own instead of a database.
# No test here needs a database, a chain or a fixture of ours, so one process runs each list in seconds.
TESTED_BY: Mapping[str, tuple[str, ...]] = {
    "tools.rules.transfers": ("test_transfers_places.py", "test_transfers.py"),
    "tools.rules.lifecycle": ("test_lifecycle_rows.py", "test_lifecycle.py", "test_jobfacts.py"),
    "tools.rules.jobfacts": ("test_jobfacts.py", "test_lifecycle.py"),
    "tools.rules.purchases": ("test_purchases.py",),
    "tools.rules.x402": ("test_x402.py", "test_x402payments.py"),
    "tools.rules.x402payments": ("test_x402payments.py",),
    "tools.rules.x402quotes": ("test_x402quotes.py",),
    "tools.rules.reputation": ("test_reputation.py", "test_reputation_sums.py"),
    "tools.rules.trust": ("test_reputation.py",),
    "tools.rules.counterparty": ("test_reputation.py", "test_reputation_sums.py"),
    "tools.rules.stats": ("test_stats.py",),
    "tools.rules.panel": ("test_panel.py",),
    "tools.rules.draw": ("test_draw.py", "test_relations.py"),
    "tools.rules.relations": ("test_relations.py",),
    "tools.rules.evidence": ("test_evidence.py",),
    "tools.rules.sealing": ("test_sealing.py",),
    "tools.rules.pricing": ("test_pricing.py",),
    "tools.rules.money": ("test_money.py",),
    "tools.rates": ("test_rates.py",),
    "tools.steps.room": ("test_room.py",),
    "tools.rules.webhooks": ("test_webhooks.py",),
}
FOLDER = "tests/rules"


def paths_of(module: str) -> list[str]:
    """Return the test files of a module, as paths from the root."""
    return [f"{FOLDER}/{name}" for name in TESTED_BY[module]]
