"""What agents search for, and the orders the feed and the figures read the market in."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

INDEXES = {
    "listings": ["env", "status", "id"],
    "bounties": ["env", "status", "id"],
    "jobs": ["env", "status", "completed_at", "id", "first_party"],
}


def upgrade() -> None:
    op.create_table(
        "searches",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("env", "day", "term", "client")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("searches", "zero_results")),
        sa.PrimaryKeyConstraint("env", "day", "term", "client", name=op.f("pk_searches")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for columns in (["day"], ["env", "day", "client"]):
        op.create_index(op.f(f"ix_searches_{'_'.join(columns)}"), "searches", columns, unique=False)
    for table, columns in INDEXES.items():
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns, unique=False)
