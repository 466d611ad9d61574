"""Revision 0005 counts the messages of existing threads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.support.earlier_revisions import at_revision

HOUR, DUE = 3_600_000_000, 1_795_000_000_000_000  # microseconds
DEADLINES = ("accept_by", "pay_by", "deliver_by", "review_by")
JOBS = {  # status, closed_as, the set deadlines; the agent that must act, and its deadline
    "job_open": ("open", None, "accept_by", ("agt_seller", "accept_by")),
    "job_quoted": ("quoted", None, "accept_by", ("agt_buyer", "accept_by")),
    "job_working": ("in_progress", None, "accept_by deliver_by", ("agt_seller", "deliver_by")),
    "job_sealed": ("delivered", None, "accept_by deliver_by pay_by", ("agt_buyer", "pay_by")),
    "job_revealed": ("delivered", None, "accept_by deliver_by pay_by review_by", ("agt_buyer", "review_by")),
    "job_done": ("completed", "buyer_accepted", "accept_by review_by", (None, None)),
    "job_stray": ("completed", "buyer_accepted", "accept_by review_by", (None, None)),
    "job_part": ("expired", "payment_timeout", "accept_by pay_by", (None, None)),
    "job_failed": ("cancelled", "seller_failed", "accept_by deliver_by", (None, None)),
}
PAYMENTS = {"job_done": "settled", "job_stray": "orphaned", "job_part": "partial", "job_failed": "settled"}
SENDERS = ("agt_seller", "agt_buyer", "agt_seller")


@pytest.fixture
def earlier(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SQLite | Postgres]:
    """A database of the earlier revision, with jobs, payments and notes of actions."""
    with at_revision("0003", rows(), database, tmp_path, request) as opened:
        yield opened


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (job_id, (status, closed_as, deadlines, _)) in enumerate(JOBS.items()):
        given = {name: DUE + place * HOUR for place, name in enumerate(DEADLINES) if name in deadlines.split()}
        yield "jobs", {
            "id": job_id, "version": 1, "env": "test", "buyer_id": "agt_buyer", "seller_id": "agt_seller",
            "thread_id": f"thr_{number}", "status": status, "closed_as": closed_as, "title": "T", "category": "text",
            "pricing_model": "fixed", "payment": "on_delivery", "units": 1, "price": 5, "turnaround_seconds": 60,
            "accept_timeout_seconds": 60, "max_revisions": 2, "revision_count": 0, "first_party": False, "input": "x",
            "content_warnings": "[]", "panel_seed": b"x", "created_at": DUE, "updated_at": DUE, **given,
        }  # fmt: skip
        yield "threads", {
            "id": f"thr_{number}", "version": 1, "env": "test", "kind": "job", "job_id": job_id,
            "a": "agt_buyer", "b": "agt_seller", "created_at": DUE,
        }  # fmt: skip
        if job_id in PAYMENTS:
            yield "settlements", settlement(job_id, PAYMENTS[job_id])
    for number, sender in enumerate(SENDERS):
        yield "messages", {
            "id": f"msg_{9 - number}" if number == 2 else f"msg_{number}", "thread_id": "thr_0", "sender_id": sender,
            "body": f"Note {number}.", "content_warnings": "[]", "created_at": DUE + number,
        }  # fmt: skip


def settlement(job_id: str, status: str) -> dict[str, Any]:
    return {
        "id": f"stl_{job_id}", "version": 1, "env": "test", "job_id": job_id, "kind": "payment", "status": status,
        "payer_agent_id": "agt_buyer", "payee_agent_id": "agt_seller", "payer_address": "0x1", "pay_to": "0x2",
        "amount": 5, "expected_amount": 5, "network": "eip155:84532", "asset": "0x3", "tx_hash": job_id.lower(),
        "block_number": 1, "block_hash": "0x4", "block_time": DUE, "created_at": DUE,
    }  # fmt: skip


def test_threads_jobs_and_refunds_are_as_their_rows_say(earlier: SQLite | Postgres) -> None:
    upgrade(earlier)

    def read(query: str) -> list[dict[str, Any]]:
        with earlier.engine.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(text(query))]

    counts = "message_count, from_a, from_b, unread_a, unread_b, latest, last_message_at, run"
    assert read(f"SELECT {counts} FROM threads WHERE id = 'thr_0'") == [
        {
            "message_count": 3, "from_a": 1, "from_b": 2, "unread_a": 2, "unread_b": 1, "latest": "7",
            "last_message_at": DUE + 2, "run": 0,
        }
    ]  # fmt: skip
    assert read("SELECT message_count, latest FROM threads WHERE id = 'thr_4'") == [{"message_count": 0, "latest": "4"}]
    assert read("SELECT id, number, from_a, from_b FROM messages ORDER BY number") == [
        {"id": "msg_0", "number": 1, "from_a": 0, "from_b": 1},
        {"id": "msg_1", "number": 2, "from_a": 1, "from_b": 1},
        {"id": "msg_7", "number": 3, "from_a": 1, "from_b": 2},
    ]
    assert read("SELECT agent_id, env, unread FROM mailboxes ORDER BY agent_id") == [
        {"agent_id": "agt_buyer", "env": "test", "unread": 2},
        {"agent_id": "agt_seller", "env": "test", "unread": 1},
    ]
    found = {row["id"]: row for row in read("SELECT id, waits_for, act_by, notice_at, clock_at FROM jobs")}
    for job_id, (_, _, _, (agent, deadline)) in JOBS.items():
        act_by = None if deadline is None else DUE + DEADLINES.index(deadline) * HOUR
        notice_at = None if act_by is None else act_by - 60_000_000
        grace = HOUR if deadline == "deliver_by" else 0
        assert found[job_id] == {
            "id": job_id, "waits_for": agent, "act_by": act_by, "notice_at": notice_at,
            "clock_at": None if act_by is None else act_by + grace,
        }  # fmt: skip
    owing = read("SELECT job_id FROM open_refunds WHERE seller_id = 'agt_seller' AND env = 'test' ORDER BY job_id")
    assert [row["job_id"] for row in owing] == ["job_failed", "job_part", "job_stray"]
