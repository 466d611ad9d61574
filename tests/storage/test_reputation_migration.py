"""Revisions 0015 and 0020: each delivery gets its deadline, and counted jobs are queued for recounting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.support.earlier_revisions import at_revision

SECOND, BEGAN = 1_000_000, 1_795_000_000_000_000  # microseconds
TURNAROUND = 60
JOBS = {  # status, payment, revisions, the deadline in the job
    "job_open": ("open", "on_delivery", 0, None),
    "job_done": ("completed", "on_delivery", 2, 500),
    "job_first": ("expired", "upfront", 1, 400),
    "job_stray": ("in_progress", "on_delivery", 0, 60),
}
DELIVERIES = {  # job, revision: time of delivery, and its deadline
    ("job_done", 0): (70, 60),  # accepted at 0
    ("job_done", 1): (150, 160),  # requested at 100
    ("job_done", 2): (450, 500),  # from the job
    ("job_first", 0): (80, 90),  # paid at 30
    ("job_first", 1): (None, None),
}


def at(seconds: int | None) -> int | None:
    return None if seconds is None else BEGAN + seconds * SECOND


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for job_id, (status, payment, revisions, deadline) in JOBS.items():
        yield (
            "jobs",
            job(
                job_id,
                status=status,
                payment=payment,
                revision_count=revisions,
                accepted_at=BEGAN,
                deliver_by=at(deadline),
            ),
        )
    for (job_id, revision), (delivered, _) in DELIVERIES.items():
        if delivered is not None:
            yield "job_deliveries", {
                "job_id": job_id, "revision": revision, "output": "x", "output_bytes": 1, "content_warnings": "[]",
                "delivered_at": at(delivered),
            }  # fmt: skip
    for seconds in (100, 440):
        yield "job_events", {"job_id": "job_done", "type": "revision_requested", "created_at": at(seconds)}
    for job_id, status, settled in (("job_first", "settled", 30), ("job_stray", "orphaned", None)):
        yield "settlements", paid(job_id, status, settled)


def job(job_id: str, **columns: Any) -> dict[str, Any]:
    return {
        "id": job_id, "version": 1, "env": "test", "buyer_id": "agt_b", "seller_id": "agt_s", "thread_id": job_id,
        "title": "T", "category": "text", "pricing_model": "fixed", "units": 1, "price": 5,
        "turnaround_seconds": TURNAROUND, "accept_timeout_seconds": 60, "max_revisions": 2, "first_party": False,
        "input": "x", "content_warnings": "[]", "panel_seed": b"x", "created_at": BEGAN, "updated_at": BEGAN,
    } | columns  # fmt: skip


def paid(job_id: str, status: str, settled: int | None) -> dict[str, Any]:
    return {
        "id": f"stl_{job_id}", "version": 1, "env": "test", "job_id": job_id, "kind": "payment", "status": status,
        "payer_agent_id": "agt_b", "payee_agent_id": "agt_s", "payer_address": "0x1", "pay_to": "0x2", "amount": 5,
        "expected_amount": 5, "network": "eip155:84532", "asset": "0x3", "tx_hash": job_id, "block_number": 1,
        "block_hash": "0x4", "block_time": BEGAN, "settled_at": at(settled), "created_at": BEGAN,
    }  # fmt: skip


@pytest.fixture
def earlier(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SQLite | Postgres]:
    """A database of revision 0011 with jobs of several statuses."""
    with at_revision("0011", rows(), database, tmp_path, request) as opened:
        yield opened


def test_deliveries_get_the_deadline_they_had_and_ended_jobs_wait_to_be_counted(earlier: SQLite | Postgres) -> None:
    upgrade(earlier)
    with earlier.engine.connect() as connection:
        found = connection.execute(text("SELECT job_id, revision, deliver_by FROM job_deliveries")).all()
        assert {(job, revision): deadline for job, revision, deadline in found} == {
            key: at(deadline) for key, (delivered, deadline) in DELIVERIES.items() if delivered is not None
        }
        waiting = connection.execute(text("SELECT job_id FROM unmarked_jobs ORDER BY job_id")).scalars().all()
    assert waiting == ["job_done", "job_first", "job_stray"]


def counted_before() -> Iterator[tuple[str, dict[str, Any]]]:
    ended = {"status": "completed", "payment": "on_delivery", "revision_count": 0}
    for job_id, disputed in (("job_free", None), ("job_paid", None), ("job_fought", "dsp_1"), ("job_waits", "dsp_2")):
        yield "jobs", job(job_id, **ended, dispute_id=disputed)
    yield "settlements", paid("job_paid", "settled", 1)
    yield "unmarked_jobs", {"job_id": "job_waits"}


def test_jobs_that_were_paid_or_disputed_wait_to_be_counted_by_the_rules_of_today(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0018", counted_before(), database, tmp_path, request) as opened:
        upgrade(opened)
        with opened.engine.connect() as connection:
            waiting = connection.execute(text("SELECT job_id FROM unmarked_jobs ORDER BY job_id")).scalars().all()
    assert waiting == ["job_fought", "job_paid", "job_waits"]
