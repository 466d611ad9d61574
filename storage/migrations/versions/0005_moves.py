"""Deliveries by revision, listings priced per unit, and a seller's own listings by status."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_deliveries",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("output_bytes", sa.BigInteger(), nullable=False),
        sa.Column("output_preview", sa.Text(), nullable=True),
        sa.Column("content_warnings", sa.Text(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "revision", name=op.f("pk_job_deliveries")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.execute(
        "INSERT INTO job_deliveries SELECT id, 0, output, output_bytes, output_preview, content_warnings, delivered_at "
        "FROM jobs WHERE output IS NOT NULL"
    )
    for name in ("unit_basis", "unit_basis_note"):
        op.add_column("listings", sa.Column(name, sa.Text(), nullable=True))
    op.drop_index(op.f("ix_listings_seller_id_env_status"), "listings")
    for names in (("seller_id", "env", "status", "id"), ("seller_id", "env", "id")):
        op.create_index(op.f(f"ix_listings_{'_'.join(names)}"), "listings", list(names), unique=False)
