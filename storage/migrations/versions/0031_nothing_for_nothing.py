"""Live jobs that were completed for less than 10000 minor units net add nothing favourable; a rating stands with its job's result."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

RATINGS = """
UPDATE job_results SET rating =
    (SELECT rating FROM reviews WHERE reviews.job_id = job_results.job_id AND reviews.role = 'buyer')
"""
STATS = """
UPDATE listings SET stats = substr(stats, 1, length(stats) - 1) || ',"unpaid_reviews"\\:0}' WHERE length(stats) > 2
"""
# As in 0015: the market counts them again when it starts, or the doctor.
UNMARKED = """
INSERT INTO unmarked_jobs (job_id)
SELECT id FROM jobs WHERE env = 'live' AND status IN ('completed', 'resolved')
    AND id NOT IN (SELECT job_id FROM unmarked_jobs)
"""


def upgrade() -> None:
    op.add_column("job_results", sa.Column("rating", sa.BigInteger(), nullable=True))
    for statement in (RATINGS, STATS, UNMARKED):
        op.execute(statement)
