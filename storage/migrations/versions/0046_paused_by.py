"""Who paused a listing: its seller, or the market."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("listings", sa.Column("paused_by", sa.Text(), nullable=True))
    op.execute("UPDATE listings SET paused_by = 'seller' WHERE status = 'paused'")
