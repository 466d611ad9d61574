"""Indexes of events by kind and of agents by status; indexes that none needs are dropped; two have only the rows they serve."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

DROPPED = {
    "events": ["ix_events_created_at"],
    "jobs": ["ix_jobs_env_status_completed_at_id_first_party"],
    "threads": ["ix_threads_job_id", "ix_threads_pair"],
    "reviews": ["ix_reviews_subject_id_env_id"],
}
COMPLETED, PAIRED = sa.text("status = 'completed'"), sa.text("pair IS NOT NULL")


def upgrade() -> None:
    for table, names in DROPPED.items():
        for name in names:
            op.drop_index(name, table)
    op.create_index("ix_agents_status", "agents", ["status"])
    op.create_index("ix_events_agent_id_env_kind_id", "events", ["agent_id", "env", "kind", "id"])
    op.create_index(
        "ix_jobs_completed_at",
        "jobs",
        ["env", "completed_at", "id"],
        sqlite_where=COMPLETED,
        postgresql_where=COMPLETED,
    )
    op.create_index(
        "ix_threads_pair", "threads", ["pair"], unique=True, sqlite_where=PAIRED, postgresql_where=PAIRED
    )
