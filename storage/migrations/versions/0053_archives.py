"""Archives: the files that hold texts of ended jobs, and the jobs in each."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "archives",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("jobs", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_archives")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "archived_jobs",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("archive", sa.Text(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_archived_jobs")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_archived_jobs_archive"), "archived_jobs", ["archive"], unique=False)
