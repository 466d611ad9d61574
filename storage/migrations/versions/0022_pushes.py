"""Webhooks of one task: push notifications over A2A, with what their receivers ask to be shown, and how long they are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("job_id", "config_id", "form", "scheme"):
        op.add_column("webhooks", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("webhooks", sa.Column("headers", sa.LargeBinary(), nullable=True))
    op.add_column("webhooks", sa.Column("kept_until", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_webhooks_agent_id_job_id"), "webhooks", ["agent_id", "job_id"], unique=False)
    op.create_index(op.f("ix_webhooks_kept_until"), "webhooks", ["kept_until"], unique=False)
