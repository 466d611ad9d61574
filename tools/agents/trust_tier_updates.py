"""An agent's trust tier, updated after a change of its sales or its proven domain."""

from storage.tables import AgentRow
from storage.transaction import Tx
from tools.agents.logic import change_agent
from tools.agents.trust_tiers import trust_tier


def set_tier(tx: Tx, row: AgentRow, *, reached_one: bool = False) -> AgentRow:
    """Set the agent's trust tier; `reached_one`: its sales now earn tier 1.

    `row` must already have the change of the domain. Tier 2 is gained and lost with the domain; tier 1 is kept. The row
    should be read with a lock.
    """
    tier = trust_tier(reached_one or row.trust_tier >= 1, row.verified_domain)
    return row if tier == row.trust_tier else change_agent(tx, row, trust_tier=tier)
