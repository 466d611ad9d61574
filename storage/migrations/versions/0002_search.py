"""The search table and its full-text indexes, written by hand: Alembic knows neither FTS5 nor generated tsvectors."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# One table for each order, its rowid the sort key: MATCH … ORDER BY rowid LIMIT n stops after its page.
# Tokens come ready made, parted by spaces; everything else that can be printed belongs to a token.
FTS5 = """
CREATE VIRTUAL TABLE {name} USING fts5(
    tokens, content='', detail=none, columnsize=0,
    tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{{|}}~""'''"
)
"""
# No statistics: the plans do not depend on them, and planning with many lexemes takes longer than searching.
POSTGRESQL = """
ALTER TABLE listing_search ADD COLUMN terms tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(tokens, ' '))) STORED;
ALTER TABLE listing_search ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE listing_search ALTER COLUMN tokens SET STATISTICS 0;
CREATE INDEX ix_listing_search_terms ON listing_search USING gin (terms) WITH (fastupdate = off);
"""


def upgrade() -> None:
    op.create_table(
        "listing_search",
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("listing_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("seller_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=True),
        sa.Column("newest", sa.BigInteger(), nullable=True),
        sa.Column("cheapest", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_listing_search")),
        sa.UniqueConstraint("listing_id", name=op.f("uq_listing_search_listing_id")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for key in ("rank", "newest", "cheapest"):
        op.create_index(op.f(f"ix_listing_search_env_{key}"), "listing_search", ["env", key], unique=True)
    if op.get_bind().dialect.name == "sqlite":
        for key in ("rank", "newest", "cheapest"):
            op.execute(FTS5.format(name=f"search_{key}"))
        return
    op.execute(POSTGRESQL)
