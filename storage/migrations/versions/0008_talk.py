"""Threads that count their messages, whom a job waits for, open refunds, memory, schedules."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# What is there so far are notes of actions: nobody could read them yet, and they are no run that waits for an answer.
NUMBERS = """
UPDATE messages SET
    number = (SELECT count(*) FROM messages earlier
        WHERE earlier.thread_id = messages.thread_id AND earlier.id <= messages.id),
    from_a = (SELECT count(*) FROM messages earlier JOIN threads ON threads.id = earlier.thread_id
        WHERE earlier.thread_id = messages.thread_id AND earlier.id <= messages.id AND earlier.sender_id = threads.a),
    from_b = (SELECT count(*) FROM messages earlier JOIN threads ON threads.id = earlier.thread_id
        WHERE earlier.thread_id = messages.thread_id AND earlier.id <= messages.id AND earlier.sender_id = threads.b)
"""
COUNTS = """
UPDATE threads SET
    message_count = (SELECT count(*) FROM messages WHERE messages.thread_id = threads.id),
    from_a = (SELECT count(*) FROM messages WHERE messages.thread_id = threads.id AND messages.sender_id = threads.a),
    from_b = (SELECT count(*) FROM messages WHERE messages.thread_id = threads.id AND messages.sender_id = threads.b),
    last_message_at = (SELECT max(created_at) FROM messages WHERE messages.thread_id = threads.id),
    latest = substr(coalesce((SELECT max(messages.id) FROM messages WHERE messages.thread_id = threads.id), id), 5)
"""
UNREAD = "UPDATE threads SET unread_a = message_count - from_a, unread_b = message_count - from_b"
MAILBOXES = """
INSERT INTO mailboxes (agent_id, env, version, unread)
SELECT agent_id, env, 1, sum(unread) FROM (
    SELECT a AS agent_id, env, unread_a AS unread FROM threads
    UNION ALL SELECT b AS agent_id, env, unread_b AS unread FROM threads
) AS sides WHERE unread > 0 GROUP BY agent_id, env
"""
# What tools/jobs/attention.py makes of the facts; the step that says what is due looks again at each of them.
WAITS = """
UPDATE jobs SET
    waits_for = CASE WHEN status IN ('open', 'quote_requested', 'in_progress') THEN seller_id ELSE buyer_id END,
    act_by = CASE
        WHEN status IN ('open', 'quote_requested', 'quoted') THEN accept_by
        WHEN status = 'awaiting_payment' THEN pay_by
        WHEN status = 'in_progress' THEN deliver_by
        ELSE coalesce(review_by, pay_by) END
WHERE status IN ('open', 'quote_requested', 'quoted', 'awaiting_payment', 'in_progress', 'delivered')
"""
NOTICES = "UPDATE jobs SET notice_at = act_by - 60000000 WHERE act_by IS NOT NULL"
REFUNDS = """
INSERT INTO open_refunds (job_id, seller_id, env)
SELECT job.id, job.seller_id, job.env FROM jobs job WHERE EXISTS (
    SELECT 1 FROM settlements one WHERE one.job_id = job.id AND one.kind = 'payment' AND (
        one.status = 'orphaned'
        OR (one.status = 'partial' AND job.status IN ('completed', 'declined', 'cancelled', 'expired', 'resolved'))
        OR (one.status = 'settled' AND (coalesce(job.outcome, '') IN ('buyer', 'split') OR coalesce(job.closed_as, '')
            IN ('seller_failed', 'delivery_timeout', 'buyer_left_after_deadline')))))
"""
COUNTED = {
    "threads": ("message_count", "from_a", "from_b", "unread_a", "unread_b", "read_a", "read_b", "run"),
    "messages": ("number", "from_a", "from_b"),
}


def upgrade() -> None:
    _add_columns()
    _make_tables()
    for words in (NUMBERS, COUNTS, UNREAD, MAILBOXES, WAITS, NOTICES, REFUNDS):
        op.execute(words)
    _make_indexes()


def _add_columns() -> None:
    for table, names in COUNTED.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("threads", sa.Column("latest", sa.Text(), nullable=False, server_default=""))
    for name in ("bounty_id", "pair", "run_by"):
        op.add_column("threads", sa.Column(name, sa.Text(), nullable=True))
    for name in ("run_began_at", "run_last_at", "last_message_at"):
        op.add_column("threads", sa.Column(name, sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("waits_for", sa.Text(), nullable=True))
    for name in ("act_by", "notice_at", "overdue_told_for"):
        op.add_column("jobs", sa.Column(name, sa.BigInteger(), nullable=True))


def _make_tables() -> None:
    op.create_table(
        "mailboxes",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("unread", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "env", name=op.f("pk_mailboxes")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "open_refunds",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("seller_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_open_refunds")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "memories",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "key", name=op.f("pk_memories")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("interval_seconds", sa.BigInteger(), nullable=True),
        sa.Column("max_runs", sa.BigInteger(), nullable=True),
        sa.Column("run_count", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )


def _make_indexes() -> None:
    op.drop_index(op.f("ix_messages_thread_id_id"), "messages")
    op.create_index(op.f("ix_messages_thread_id_number"), "messages", ["thread_id", "number"], unique=True)
    op.create_index(op.f("ix_threads_pair"), "threads", ["pair"], unique=True)
    for side in ("a", "b"):
        op.drop_index(op.f(f"ix_threads_{side}"), "threads")
        op.create_index(op.f(f"ix_threads_{side}_env_kind_latest"), "threads", [side, "env", "kind", "latest"])
        some = sa.text(f"unread_{side} > 0")
        op.create_index(
            op.f(f"ix_threads_unread_{side}"),
            "threads",
            [side, "env", "latest"],
            sqlite_where=some,
            postgresql_where=some,
        )
    op.create_index(op.f("ix_jobs_waits_for_env_act_by_id"), "jobs", ["waits_for", "env", "act_by", "id"])
    op.create_index(op.f("ix_jobs_notice_at_id"), "jobs", ["notice_at", "id"])
    op.create_index(op.f("ix_open_refunds_seller_id_env_job_id"), "open_refunds", ["seller_id", "env", "job_id"])
    op.create_index(op.f("ix_memories_agent_id_expires_at"), "memories", ["agent_id", "expires_at"])
    op.create_index(op.f("ix_memories_expires_at"), "memories", ["expires_at"])
    op.create_index(op.f("ix_schedules_agent_id_env_id"), "schedules", ["agent_id", "env", "id"])
    op.create_index(op.f("ix_schedules_agent_id_env_status_id"), "schedules", ["agent_id", "env", "status", "id"])
    op.create_index(op.f("ix_schedules_status_next_at_id"), "schedules", ["status", "next_at", "id"])
