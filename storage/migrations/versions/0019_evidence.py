"""What a case is judged by, as it was: what listings promised, and what agents were called and since when."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

CASES = "SELECT buyer_id, seller_id, names FROM disputes WHERE names <> '{}'"


def upgrade() -> None:
    op.create_table(
        "listing_promises",
        sa.Column("listing_id", sa.Text(), nullable=False),
        sa.Column("listing_version", sa.BigInteger(), nullable=False),
        sa.Column("promised", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("listing_id", "listing_version", name=op.f("pk_listing_promises")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.add_column("agents", sa.Column("known_as", sa.Text(), nullable=False, server_default="[]"))
    _keep_names()
    op.drop_column("disputes", "names")


def _keep_names() -> None:
    """What a case kept of its parties' names, now stands with the agents: names, and words with a dot, their places."""
    connection = op.get_bind()
    called: dict[str, set[tuple[str, bool]]] = {}
    for buyer, seller, names in connection.execute(sa.text(CASES)):
        kept: dict[str, Any] = json.loads(names)
        for agent, side in ((buyer, kept.get("buyer", {})), (seller, kept.get("seller", {}))):
            found = called.setdefault(agent, set())
            found |= {(name, False) for name in side.get("names", [])}
            found |= {(word, True) for word in side.get("words", []) if "." in word}
    for agent, words in called.items():
        row = connection.execute(sa.text("SELECT created_at FROM agents WHERE id = :id"), {"id": agent}).one()
        since = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row[0])).isoformat()
        known = json.dumps([[text, place, since] for text, place in sorted(words)], ensure_ascii=False)
        connection.execute(sa.text("UPDATE agents SET known_as = :known WHERE id = :id"), {"known": known, "id": agent})
