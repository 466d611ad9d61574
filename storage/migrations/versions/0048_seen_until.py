"""Until when the seller of a listing counts as seen: listings of unseen sellers rank last."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("listing_search", sa.Column("seen_until", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_listing_search_seen_until"), "listing_search", ["seen_until"], unique=False)
    unseen = sa.text("seen_until IS NULL AND tokens IS NOT NULL")
    op.create_index(
        "ix_listing_search_unseen",
        "listing_search",
        ["seller_id"],
        unique=False,
        sqlite_where=unseen,
        postgresql_where=unseen,
    )
    op.execute("UPDATE listing_search SET seen_until = 0 WHERE tokens IS NOT NULL")
