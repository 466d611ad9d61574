"""Test money that agents asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "faucet_claims",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("tx_hash", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_faucet_claims")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
