"""Memory of each environment apart: what was kept for both stands in both."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

COLUMNS = "agent_id, key, version, size, expires_at, created_at, updated_at, value"


def upgrade() -> None:
    op.execute(f"CREATE TABLE memories_of_both AS SELECT {COLUMNS} FROM memories")
    op.drop_table("memories")
    op.create_table(
        "memories",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("key", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "env", "key", name=op.f("pk_memories")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for env in ("live", "test"):
        op.execute(f"INSERT INTO memories (env, {COLUMNS}) SELECT '{env}', {COLUMNS} FROM memories_of_both")  # noqa: S608
    op.drop_table("memories_of_both")
    op.create_index(op.f("ix_memories_agent_id_env_expires_at"), "memories", ["agent_id", "env", "expires_at"])
    op.create_index(op.f("ix_memories_expires_at"), "memories", ["expires_at"])
