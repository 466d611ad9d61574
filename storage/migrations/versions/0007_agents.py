"""Agents: handles held for good, a search over agents, those that left, reports to the operator; indexes for what they ask."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# As in 0002: the rowid is the sort key, tokens come ready made.
FTS5 = """
CREATE VIRTUAL TABLE search_agents USING fts5(
    tokens, content='', detail=none, columnsize=0,
    tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~""'''"
)
"""
POSTGRESQL = """
ALTER TABLE agent_search ADD COLUMN terms tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(tokens, ' '))) STORED;
ALTER TABLE agent_search ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE agent_search ALTER COLUMN tokens SET STATISTICS 0;
CREATE INDEX ix_agent_search_terms ON agent_search USING gin (terms) WITH (fastupdate = off);
"""
# Every agent keeps its handle and its place among the newest. Its tokens are made by the market when it starts (a worker's
# step): how words are cut is its rule, not the database's.
HELD = "INSERT INTO handles (handle, agent_id, taken_at) SELECT handle, id, created_at FROM agents"
PLACED = "INSERT INTO agent_search (agent_id) SELECT id FROM agents ORDER BY id"
UNINDEXED = "INSERT INTO unindexed_agents (agent_id) SELECT id FROM agents WHERE status = 'active'"
INDEXES = (
    ("reviews", ("subject_id", "env", "role", "id")),
)


def upgrade() -> None:
    op.create_table(
        "handles",
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("handle", name=op.f("pk_handles")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_handles_agent_id"), "handles", ["agent_id"], unique=False)
    op.create_table(
        "departures",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_departures")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_departures_due_at"), "departures", ["due_at"], unique=False)
    op.create_table(
        "agent_search",
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_agent_search")),
        sa.UniqueConstraint("agent_id", name=op.f("uq_agent_search_agent_id")),
        sa.UniqueConstraint("newest", name=op.f("uq_agent_search_newest")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "unindexed_agents",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_unindexed_agents")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "support_reports",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=True),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("references_json", sa.Text(), nullable=False),
        sa.Column("contact", sa.Text(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_support_reports")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for table, columns in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns), unique=False)
    op.execute(FTS5 if op.get_bind().dialect.name == "sqlite" else POSTGRESQL)
    for words in (HELD, PLACED, UNINDEXED):
        op.execute(words)
