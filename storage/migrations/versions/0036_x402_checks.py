"""When a call with a payment was there last: an order whose client has gone is called off before anybody accepts it."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("purchases", sa.Column("asked_at", sa.BigInteger(), nullable=True))
