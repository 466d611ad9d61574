"""An agent's trust tier, kept in step with what it has earned and with the domain it has proven."""

from storage.tables import AgentRow
from storage.unit import Tx
from tools.rules.trust import trust_tier
from tools.steps.agents import change_agent


def set_tier(tx: Tx, row: AgentRow, *, reached_one: bool = False) -> AgentRow:
    """Give the agent the tier its row says it has; `reached_one`: its sales now earn tier 1.

    Called with the row as it stands after its domain was proven or lost: the tier follows both ways, and what was
    earned is kept. The row is best read locked.
    """
    tier = trust_tier(reached_one or row.trust_tier >= 1, row.verified_domain)
    return row if tier == row.trust_tier else change_agent(tx, row, trust_tier=tier)
