"""Indexes for the counts of agents, the newest agents, and the order of the leaderboard."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_agents_status", "agents")
    op.create_index("ix_agents_status_id", "agents", ["status", "id"])
    op.create_index("ix_agents_status_first_party_last_seen_at", "agents", ["status", "first_party", "last_seen_at"])
    for role in ("seller", "buyer"):
        op.drop_index(f"ix_reputations_env_{role}_rank_score_{role}_jobs", "reputations")
        order = [sa.text(f"{one} DESC") for one in (f"{role}_rank", "score", f"{role}_jobs")]
        op.create_index(f"ix_reputations_{role}", "reputations", ["env", *order, "agent_id"])
