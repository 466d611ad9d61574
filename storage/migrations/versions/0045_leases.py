"""The worker of a seller that holds a job, and until when."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("worker", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("lease_until", sa.BigInteger(), nullable=True))
