"""A job is a task over A2A: what its message was called, and an agent's tasks by when they last changed."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("message_id", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("context_id", sa.Text(), nullable=True))
    op.create_index(
        op.f("ix_jobs_buyer_id_env_updated_at_id"), "jobs", ["buyer_id", "env", "updated_at", "id"], unique=False
    )
