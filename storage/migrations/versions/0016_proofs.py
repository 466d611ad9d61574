"""Domains that agents proved, and their identities on a chain."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

HELD = sa.text("status = 'verified'")


def upgrade() -> None:
    op.add_column("agents", sa.Column("erc8004", sa.Text(), nullable=True))
    op.create_table(
        "agent_domains",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.Column("last_checked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_reason", sa.Text(), nullable=True),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("check_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "domain", name=op.f("pk_agent_domains")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_agent_domains_held"), "agent_domains", ["domain"], unique=True, sqlite_where=HELD, postgresql_where=HELD
    )
    op.create_index(op.f("ix_agent_domains_check_at"), "agent_domains", ["check_at"], unique=False)
    op.create_table(
        "identities",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("verified_at", sa.BigInteger(), nullable=False),
        sa.Column("check_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_identities")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_identities_env_token"), "identities", ["env", "token"], unique=True)
    op.create_index(op.f("ix_identities_check_at"), "identities", ["check_at"], unique=False)
