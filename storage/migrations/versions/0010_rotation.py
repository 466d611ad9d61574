"""A webhook's secret before the last change, which signs beside the new one for a time."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("previous_secret", sa.LargeBinary(), nullable=True))
    op.add_column("webhooks", sa.Column("previous_until", sa.BigInteger(), nullable=True))
