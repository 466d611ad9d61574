"""The full-text indexes of search, written by hand: Alembic knows neither FTS5 nor generated tsvectors."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# One table for each order, its rowid the sort key: MATCH … ORDER BY rowid DESC LIMIT n stops early.
# Tokens come ready made, parted by spaces; everything else that can be printed belongs to a token.
FTS5 = """
CREATE VIRTUAL TABLE {name} USING fts5(
    tokens, content='', detail=none, columnsize=0,
    tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{{|}}~""'''"
)
"""
# No statistics: the plans do not depend on them, and planning with many lexemes takes longer than searching.
# Tokens are kept outside the row, so that what is found seldom reads few pages.
POSTGRESQL = """
ALTER TABLE listing_search ADD COLUMN terms tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(tokens, ' '))) STORED;
ALTER TABLE listing_search ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE listing_search ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE listing_search ALTER COLUMN tokens SET STATISTICS 0;
ALTER TABLE listing_search SET (toast_tuple_target = 128);
CREATE INDEX ix_listing_search_terms ON listing_search USING gin (terms) WITH (fastupdate = off);
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name in ("search_rank", "search_newest", "search_cheapest"):
            op.execute(FTS5.format(name=name))
        return
    op.execute(POSTGRESQL)
