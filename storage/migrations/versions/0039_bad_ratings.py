"""A bad rating of a paid job keeps counting, with its weight, when the payment is sent back."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

# As in 0015: the market counts them again when it starts, or the doctor.
UNMARKED = """
INSERT INTO unmarked_jobs (job_id)
SELECT id FROM jobs WHERE status IN ('completed', 'resolved')
    AND id IN (SELECT job_id FROM settlements WHERE kind = 'refund')
    AND id NOT IN (SELECT job_id FROM unmarked_jobs)
"""


def upgrade() -> None:
    op.add_column("job_results", sa.Column("against", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column(
        "reputation_counterparties", sa.Column("returned_minor", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.execute(UNMARKED)
