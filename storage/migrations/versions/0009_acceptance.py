"""Acceptance rules of listings, frozen on their jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("listings", "jobs"):
        op.add_column(table, sa.Column("acceptance", sa.Text(), nullable=True))
