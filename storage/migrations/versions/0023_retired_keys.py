"""Signing keys of the platform that were replaced: what they signed is recognised, and holds no more."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "retired_keys",
        sa.Column("kid", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kid", name=op.f("pk_retired_keys")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
