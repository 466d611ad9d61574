"""Reputation: what each job came to, the sums by agent, category and counterparty, and the deadline of each delivery."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# The deadline a delivery had: the job's own for the last one; before that, the turnaround from the acceptance (or, where
# the buyer paid first, from the payment), and from the request for a revision on. Times are microseconds.
REQUESTED = """(SELECT max(asked.created_at) FROM job_events asked WHERE asked.job_id = job.id
    AND asked.type = 'revision_requested' AND asked.created_at <= job_deliveries.delivered_at)"""
PAID = "(SELECT max(paid.settled_at) FROM settlements paid WHERE paid.job_id = job.id AND paid.kind = 'payment')"
BEGAN = f"CASE WHEN job.payment = 'upfront' THEN coalesce({PAID}, job.accepted_at) ELSE job.accepted_at END"
DEADLINE = f"""
CASE WHEN job_deliveries.revision = job.revision_count THEN job.deliver_by
    WHEN job_deliveries.revision = 0 THEN {BEGAN} + job.turnaround_seconds * 1000000
    ELSE {REQUESTED} + job.turnaround_seconds * 1000000 END
"""
DEADLINES = (
    f"UPDATE job_deliveries SET deliver_by = (SELECT {DEADLINE} FROM jobs job WHERE job.id = job_deliveries.job_id)"
)
# The figures themselves are counted by the market when it starts (a worker's step) or by the doctor: what a job comes to
# is its rule, not the database's, and a rule that changes puts the jobs here again.
UNMARKED = """
INSERT INTO unmarked_jobs (job_id)
SELECT id FROM jobs WHERE status IN ('completed', 'declined', 'cancelled', 'expired', 'resolved', 'disputed')
    OR id IN (SELECT job_id FROM settlements)
"""


def upgrade() -> None:
    op.add_column("job_deliveries", sa.Column("deliver_by", sa.BigInteger(), nullable=True))
    _make(
        "job_marks",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        key=("job_id",),
    )
    _make("unmarked_jobs", sa.Column("job_id", sa.Text(), nullable=False), key=("job_id",))
    _make(
        "reputations",
        *_texts("agent_id", "env"),
        *_numbers("version"),
        *_texts("as_seller", "as_buyer"),
        *_numbers("score", "seller_rank", "seller_jobs", "buyer_rank", "buyer_jobs"),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        key=("agent_id", "env"),
    )
    for side in ("seller", "buyer"):
        columns = ["env", f"{side}_rank", "score", f"{side}_jobs"]
        op.create_index(op.f(f"ix_reputations_{'_'.join(columns)}"), "reputations", columns, unique=False)
    _make(
        "reputation_categories",
        *_texts("agent_id", "env", "role", "category"),
        *_numbers("version"),
        *_texts("figures"),
        *_numbers("jobs"),
        key=("agent_id", "env", "role", "category"),
    )
    columns = ["agent_id", "env", "role", "jobs"]
    op.create_index(op.f(f"ix_reputation_categories_{'_'.join(columns)}"), "reputation_categories", columns, unique=False)
    _make(
        "reputation_counterparties",
        *_texts("agent_id", "env", "role", "category", "counterparty"),
        *_numbers("version", "paid_minor", "third_party_minor", "free_jobs", "rating_sum", "rating_count"),
        key=("agent_id", "env", "role", "category", "counterparty"),
    )
    for words in (DEADLINES, UNMARKED):
        op.execute(words)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _make(name: str, *columns: sa.Column[str] | sa.Column[int], key: tuple[str, ...]) -> None:
    op.create_table(
        name,
        *columns,
        sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{name}")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
