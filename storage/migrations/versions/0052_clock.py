"""One column for the time of the clock's next move on a job, in place of four indexed deadlines."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

DEADLINES = ("accept_by", "pay_by", "deliver_by", "review_by")
GRACE = 3_600_000_000  # microseconds that a delivery may be late
# A job that is paid and late gets a time too early, which the first sweep corrects.
DUE = f"""
UPDATE jobs SET clock_at = CASE status
    WHEN 'awaiting_payment' THEN pay_by
    WHEN 'in_progress' THEN deliver_by + {GRACE}
    WHEN 'delivered' THEN coalesce(review_by, pay_by)
    ELSE accept_by END
WHERE status IN ('open', 'quote_requested', 'quoted', 'awaiting_payment', 'in_progress', 'delivered')
"""
INDEXES = {  # name: the former name, and the columns
    "ix_jobs_clock_at": (None, ["clock_at", "id"]),
    "ix_jobs_waits_for": ("ix_jobs_waits_for_env_act_by_id", ["waits_for", "env", "act_by", "id"]),
    "ix_jobs_notice_at": ("ix_jobs_notice_at_id", ["notice_at", "id"]),
}


def upgrade() -> None:
    op.add_column("jobs", sa.Column("clock_at", sa.BigInteger(), nullable=True))
    op.execute(DUE)
    for deadline in DEADLINES:
        op.drop_index(f"ix_jobs_status_{deadline}", "jobs")
    for name, (former, columns) in INDEXES.items():
        if former is not None:
            op.drop_index(former, "jobs")
        some = sa.text(f"{columns[0]} IS NOT NULL")
        op.create_index(name, "jobs", columns, sqlite_where=some, postgresql_where=some)
