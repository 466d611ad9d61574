"""Every delivery gets a salt and a commitment, and events forget the hash of an output that is still sealed."""

import json
from collections.abc import Iterator
from hashlib import sha256
from secrets import token_bytes
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

BATCH = 200
PAID = "SELECT 1 FROM settlements s WHERE s.job_id = j.id AND s.kind = 'payment' AND s.status = 'settled'"
DELIVERIES = f"""
SELECT d.job_id, d.revision, x.text FROM job_deliveries d LEFT JOIN documents x ON x.hash = d.output
WHERE (d.job_id > :job_id OR (d.job_id = :job_id AND d.revision > :revision))
ORDER BY d.job_id, d.revision LIMIT {BATCH}
"""
TOLD = {  # where what was said of a delivery is kept, and how it is found
    "job_events": "SELECT id, job_id, data FROM job_events WHERE type = 'delivered' AND id > :id ORDER BY id LIMIT :most",
    "events": "SELECT id, NULL, data FROM events WHERE kind = 'job.delivered' AND id > :id ORDER BY id LIMIT :most",
}
COMMITTED = f"""
SELECT d.output_commitment, d.output_salt, j.price > 0 AND NOT EXISTS ({PAID}) AS sealed
FROM job_deliveries d JOIN jobs j ON j.id = d.job_id WHERE d.job_id = :job_id AND d.output = :output LIMIT 1
"""


def upgrade() -> None:
    op.add_column("job_deliveries", sa.Column("output_salt", sa.Text(), nullable=False, server_default=""))
    op.add_column("job_deliveries", sa.Column("output_commitment", sa.Text(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("output_salt", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("output_commitment", sa.Text(), nullable=True))
    _commit_to_deliveries()
    for table in TOLD:
        _mend_what_was_told(table)


def _commit_to_deliveries() -> None:
    """Write a salt and a commitment to each delivery; the newest of a job stands in the job too."""
    for row in _deliveries():
        salt = token_bytes(32)
        committed = "sha256:" + sha256(salt + (row.text or "").encode()).hexdigest()
        made = {"salt": salt.hex(), "committed": committed, "job_id": row.job_id, "revision": row.revision}
        where = "SET output_salt = :salt, output_commitment = :committed WHERE"
        _run(f"UPDATE job_deliveries {where} job_id = :job_id AND revision = :revision", made)
        made.pop("revision")
        _run(f"UPDATE jobs {where} id = :job_id", made)  # in the order of revisions: the last one stays


def _deliveries() -> Iterator[Any]:
    place = {"job_id": "", "revision": -1}
    while found := op.get_bind().execute(sa.text(DELIVERIES), place).all():
        yield from found
        place = {"job_id": found[-1].job_id, "revision": found[-1].revision}


def _mend_what_was_told(table: str) -> None:
    """Say the commitment in each event of a delivery, and its hash only if the output can be read."""
    last = 0
    while found := op.get_bind().execute(sa.text(TOLD[table]), {"id": last, "most": BATCH}).all():
        for number, job_id, text in found:
            data = json.loads(text or "{}")
            of = {"job_id": job_id or data.get("job_id"), "output": data.get("output_hash")}
            row = op.get_bind().execute(sa.text(COMMITTED), of).one_or_none()
            if row is not None:
                hidden = {"output_hash": None, "output_salt": None}
                data |= {"output_commitment": row.output_commitment, "output_salt": row.output_salt}
                data |= hidden if row.sealed else {}
                told = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                _run(f"UPDATE {table} SET data = :told WHERE id = :id", {"told": told, "id": number})
        last = found[-1][0]


def _run(sql: str, values: dict[str, Any]) -> None:
    op.get_bind().execute(sa.text(sql), values)
