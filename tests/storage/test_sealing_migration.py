"""Revision 0026: a salt for each delivery, and events without sealed outputs."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from tests.requirements import covers
from tests.storage.test_reputation_migration import BEGAN, job, paid
from tests.support.earlier_revisions import at_revision
from tools.jobs.sealing_rules import commitment

OUTPUTS = {"job_sealed": ['{"words":1}'], "job_paid": ['{"words":2}'], "job_free": ['"a"', '"b"']}
HASHES = {text: sha256(text.encode()).hexdigest() for texts in OUTPUTS.values() for text in texts}
MANY = 450  # more sealed jobs than one batch of the migration


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for words, hashed in HASHES.items():
        yield "documents", {"hash": hashed, "text": words}
    outputs = OUTPUTS | {f"job_{number:04}": ['{"words":1}'] for number in range(MANY)}
    for job_id, texts in outputs.items():
        last = {"output": HASHES[texts[-1]], "output_bytes": len(texts[-1])}
        price = 0 if job_id == "job_free" else 5
        yield "jobs", job(job_id, status="delivered", payment="on_delivery", revision_count=0, price=price, **last)
        for revision, words in enumerate(texts):
            yield "job_deliveries", {
                "job_id": job_id, "revision": revision, "output": HASHES[words], "output_bytes": len(words),
                "content_warnings": "[]", "delivered_at": BEGAN,
            }  # fmt: skip
            told = {"sealed": price > 0, "output_hash": HASHES[words]}
            yield "job_events", {"job_id": job_id, "type": "delivered", "data": json.dumps(told), "created_at": BEGAN}
            for agent in ("agt_b", "agt_s"):
                data = json.dumps({"job_id": job_id, "title": "Wörter", **told})
                event = {"agent_id": agent, "env": "test", "kind": "job.delivered", "data": data, "created_at": BEGAN}
                yield "events", event
    yield "events", {
        "agent_id": "agt_b", "env": "test", "kind": "job.created", "data": '{"job_id": "job_sealed"}', "created_at": BEGAN
    }  # fmt: skip
    yield "settlements", paid("job_paid", "settled", 1)


@covers("second.sealed.migration")
def test_every_delivery_gets_a_salt_and_events_forget_what_is_sealed(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0025", rows(), database, tmp_path, request) as opened:
        upgrade(opened)
        with opened.engine.connect() as connection:
            made = connection.execute(text("SELECT * FROM job_deliveries ORDER BY job_id, revision")).mappings().all()
            jobs = connection.execute(text("SELECT * FROM jobs")).mappings().all()
            told = connection.execute(text("SELECT data FROM events WHERE kind = 'job.delivered'")).scalars().all()
            audit = connection.execute(text("SELECT job_id, data FROM job_events")).all()
    words = {hashed: words for words, hashed in HASHES.items()}
    for row in made:
        assert row["output_commitment"] == commitment(row["output_salt"], words[row["output"]].encode())
    assert len({row["output_salt"] for row in made}) == len(made) == MANY + 4
    last = {row["job_id"]: row for row in made}
    for row in jobs:
        assert (row["output_salt"], row["output_commitment"]) == (
            last[row["id"]]["output_salt"],
            last[row["id"]]["output_commitment"],
        )
    commitments = {(row["job_id"], row["output"]): row["output_commitment"] for row in made}
    events = [json.loads(data) for data in told] + [{"job_id": job_id} | json.loads(data) for job_id, data in audit]
    assert len(events) == 3 * (MANY + 4)
    for event in events:
        hashed = event["output_hash"]
        assert (hashed is None) == (event["output_salt"] is None) == event["job_id"].startswith(("job_sealed", "job_0"))
        if hashed is not None:
            assert event["output_commitment"] == commitments[event["job_id"], hashed]
        else:
            assert event["output_commitment"] == last[event["job_id"]]["output_commitment"]
