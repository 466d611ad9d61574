"""Disputes with their panels, draws and seats; who offers to sit on one; every wallet an agent has proven."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# A job disputed before there were panels has no case yet: the step that sweeps panels draws its first one.
CASES = """
INSERT INTO disputes (
    id, version, env, job_id, buyer_id, seller_id, status, round, seats, verdict_by, names, title, category, reason,
    created_at)
SELECT dispute_id, 1, env, id, buyer_id, seller_id, 'panel', 0, 0, updated_at, '{}', '', '', '', updated_at FROM jobs
WHERE status = 'disputed' AND dispute_id IS NOT NULL
"""
# One agent may have bound the same wallet in both environments.
HELD = """
INSERT INTO wallets_held (address, agent_id, held_at)
SELECT address, agent_id, min(bound_at) FROM wallets GROUP BY address, agent_id
"""
INDEXES = (
    ("disputes", ("buyer_id", "env", "id")),
    ("disputes", ("seller_id", "env", "id")),
    ("disputes", ("buyer_id", "env", "status", "id")),
    ("disputes", ("seller_id", "env", "status", "id")),
    ("disputes", ("status", "verdict_by", "id")),
    ("dispute_seats", ("agent_id", "env", "dispute_id")),
    ("dispute_seats", ("agent_id", "env", "status", "dispute_id")),
    ("dispute_seats", ("status", "dispute_id")),
    ("wallets_held", ("agent_id",)),
)
STRICT = {"sqlite_autoincrement": True, "sqlite_strict": True}


def upgrade() -> None:
    _make_disputes()
    _make_panels()
    _make_holders()
    for table, columns in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns), unique=False)
    op.execute(CASES)
    op.execute(HELD)


def _make_disputes() -> None:
    op.create_table(
        "disputes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("buyer_id", sa.Text(), nullable=False),
        sa.Column("seller_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("seats", sa.BigInteger(), nullable=False),
        sa.Column("verdict_by", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("resolved_by", sa.Text(), nullable=True),
        sa.Column("escalation_reason", sa.Text(), nullable=True),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("checks", sa.Text(), nullable=True),
        sa.Column("evidence_ends", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("resolved_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_disputes")),
        sa.UniqueConstraint("job_id", name=op.f("uq_disputes_job_id")),
        **STRICT,
    )


def _make_panels() -> None:
    op.create_table(
        "dispute_draws",
        sa.Column("dispute_id", sa.Text(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("seats", sa.BigInteger(), nullable=False),
        sa.Column("eligible", sa.Text(), nullable=False),
        sa.Column("eligible_hash", sa.Text(), nullable=False),
        sa.Column("drawn_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dispute_id", "round", name=op.f("pk_dispute_draws")),
        **STRICT,
    )
    op.create_table(
        "dispute_seats",
        sa.Column("dispute_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("content_warnings", sa.Text(), nullable=False),
        sa.Column("deadline_at", sa.BigInteger(), nullable=False),
        sa.Column("drawn_at", sa.BigInteger(), nullable=False),
        sa.Column("voted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("dispute_id", "agent_id", name=op.f("pk_dispute_seats")),
        **STRICT,
    )


def _make_holders() -> None:
    op.create_table(
        "evaluators",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("categories", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_evaluators")),
        **STRICT,
    )
    op.create_table(
        "wallets_held",
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("held_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("address", "agent_id", name=op.f("pk_wallets_held")),
        **STRICT,
    )
