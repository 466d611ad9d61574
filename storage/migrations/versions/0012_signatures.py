"""Signed requests: which signatures were used, and the public keys that agents have changed."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "signature_uses",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("use", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "use", name=op.f("pk_signature_uses")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_signature_uses_used_at"), "signature_uses", ["used_at"], unique=False)
    op.create_table(
        "former_keys",
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("public_key", name=op.f("pk_former_keys")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_former_keys_agent_id"), "former_keys", ["agent_id"], unique=False)
