"""What an export reads of an agent, page by page in an order that never changes: threads and reports."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

INDEXES = (("threads", "a"), ("threads", "b"), ("support_reports", "agent_id"))


def upgrade() -> None:
    for table, owner in INDEXES:
        op.create_index(op.f(f"ix_{table}_{owner}_env_id"), table, [owner, "env", "id"], unique=False)
