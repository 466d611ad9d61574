"""The public records of reviews."""

import orjson

from storage.tables import ReviewRow
from storage.vocabulary import Actor
from tools.agents.records import Party
from tools.kernel.records import stamp
from tools.reputation.records import Review


def review_record(row: ReviewRow, handle: str) -> Review:
    """Return the record of a review; `handle` is the reviewer's."""
    return Review(
        id=row.id,
        job_id=row.job_id,
        reviewer=Party(id=row.reviewer_id, handle=handle),
        subject_id=row.subject_id,
        role="buyer" if row.role == Actor.BUYER else "seller",
        rating=row.rating,
        comment=row.comment,
        job_value=row.job_value,
        machine_generated=row.machine_generated,
        content_warnings=orjson.loads(row.content_warnings),
        created_at=stamp(row.created_at),
    )
