"""Outputs count against the buyer of their job, and a payment that was refunded stands for no room."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

SETTLED = "s.kind = 'payment' AND s.status = 'settled'"
REFUNDED = "s.kind = 'refund'"
STRAY = "s.kind = 'payment' AND s.status = 'orphaned'"


def upgrade() -> None:
    octets = "length(CAST({} AS BLOB))" if op.get_bind().dialect.name == "sqlite" else "octet_length({})"
    text, body, data = (octets.format(name) for name in ("t.text", "m.body", "m.data"))
    output = f"({text} + 1023) / 1024 * 1024"  # whole kilobytes
    texts = "jobs j JOIN job_texts t ON t.job_id = j.id"
    given_back = f"NOT j.counted AND {_is_given_back('j.id')}"
    rows = (
        f"SELECT j.seller_id AS agent_id, j.env AS env, -{text} AS bytes FROM {texts} "
        "WHERE j.counted AND t.part <> 'input'",
        f"SELECT j.buyer_id, j.env, {output} FROM {texts} WHERE j.counted AND t.part <> 'input'",
        f"SELECT j.buyer_id, j.env, CASE t.part WHEN 'input' THEN {text} ELSE {output} END FROM {texts} WHERE {given_back}",
        f"SELECT m.sender_id, j.env, {body} + COALESCE({data}, 0) FROM jobs j "
        f"JOIN messages m ON m.thread_id = j.thread_id WHERE m.sender_id IS NOT NULL AND {given_back}",
    )
    op.execute(
        "INSERT INTO agent_storage (agent_id, env, used) "  # noqa: S608 - made of constants
        f"SELECT agent_id, env, CAST(SUM(bytes) AS BIGINT) FROM ({' UNION ALL '.join(rows)}) moved "
        "GROUP BY agent_id, env "
        "ON CONFLICT (agent_id, env) DO UPDATE SET used = agent_storage.used + excluded.used"
    )
    op.execute(sa.text(f"UPDATE jobs SET counted = TRUE WHERE NOT counted AND {_is_given_back('jobs.id')}"))


def _is_given_back(job_id: str) -> str:
    """Compare what the seller keeps with 0.01 USDC: refunds give back stray transfers first."""

    def total(which: str) -> str:
        found = f"SELECT SUM(s.amount) FROM settlements s WHERE s.job_id = {job_id} AND {which}"  # noqa: S608
        return f"COALESCE(({found}), 0)"

    settled, refunded, stray = total(SETTLED), total(REFUNDED), total(STRAY)
    over = f"{refunded} - {stray}"
    return f"{settled} - CASE WHEN {over} > 0 THEN {over} ELSE 0 END < 10000"
