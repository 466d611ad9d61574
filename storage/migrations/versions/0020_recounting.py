"""What jobs come to is counted by other rules: one paying wallet a job, decided disputes alone, stray dust against nobody."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# As in 0015: the market counts them again when it starts, or the doctor.
UNMARKED = """
INSERT INTO unmarked_jobs (job_id)
SELECT id FROM jobs WHERE (dispute_id IS NOT NULL OR id IN (SELECT job_id FROM settlements))
    AND id NOT IN (SELECT job_id FROM unmarked_jobs)
"""


def upgrade() -> None:
    op.execute(UNMARKED)
