"""The counts of the market by day, made once from the rows that are there; and an index of purchases by status."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

# Times are microseconds. The counts are those of tools/jobs/daily_counts.py.
DONE = "j.status IN ('completed', 'resolved') AND coalesce(j.outcome, '') <> 'buyer' AND j.completed_at IS NOT NULL"
OF_JOB = "SELECT sum(s.amount) FROM settlements s WHERE s.job_id = j.id AND"
SETTLED = f"coalesce(({OF_JOB} s.kind = 'payment' AND s.status = 'settled'), 0)"
STRAY = f"coalesce(({OF_JOB} s.kind = 'payment' AND s.status <> 'settled'), 0)"
REFUNDED = f"coalesce(({OF_JOB} s.kind = 'refund'), 0)"
BACK = f"CASE WHEN {REFUNDED} > {STRAY} THEN {REFUNDED} - {STRAY} ELSE 0 END"
NET = f"CASE WHEN {SETTLED} > {BACK} THEN {SETTLED} - {BACK} ELSE 0 END"
PAID = f"({OF_JOB} s.kind = 'payment' AND s.status = 'settled') IS NOT NULL"
UNPAID = "((j.status = 'expired' AND j.closed_as = 'payment_timeout') OR j.closed_as = 'buyer_walked_away')"
RESULT = "CASE WHEN d.status <> 'resolved' THEN 'open' ELSE coalesce(d.outcome, 'withdrawn') END"


def _seconds(since: str, until: str) -> str:
    """Round a duration down to its first four binary digits."""
    seconds = f"(({until} - {since}) / 1000000)"
    steps = " ".join(f"WHEN {seconds} < {16 << bits} THEN {seconds} / {1 << bits} * {1 << bits}" for bits in range(1, 28))
    longest = 1 << 28
    return f"CASE WHEN {seconds} < 0 THEN 0 WHEN {seconds} < 16 THEN {seconds} {steps} ELSE {seconds} / {longest} * {longest} END"


# name, day, at, number, rows
COUNTS = (
    ("'created'", "j.created_at", "0", "1", "jobs j"),
    ("'status.' || j.status", "j.created_at", "0", "1", "jobs j"),
    ("'to_accept'", "j.accepted_at", _seconds("j.created_at", "j.accepted_at"), "1",
     "jobs j WHERE j.accepted_at > j.created_at"),
    ("'to_deliver'", "j.delivered_at", _seconds("j.accepted_at", "j.delivered_at"), "1",
     "jobs j WHERE j.accepted_at IS NOT NULL AND j.delivered_at IS NOT NULL"),
    ("'paid'", "j.delivered_at", "0", "1", f"jobs j WHERE j.delivered_at IS NOT NULL AND {PAID}"),
    ("'unpaid'", "j.delivered_at", "0", "1", f"jobs j WHERE j.delivered_at IS NOT NULL AND {UNPAID}"),
    ("'completed'", "j.completed_at", "0", "1", f"jobs j WHERE {DONE}"),
    ("'volume'", "j.completed_at", "0", NET, f"jobs j WHERE {DONE}"),
    ("'own_completed'", "j.completed_at", "0", "1", f"jobs j WHERE {DONE} AND j.first_party"),
    ("'own_volume'", "j.completed_at", "0", NET, f"jobs j WHERE {DONE} AND j.first_party"),
    ("'payments'", "p.created_at", "0", "1", "settlements p WHERE p.kind = 'payment'"),
    (f"'dispute.' || {RESULT}", "d.created_at", "0", "1", "disputes d"),
    ("'to_verdict'", "d.created_at", _seconds("d.created_at", "d.resolved_at"), "1",
     "disputes d WHERE d.outcome IS NOT NULL AND d.resolved_at IS NOT NULL"),
)  # fmt: skip


def upgrade() -> None:
    op.create_index(
        op.f("ix_purchases_status_created_at_env"), "purchases", ["status", "created_at", "env"], unique=False
    )
    op.create_table(
        "daily_counts",
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("env", "name", "day", "at", name=op.f("pk_daily_counts")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    for statement in fill():
        op.execute(statement)


def fill() -> Iterator[str]:
    """Yield the statements that make each count from the rows."""
    for name, moment, at, number, rows in COUNTS:
        env = f"{moment.partition('.')[0]}.env"
        found = f"SELECT {env} AS env, {name} AS name, {moment} / 86400000000 AS day, {at} AS at, {number} AS number FROM {rows}"
        yield (
            "INSERT INTO daily_counts (env, name, day, at, number) "  # noqa: S608 - made of the constants above
            f"SELECT env, name, day, at, CAST(sum(number) AS BIGINT) FROM ({found}) c GROUP BY env, name, day, at"
        )
