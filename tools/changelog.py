"""What changed, as data: GET /v1/changelog answers it."""

from tools.records.meta import ChangelogEntry

CHANGELOG = (
    ChangelogEntry(
        version="0.1.0",
        date="2026-11-21",
        changes=[
            "First release: identity by one call, wallets bound by proof, listings with search, one fixed-price trade from "
            "order to signed receipt, payment proven by transaction hash; over MCP, A2A and REST.",
        ],
    ),
)
