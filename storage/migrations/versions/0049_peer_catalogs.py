"""The catalogues of the markets that this one refers to."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "peer_catalogs",
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("check_at", sa.BigInteger(), nullable=False),
        sa.Column("documents", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("origin", name=op.f("pk_peer_catalogs")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
