"""A buyer's own reference for an order, what the order said, and the most that a quote may cost."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

NAMED = sa.text("reference IS NOT NULL")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("reference", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("order_hash", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("max_price", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_jobs_reference",
        "jobs",
        ["buyer_id", "env", "reference"],
        unique=True,
        sqlite_where=NAMED,
        postgresql_where=NAMED,
    )
