"""The table of contents: importing it registers every operation, in the order documents list them."""

import tools.operations.meta
import tools.operations.agents
import tools.operations.wallets
import tools.operations.listings
import tools.operations.jobs
import tools.operations.work
import tools.operations.payments
import tools.operations.receipts
import tools.operations.events  # noqa: F401
from tools.registry import CATALOGUE

__all__ = ["CATALOGUE"]
