"""Queries of agents' memory, and of the disk space that agents use: of one job, and of everything that counts."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, case, cast, func, literal, or_, select

from storage.query import Query
from storage.statements import (
    LIMIT,
    count,
    delete_where,
    deleting,
    first_rows,
    in_json_list,
    is_one_of,
    matching,
    octets,
    rows_among,
)
from storage.tables.bounties import BountyRow, ProposalRow
from storage.tables.events import EventRow, ScheduleRow
from storage.tables.jobs import JobRow
from storage.tables.listings import ListingRow, ListingTermsRow
from storage.tables.messages import MessageRow, ThreadRow
from storage.tables.quotas import JobTextRow, MemoryRow, RoomRow
from storage.tables.requests import ResponseBodyRow
from storage.vocabulary import Env

_MINE = matching(MemoryRow.agent_id, MemoryRow.env)
_ALIVE = or_(MemoryRow.expires_at.is_(None), MemoryRow.expires_at > bindparam("now"))
keys_between: Query[Any] = Query(  # in byte order
    select(
        MemoryRow.key,
        MemoryRow.size,
        MemoryRow.version,
        MemoryRow.expires_at,
        MemoryRow.created_at,
        MemoryRow.updated_at,
    )
    .where(*_MINE, MemoryRow.key >= bindparam("first"), MemoryRow.key < bindparam("end"), _ALIVE)
    .order_by(MemoryRow.key)
    .limit(LIMIT)
)
keys_kept = count(MemoryRow, *_MINE, _ALIVE)
forget_key = delete_where(MemoryRow, *_MINE, *matching(MemoryRow.key))
forget_expired = deleting(MemoryRow, MemoryRow.expires_at, MemoryRow.agent_id, MemoryRow.env, MemoryRow.size)

# Disk space.

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


def _in_all(owner: Any, env: Any, bytes_: Any, *conditions: Any) -> Query[Any]:
    """Build the query of the sum of bytes per agent and environment."""
    mine = in_json_list(owner, "ids")
    return Query(select(owner, env, _sum(bytes_)).where(mine, *conditions).group_by(owner, env))


texts_of_job: Query[Any] = Query(select(JobTextRow.part, _TEXT).where(*matching(JobTextRow.job_id)))
said_in: Query[Any] = Query(
    select(MessageRow.sender_id, _sum(_SAID))
    .where(*matching(MessageRow.thread_id), MessageRow.sender_id.is_not(None))
    .group_by(MessageRow.sender_id)
)
forget_input = delete_where(JobTextRow, *matching(JobTextRow.job_id), _IS_INPUT)
forget_outputs = delete_where(JobTextRow, *matching(JobTextRow.job_id), ~_IS_INPUT)
_FORGETTABLE = JobRow.forget_at.is_not(None), JobRow.forget_at <= bindparam("now")
forgettable_jobs: Query[JobRow] = first_rows(JobRow, *_FORGETTABLE, by=(JobRow.forget_at, JobRow.id), locks=True)
rooms_of = rows_among(RoomRow, RoomRow.agent_id)

COUNTED: tuple[Query[Any], ...] = (
    _in_all(JobRow.buyer_id, JobRow.env, _TEXT, JobTextRow.job_id == JobRow.id, JobRow.counted),
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
    _in_all(ListingRow.seller_id, ListingRow.env, ListingRow.stored_bytes),
    _in_all(
        ListingRow.seller_id,
        ListingRow.env,
        octets(ListingTermsRow.promised),
        ListingTermsRow.listing_id == ListingRow.id,
    ),
    _in_all(BountyRow.buyer_id, BountyRow.env, BountyRow.stored_bytes),
    _in_all(ProposalRow.seller_id, ProposalRow.env, func.coalesce(octets(ProposalRow.message), 0)),
    _in_all(MemoryRow.agent_id, MemoryRow.env, MemoryRow.size),
    _in_all(ScheduleRow.agent_id, ScheduleRow.env, _PLANNED),
    _in_all(EventRow.agent_id, EventRow.env, octets(EventRow.data), is_one_of(EventRow.env, [*Env]), _FIRED),
    _in_all(ResponseBodyRow.owner, ResponseBodyRow.env, BODY_BYTES),
)
"""The queries of everything that counts, by agent and environment.

Each row counts in one of them; RoomRow has their sum.
"""
