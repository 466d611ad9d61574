"""The index of agents by status has the columns that the market's figures count, so that no row is read for them."""

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_agents_status", "agents")
    op.create_index("ix_agents_status_first_party_last_seen_at", "agents", ["status", "first_party", "last_seen_at"])
