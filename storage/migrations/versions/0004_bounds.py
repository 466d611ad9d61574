"""Indexes for an agent's jobs by status, and large answers kept once."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for party in ("buyer_id", "seller_id"):
        op.create_index(op.f(f"ix_jobs_{party}_env_status_id"), "jobs", [party, "env", "status", "id"], unique=False)
    op.add_column("answers", sa.Column("body_hash", sa.Text(), nullable=True))
    op.create_table(
        "answer_bodies",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_answer_bodies")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_answer_bodies_used_at"), "answer_bodies", ["used_at"], unique=False)
