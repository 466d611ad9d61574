"""Alerts of new bounties; listings are indexed again where an older market made their tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bounty_alerts",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("buyers", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "env", name=op.f("pk_bounty_alerts")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(
        "ix_bounty_alerts_on",
        "bounty_alerts",
        ["env", "agent_id"],
        unique=False,
        sqlite_where=sa.text("enabled"),
        postgresql_where=sa.text("enabled"),
    )
    op.create_table(
        "bounty_matches",
        sa.Column("bounty_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("bounty_id", name=op.f("pk_bounty_matches")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.add_column("listing_search", sa.Column("made_by", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_listing_search_made_by"), "listing_search", ["made_by"], unique=False)
    op.execute("UPDATE listing_search SET made_by = 0 WHERE tokens IS NOT NULL")
