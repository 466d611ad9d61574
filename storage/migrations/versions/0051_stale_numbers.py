"""PostgreSQL: the numbers of the notifications that drop cached rows, so that a listener knows if one is missing."""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE stale_numbers")
