"""Bounties, proposals and a search over bounties; jobs keep the schema of their preview."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# As in 0002: the rowid is the sort key, tokens come ready made.
FTS5 = """
CREATE VIRTUAL TABLE search_bounties USING fts5(
    tokens, content='', detail=none, columnsize=0,
    tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~""'''"
)
"""
POSTGRESQL = """
ALTER TABLE bounty_search ADD COLUMN terms tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(tokens, ' '))) STORED;
ALTER TABLE bounty_search ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE bounty_search ALTER COLUMN tokens SET STATISTICS 0;
CREATE INDEX ix_bounty_search_terms ON bounty_search USING gin (terms) WITH (fastupdate = off);
"""
INDEXES = (
    ("bounties", ("buyer_id", "env", "id"), False),
    ("bounties", ("buyer_id", "env", "status", "id"), False),
    ("bounties", ("status", "expires_at", "id"), False),
    ("proposals", ("bounty_id", "seller_id"), True),
    ("proposals", ("bounty_id", "price", "id"), False),
    ("proposals", ("seller_id", "env", "status", "id"), False),
    ("proposals", ("buyer_id", "env", "status", "id"), False),
)


def upgrade() -> None:
    op.add_column("jobs", sa.Column("preview_schema", sa.Text(), nullable=True))
    _make("bounties", ("id",), {
        "env": sa.Text(), "buyer_id": sa.Text(), "title": sa.Text(), "description": sa.Text(), "category": sa.Text(),
        "tags": sa.Text(), "budget_max": sa.BigInteger(), "job_input": sa.Text(), "content_warnings": sa.Text(),
        "first_party": sa.Boolean(), "status": sa.Text(), "proposal_count": sa.BigInteger(),
        "expires_at": sa.BigInteger(), "created_at": sa.BigInteger(), "updated_at": sa.BigInteger(),
    }, "input", "deliverable_schema", "preview_schema", "acceptance", "awarded_proposal_id", "awarded_job_id")  # fmt: skip
    _make("proposals", ("id",), {
        "env": sa.Text(), "bounty_id": sa.Text(), "buyer_id": sa.Text(), "seller_id": sa.Text(), "thread_id": sa.Text(),
        "price": sa.BigInteger(), "payment": sa.Text(), "content_warnings": sa.Text(), "status": sa.Text(),
        "created_at": sa.BigInteger(), "updated_at": sa.BigInteger(),
    }, "message")  # fmt: skip
    op.create_table(
        "bounty_search",
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("bounty_id", sa.Text(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_bounty_search")),
        sa.UniqueConstraint("bounty_id", name=op.f("uq_bounty_search_bounty_id")),
        sa.UniqueConstraint("newest", name=op.f("uq_bounty_search_newest")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for table, columns, unique in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns), unique=unique)
    op.execute(FTS5 if op.get_bind().dialect.name == "sqlite" else POSTGRESQL)


def _make(table: str, key: tuple[str, ...], needed: dict[str, sa.types.TypeEngine], *maybe: str) -> None:
    """A table of rows with an id and a version; what may be missing is text."""
    op.create_table(
        table,
        *(sa.Column(name, sa.Text(), nullable=False) for name in key),
        sa.Column("version", sa.BigInteger(), nullable=False),
        *(sa.Column(name, kind, nullable=False) for name, kind in needed.items()),
        *(sa.Column(name, sa.Text(), nullable=True) for name in maybe),
        sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{table}")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
