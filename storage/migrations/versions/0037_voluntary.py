"""A refund may be voluntary: sent back while nothing was owed."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("settlements", sa.Column("voluntary", sa.Boolean(), nullable=False, server_default=sa.false()))
