"""A job keeps the chain's time at its order, so that no earlier transfer pays it."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("block_time_at_order", sa.BigInteger(), nullable=True))
