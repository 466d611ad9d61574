"""A host's places for deliveries are each agent's own. What the table held were leases of seconds: it starts afresh."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("webhook_hosts")
    op.create_table(
        "webhook_hosts",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("first_until", sa.BigInteger(), nullable=True),
        sa.Column("second_until", sa.BigInteger(), nullable=True),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "host", name=op.f("pk_webhook_hosts")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_webhook_hosts_used_at"), "webhook_hosts", ["used_at"], unique=False)
