"""Revision 0028 counts the bytes that agents stored before, and a later one those of memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.requirements import covers
from tests.support.earlier_revisions import at_revision

DAY, AT = 86_400_000_000, 1_795_000_000_000_000
JOBS = {  # status, price, deadline of the work, output, payment
    "job_never": ("cancelled", 5, None, None, 0),
    "job_sealed": ("cancelled", 5, AT, "out", 0),
    "job_paid": ("completed", 10_000, AT, "out", 10_000),
    "job_dust": ("completed", 9_999, AT, "out", 9_999),
    "job_back": ("completed", 10_000, AT, "out", 10_000),
    "job_stray": ("completed", 10_000, AT, "out", 10_000),
}
BACK = {"job_back": (("refund", "settled", 1),), "job_stray": (("payment", "orphaned", 9), ("refund", "settled", 9))}
INPUT, OUTPUT = '{"a":"ü"}', '{"words":8241}'


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, words in (("in", INPUT), ("out", OUTPUT), ("schema", "{}")):
        yield "documents", {"hash": name, "text": words}
    for number, (job_id, (status, price, deliver_by, output, paid)) in enumerate(JOBS.items()):
        yield "jobs", {
            "id": job_id, "version": 1, "env": "test", "buyer_id": "agt_buyer", "seller_id": "agt_seller",
            "thread_id": f"thr_{number}", "status": status, "title": "T", "category": "text", "pricing_model": "fixed",
            "payment": "on_delivery", "units": 1, "price": price, "turnaround_seconds": 60, "accept_timeout_seconds": 60,
            "max_revisions": 2, "revision_count": 0, "first_party": False, "input": "in", "input_schema": "schema",
            "content_warnings": "[]", "panel_seed": b"x", "deliver_by": deliver_by, "output": output,
            "output_bytes": output and len(OUTPUT), "created_at": AT, "updated_at": AT,
        }  # fmt: skip
        if output:
            yield "job_deliveries", {
                "job_id": job_id, "revision": 0, "output": output, "output_bytes": len(OUTPUT),
                "content_warnings": "[]", "delivered_at": AT,
            }  # fmt: skip
        moved = (("payment", "settled", paid),) if paid else ()
        for place, (kind, state, amount) in enumerate((*moved, *BACK.get(job_id, ()))):
            yield "settlements", {
                "id": f"stl_{number}_{place}", "version": 1, "env": "test", "job_id": job_id, "kind": kind,
                "status": state, "payer_agent_id": "agt_buyer", "payee_agent_id": "agt_seller",
                "payer_address": "0x1", "pay_to": "0x2", "amount": amount, "expected_amount": amount, "network": "n",
                "asset": "a", "tx_hash": f"0x{number}{place}", "block_number": 1, "block_hash": "0x",
                "block_time": AT, "settled_at": AT, "created_at": AT,
            }  # fmt: skip
        yield "threads", {
            "id": f"thr_{number}", "version": 1, "env": "test", "kind": "job", "job_id": job_id,
            "a": "agt_buyer", "b": "agt_seller", "created_at": AT,
        }  # fmt: skip
        yield "messages", {
            "id": f"msg_{number}", "thread_id": f"thr_{number}", "number": 1, "from_a": 0, "from_b": 1,
            "sender_id": "agt_seller", "body": "ü", "data": "1", "content_warnings": "[]", "created_at": AT,
        }  # fmt: skip
    yield "schedules", {
        "id": "sch_1", "version": 1, "agent_id": "agt_buyer", "env": "live", "status": "active", "run_count": 0,
        "payload": "12345", "created_at": AT,
    }  # fmt: skip
    yield "memories", {
        "agent_id": "agt_seller", "key": "k", "version": 1, "size": 7, "value": '"12345"', "created_at": AT,
        "updated_at": AT,
    }  # fmt: skip


@pytest.fixture
def earlier(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SQLite | Postgres]:
    """A database of the revision before sealing, with jobs of each end."""
    with at_revision("0025", rows(), database, tmp_path, request) as opened:
        yield opened


@covers("second.room.migrated")
def test_what_stood_before_is_counted_and_what_nobody_paid_for_has_its_time(earlier: SQLite | Postgres) -> None:
    upgrade(earlier)
    with earlier.engine.connect() as connection:
        found = connection.execute(text("SELECT agent_id, env, used FROM agent_storage ORDER BY agent_id, env")).all()
        kept = connection.execute(text("SELECT hash FROM documents ORDER BY hash")).scalars().all()
        texts = connection.execute(text("SELECT job_id, part FROM job_texts ORDER BY job_id, part")).all()
        counted = set(connection.execute(text("SELECT id FROM jobs WHERE counted")).scalars())
        due = {one.id: one.forget_at for one in connection.execute(text("SELECT id, forget_at FROM jobs"))}
    bought = 4 * len(INPUT.encode()) + 3 * 1024  # of the jobs without a valid payment; outputs count in kilobytes
    assert [tuple(one) for one in found] == [
        ("agt_buyer", "live", 5), ("agt_buyer", "test", bought), ("agt_seller", "live", 7),
        ("agt_seller", "test", 4 * 3 + 7),
    ]  # fmt: skip
    assert counted == {"job_never", "job_sealed", "job_dust", "job_back"}
    assert kept == ["schema"]
    assert len(texts) == len(JOBS) + 5
    assert due == dict.fromkeys(JOBS) | {"job_never": AT + 30 * DAY, "job_sealed": AT + 30 * DAY}
