"""Until when a dispute takes evidence: what it was opened with, and which party says that it has no more."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("opened_with", "buyer_done_at", "seller_done_at"):
        op.add_column("disputes", sa.Column(name, sa.BigInteger(), nullable=True))
