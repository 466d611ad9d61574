"""A webhook of a task remembers what it was sent, and memory counts among what an agent stores."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

COUNT_MEMORY = """
INSERT INTO agent_storage (agent_id, env, used)
SELECT agent_id, env, CAST(SUM(size) AS BIGINT) FROM memories WHERE TRUE GROUP BY agent_id, env
ON CONFLICT (agent_id, env) DO UPDATE SET used = agent_storage.used + excluded.used
"""


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("sent", sa.Text(), nullable=True))
    op.execute(COUNT_MEMORY)
