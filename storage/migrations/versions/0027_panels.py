"""Draws of version 2, with the related pairs they met; every domain an agent has ever proven."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

PROVEN = "SELECT domain, agent_id, verified_at FROM agent_domains WHERE verified_at IS NOT NULL"
TOLD = "SELECT data, agent_id, created_at FROM events WHERE kind = 'agent.domain_verified'"  # of claims since removed
KEEP = "INSERT INTO domains_held (domain, agent_id, held_at) VALUES (:domain, :agent_id, :held_at)"


def upgrade() -> None:
    op.add_column("dispute_draws", sa.Column("draw_version", sa.BigInteger(), nullable=False, server_default="1"))
    op.add_column("dispute_draws", sa.Column("wanted", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("dispute_draws", sa.Column("related", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("dispute_draws", sa.Column("related_hash", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "domains_held",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("held_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "agent_id", name=op.f("pk_domains_held")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_domains_held_agent_id"), "domains_held", ["agent_id"], unique=False)
    _keep_domains()


def _keep_domains() -> None:
    connection = op.get_bind()
    first: dict[tuple[str, str], int] = {}
    found = [(domain, agent_id, at) for domain, agent_id, at in connection.execute(sa.text(PROVEN))]
    found += [(json.loads(data)["domain"], agent_id, at) for data, agent_id, at in connection.execute(sa.text(TOLD))]
    for domain, agent_id, at in found:
        first[domain, agent_id] = min(at, first.get((domain, agent_id), at))
    for (domain, agent_id), at in first.items():
        connection.execute(sa.text(KEEP), {"domain": domain, "agent_id": agent_id, "held_at": at})
