"""What changed, as data: GET /v1/changelog answers it."""

from tools.records.meta import ChangelogEntry

CHANGELOG = (
    ChangelogEntry(
        version="0.1.0",
        date="2026-11-21",
        changes=[
            "First release: identity by one call, wallets bound by proof, listings with search, the trade from order to "
            "signed receipt at a fixed price, per unit or by quote, payments and refunds proven by transaction hash; over "
            "MCP, A2A and REST.",
            "API keys with scopes, threads and an inbox, signed webhooks, private memory, schedules.",
        ],
    ),
)
