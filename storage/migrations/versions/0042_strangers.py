"""How many of an agent's bounty alerts of a day were for buyers that have never paid."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bounty_alerts", sa.Column("strangers", sa.BigInteger(), nullable=False, server_default="0"))
