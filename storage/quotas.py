"""Queries of the disk space that agents use: of one job, and of everything that counts against an agent."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, case, cast, delete, func, literal, or_, select
from sqlalchemy.orm import Mapped

from storage.byte_length import octets
from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import (
    BountyRow,
    EventRow,
    JobRow,
    JobTextRow,
    ListingRow,
    ListingTermsRow,
    MemoryRow,
    MessageRow,
    ProposalRow,
    ResponseBodyRow,
    RoomRow,
    ScheduleRow,
    ThreadRow,
)

OUTPUT_BLOCK = 1024  # bytes: outputs count in whole blocks, because the counter shows their buyer no exact size

_IS_INPUT = JobTextRow.part == literal("input")
_BLOCKS = (octets(JobTextRow.text) + (OUTPUT_BLOCK - 1)) // OUTPUT_BLOCK
_TEXT = case((_IS_INPUT, octets(JobTextRow.text)), else_=_BLOCKS * OUTPUT_BLOCK)
_SAID = octets(MessageRow.body) + func.coalesce(octets(MessageRow.data), 0)
_PLANNED = octets(ScheduleRow.payload) + func.coalesce(octets(ScheduleRow.name), 0)
_FIRED = EventRow.kind == literal("schedule.fired")
EVENT_BYTES = case((_FIRED, octets(EventRow.data)), else_=0)
BODY_BYTES = octets(ResponseBodyRow.body)


def _sum(bytes_: Any) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(bytes_), 0), BigInteger)


def _in_all(owner: "Mapped[str] | Mapped[str | None]", env: "Mapped[str] | Mapped[str | None]", bytes_: Any) -> Any:
    """Select the sum of bytes per agent and environment."""
    return select(owner, env, _sum(bytes_)).where(in_json_list(owner, "ids")).group_by(owner, env)


texts_of_job: Query[Any] = Query(select(JobTextRow.part, _TEXT).where(JobTextRow.job_id == bindparam("job_id")))
said_in: Query[Any] = Query(
    select(MessageRow.sender_id, _sum(_SAID))
    .where(MessageRow.thread_id == bindparam("thread_id"), MessageRow.sender_id.is_not(None))
    .group_by(MessageRow.sender_id)
)
forget_input = Query(delete(JobTextRow.__table__).where(JobTextRow.job_id == bindparam("job_id"), _IS_INPUT))
forget_outputs = Query(
    delete(JobTextRow.__table__).where(JobTextRow.job_id == bindparam("job_id"), JobTextRow.part != literal("input"))
)
forgettable_jobs = Query(
    select(JobRow)
    .where(JobRow.forget_at.is_not(None), JobRow.forget_at <= bindparam("now"))
    .order_by(JobRow.forget_at, JobRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
rooms_of = Query(select(RoomRow).where(in_json_list(RoomRow.agent_id, "ids")))

_job_texts = JobTextRow.job_id == JobRow.id
COUNTED: tuple[Query[Any], ...] = (
    Query(_in_all(JobRow.buyer_id, JobRow.env, _TEXT).where(_job_texts, JobRow.counted)),
    Query(
        select(MessageRow.sender_id, ThreadRow.env, _sum(_SAID))
        .select_from(ThreadRow.__table__)
        .join(MessageRow.__table__, MessageRow.thread_id == ThreadRow.id)
        .outerjoin(JobRow.__table__, JobRow.id == ThreadRow.job_id)
        .where(
            or_(in_json_list(ThreadRow.a, "ids"), in_json_list(ThreadRow.b, "ids")),
            in_json_list(MessageRow.sender_id, "ids"),
            or_(JobRow.id.is_(None), JobRow.counted),
        )
        .group_by(MessageRow.sender_id, ThreadRow.env)
    ),
    Query(_in_all(ListingRow.seller_id, ListingRow.env, ListingRow.stored_bytes)),
    Query(
        _in_all(ListingRow.seller_id, ListingRow.env, octets(ListingTermsRow.promised)).where(
            ListingTermsRow.listing_id == ListingRow.id
        )
    ),
    Query(_in_all(BountyRow.buyer_id, BountyRow.env, BountyRow.stored_bytes)),
    Query(_in_all(ProposalRow.seller_id, ProposalRow.env, func.coalesce(octets(ProposalRow.message), 0))),
    Query(_in_all(MemoryRow.agent_id, MemoryRow.env, MemoryRow.size)),
    Query(_in_all(ScheduleRow.agent_id, ScheduleRow.env, _PLANNED)),
    Query(_in_all(EventRow.agent_id, EventRow.env, octets(EventRow.data)).where(_FIRED)),
    Query(_in_all(ResponseBodyRow.owner, ResponseBodyRow.env, BODY_BYTES)),
)
"""The queries of everything that counts, by agent and environment.

Each row counts in one of them; RoomRow has their sum.
"""
