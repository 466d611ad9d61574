"""What agents store is counted in bytes, and what nobody paid for can be deleted: inputs and outputs stand job by job."""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

KEPT_MICROSECONDS = 30 * 86_400 * 1_000_000
FORGETTABLE = sa.text("forget_at IS NOT NULL")

COPY_INPUTS = """
INSERT INTO job_texts (job_id, part, text)
SELECT j.id, 'input', d.text FROM jobs j JOIN documents d ON d.hash = j.input
"""
COPY_OUTPUTS = """
INSERT INTO job_texts (job_id, part, text)
SELECT o.job_id, 'output/' || CAST(o.revision AS TEXT), d.text FROM job_deliveries o JOIN documents d ON d.hash = o.output
"""
NAMED_STILL = """
SELECT input_schema AS hash FROM jobs UNION SELECT output_schema FROM jobs UNION SELECT preview_schema FROM jobs
UNION SELECT output_preview FROM jobs UNION SELECT output_preview FROM job_deliveries
UNION SELECT input_schema FROM listings UNION SELECT output_schema FROM listings
UNION SELECT input FROM bounties UNION SELECT job_input FROM bounties
UNION SELECT deliverable_schema FROM bounties UNION SELECT preview_schema FROM bounties
"""
DROP_COPIED = f"""
DELETE FROM documents WHERE NOT EXISTS (SELECT 1 FROM ({NAMED_STILL}) named WHERE named.hash = documents.hash)
"""  # noqa: S608 - made of the constants above
STAND_FOR = """
UPDATE jobs SET counted = FALSE WHERE id IN (
    SELECT job_id FROM settlements WHERE kind = 'payment' AND status = 'settled'
    GROUP BY job_id HAVING SUM(amount) >= 10000
)
"""
PAID = "SELECT 1 FROM settlements s WHERE s.job_id = jobs.id AND s.kind = 'payment' AND s.status = 'settled'"
FORGET = f"""
UPDATE jobs SET forget_at = updated_at + {KEPT_MICROSECONDS}
WHERE status IN ('completed', 'declined', 'cancelled', 'expired', 'resolved') AND NOT EXISTS ({PAID})
    AND ((output IS NULL AND deliver_by IS NULL) OR (output IS NOT NULL AND price > 0))
"""  # noqa: S608 - made of the constants above


def upgrade() -> None:
    _add_tables()
    _add_columns()
    for statement in (COPY_INPUTS, COPY_OUTPUTS, DROP_COPIED, STAND_FOR, FORGET):
        op.execute(statement)
    octets = "length(CAST({} AS BLOB))" if op.get_bind().dialect.name == "sqlite" else "octet_length({})"
    _store_bytes(octets.format)
    _count(octets.format)


def _add_tables() -> None:
    op.create_table(
        "agent_storage",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "env", name=op.f("pk_agent_storage")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "job_texts",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "part", name=op.f("pk_job_texts")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )


def _add_columns() -> None:
    op.add_column("jobs", sa.Column("counted", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("jobs", sa.Column("forget_at", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("forgotten_at", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_jobs_forget_at", "jobs", ["forget_at"], sqlite_where=FORGETTABLE, postgresql_where=FORGETTABLE
    )
    for table in ("listings", "bounties"):
        op.add_column(table, sa.Column("stored_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("answer_bodies", sa.Column("owner", sa.Text(), nullable=True))
    op.add_column("answer_bodies", sa.Column("env", sa.Text(), nullable=True))


def _store_bytes(octets: Callable[[str], str]) -> None:
    """The size of each listing and bounty: its words and the documents it names."""

    def size(words: tuple[str, ...], documents: tuple[str, ...]) -> str:
        parts = [f"COALESCE({octets(name)}, 0)" for name in words]
        parts += [
            f"COALESCE((SELECT {octets('d.text')} FROM documents d WHERE d.hash = {name}), 0)" for name in documents
        ]
        return " + ".join(parts)

    listing = size(
        ("title", "description", "acceptance", "example_input", "example_output"), ("input_schema", "output_schema")
    )
    bounty = size(
        ("title", "description", "acceptance"), ("bounties.input", "job_input", "deliverable_schema", "preview_schema")
    )
    op.execute(f"UPDATE listings SET stored_bytes = {listing}")  # noqa: S608 - made of constants
    op.execute(f"UPDATE bounties SET stored_bytes = {bounty}")  # noqa: S608 - made of constants


def _count(octets: Callable[[str], str]) -> None:
    """The counters, from every row that counts. Kept answers of before count against nobody: they go within a day."""
    said = f"{octets('m.body')} + COALESCE({octets('m.data')}, 0)"
    planned = f"{octets('payload')} + COALESCE({octets('name')}, 0)"
    rows = (
        f"SELECT j.buyer_id AS agent_id, j.env AS env, {octets('t.text')} AS bytes FROM jobs j "
        "JOIN job_texts t ON t.job_id = j.id WHERE j.counted AND t.part = 'input'",
        f"SELECT j.seller_id, j.env, {octets('t.text')} FROM jobs j "
        "JOIN job_texts t ON t.job_id = j.id WHERE j.counted AND t.part <> 'input'",
        f"SELECT m.sender_id, h.env, {said} FROM messages m JOIN threads h ON h.id = m.thread_id "
        "LEFT JOIN jobs j ON j.id = h.job_id WHERE m.sender_id IS NOT NULL AND (j.id IS NULL OR j.counted)",
        "SELECT seller_id, env, stored_bytes FROM listings",
        f"SELECT l.seller_id, l.env, {octets('p.promised')} FROM listing_promises p JOIN listings l ON l.id = p.listing_id",
        "SELECT buyer_id, env, stored_bytes FROM bounties",
        f"SELECT seller_id, env, COALESCE({octets('message')}, 0) FROM proposals",
        f"SELECT agent_id, env, {planned} FROM schedules",
        f"SELECT agent_id, env, {octets('data')} FROM events WHERE kind = 'schedule.fired'",
    )
    every = " UNION ALL ".join(rows)
    op.execute(
        "INSERT INTO agent_storage (agent_id, env, used) "  # noqa: S608 - made of constants
        f"SELECT agent_id, env, CAST(SUM(bytes) AS BIGINT) FROM ({every}) counted GROUP BY agent_id, env"
    )
