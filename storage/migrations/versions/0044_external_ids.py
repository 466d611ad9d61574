"""A seller's own id for a listing."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

KEPT = sa.text("external_id IS NOT NULL AND status <> 'archived'")


def upgrade() -> None:
    op.add_column("listings", sa.Column("external_id", sa.Text(), nullable=True))
    op.create_index(
        "ix_listings_external_id",
        "listings",
        ["seller_id", "env", "external_id"],
        unique=True,
        sqlite_where=KEPT,
        postgresql_where=KEPT,
    )
