"""Figures of listings as sums: what each closed job came to and what each wallet paid, so that none is read again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# What tools/listings/stats_rules.py makes of rows, once, for those that are there. Times are microseconds.
COMPLETED = "(job.status = 'completed' OR (job.status = 'resolved' AND coalesce(job.outcome, '') <> 'buyer'))"
FAILED = """(coalesce(job.outcome, '') = 'buyer'
    OR coalesce(job.closed_as, '') IN ('seller_failed', 'delivery_timeout', 'buyer_left_after_deadline'))"""
PAYER = """(SELECT lower(paid.payer_address) FROM settlements paid
    WHERE paid.job_id = job.id AND paid.kind = 'payment' AND paid.status = 'settled' ORDER BY paid.id DESC LIMIT 1)"""
SUM = "coalesce(sum(CASE WHEN {} THEN one.amount END), 0)"
PAID = SUM.format("one.kind = 'payment' AND one.status = 'settled'")
BACK = SUM.format("one.kind = 'refund'") + " - " + SUM.format("one.kind = 'payment' AND one.status <> 'settled'")
NET = f"(SELECT {PAID} - CASE WHEN {BACK} > 0 THEN {BACK} ELSE 0 END FROM settlements one WHERE one.job_id = job.id)"
RESULTS = f"""
INSERT INTO job_results (job_id, version, listing_id, completed, failed, paid_minor, payer, seconds)
SELECT job.id, 1, job.listing_id, {COMPLETED}, {FAILED},
    CASE WHEN {COMPLETED} AND {PAYER} IS NOT NULL THEN {NET} ELSE 0 END,
    CASE WHEN {COMPLETED} THEN {PAYER} END,
    CASE WHEN {COMPLETED} THEN (job.delivered_at - job.accepted_at) / 1000000 END
FROM jobs job
WHERE job.listing_id IS NOT NULL AND job.status IN ('completed', 'resolved', 'cancelled') AND ({COMPLETED} OR {FAILED})
"""
PAYERS = """
INSERT INTO listing_payers (listing_id, wallet, version, paid_minor)
SELECT listing_id, payer, 1, sum(paid_minor) FROM job_results WHERE payer IS NOT NULL GROUP BY listing_id, payer
"""
SUMS = """
UPDATE listings SET
    rating_sum = (SELECT coalesce(sum(rating), 0) FROM reviews
        WHERE reviews.listing_id = listings.id AND reviews.role = 'buyer'),
    timed_jobs = (SELECT count(seconds) FROM job_results WHERE job_results.listing_id = listings.id)
"""


def upgrade() -> None:
    for name in ("rating_sum", "timed_jobs"):
        op.add_column("listings", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "job_results",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("listing_id", sa.Text(), nullable=False),
        sa.Column("completed", sa.Boolean(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("paid_minor", sa.BigInteger(), nullable=False),
        sa.Column("payer", sa.Text(), nullable=True),
        sa.Column("seconds", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_job_results")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_job_results_listing_id_seconds"), "job_results", ["listing_id", "seconds"], unique=False)
    op.create_table(
        "listing_payers",
        sa.Column("listing_id", sa.Text(), nullable=False),
        sa.Column("wallet", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("paid_minor", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("listing_id", "wallet", name=op.f("pk_listing_payers")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for words in (RESULTS, PAYERS, SUMS):
        op.execute(words)
