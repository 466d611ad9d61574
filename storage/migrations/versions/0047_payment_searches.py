"""Gas-free payments that are searched for in the blocks of their chain."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "payment_searches",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("scanned_to", sa.BigInteger(), nullable=False),
        sa.Column("valid_before", sa.BigInteger(), nullable=False),
        sa.Column("look_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("nonce = lower(nonce) AND length(nonce) = 66", name=op.f("ck_payment_searches_nonce")),
        sa.CheckConstraint("scanned_to >= 0 AND valid_before > 0", name=op.f("ck_payment_searches_bounds")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_payment_searches")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_payment_searches_env_valid_before_job_id"),
        "payment_searches",
        ["env", "valid_before", "job_id"],
        unique=False,
    )
