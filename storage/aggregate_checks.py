"""Queries that read everything, a page of ids at a time, to verify every stored count and sum."""

from typing import Any

from sqlalchemy import bindparam, func, literal, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import (
    AgentRow,
    BountyRow,
    JobEventRow,
    JobResultRow,
    JobRow,
    JobTextRow,
    ListingPayerRow,
    ListingRow,
    MemoryRow,
    MessageRow,
    OpenRefundRow,
    ProposalRow,
    ThreadRow,
    UnreadRow,
)


def _page(id_column: Any) -> Query[str]:
    found = select(id_column).where(id_column > bindparam("after")).order_by(id_column).limit(bindparam("limit"))
    return Query(found)


AGENTS, BOUNTIES, JOBS, LISTINGS, THREADS = (
    _page(kind.id) for kind in (AgentRow, BountyRow, JobRow, ListingRow, ThreadRow)
)

jobs_among = Query(select(JobRow).where(in_json_list(JobRow.id, "ids")))
revisions_asked: Query[Any] = Query(
    select(JobEventRow.job_id, func.count())
    .where(in_json_list(JobEventRow.job_id, "ids"), JobEventRow.type == literal("revision_requested"))
    .group_by(JobEventRow.job_id)
)
refunds_open: Query[str] = Query(select(OpenRefundRow.job_id).where(in_json_list(OpenRefundRow.job_id, "ids")))
texts_of_jobs = Query(select(JobTextRow).where(in_json_list(JobTextRow.job_id, "ids")))

results_of_listings = Query(select(JobResultRow).where(in_json_list(JobResultRow.listing_id, "ids")))
payers_of_listings = Query(select(ListingPayerRow).where(in_json_list(ListingPayerRow.listing_id, "ids")))

threads_among = Query(select(ThreadRow).where(in_json_list(ThreadRow.id, "ids")))
messages_in: Query[Any] = Query(
    select(
        MessageRow.thread_id,
        MessageRow.id,
        MessageRow.number,
        MessageRow.from_a,
        MessageRow.from_b,
        MessageRow.sender_id,
        MessageRow.created_at,
    )
    .where(in_json_list(MessageRow.thread_id, "ids"))
    .order_by(MessageRow.thread_id, MessageRow.number)
)

mailboxes_of = Query(select(UnreadRow).where(in_json_list(UnreadRow.agent_id, "ids")))
unread_as_a: Query[Any] = Query(
    select(ThreadRow.a, ThreadRow.env, ThreadRow.unread_a).where(
        in_json_list(ThreadRow.a, "ids"), ThreadRow.unread_a != 0
    )
)
unread_as_b: Query[Any] = Query(
    select(ThreadRow.b, ThreadRow.env, ThreadRow.unread_b).where(
        in_json_list(ThreadRow.b, "ids"), ThreadRow.unread_b != 0
    )
)
memories_of: Query[Any] = Query(
    select(MemoryRow.agent_id, MemoryRow.env, MemoryRow.key, MemoryRow.size, MemoryRow.value).where(
        in_json_list(MemoryRow.agent_id, "ids")
    )
)
bounties_counting: Query[Any] = Query(
    select(BountyRow.id, BountyRow.proposal_count).where(in_json_list(BountyRow.id, "ids"))
)
proposals_standing: Query[Any] = Query(
    select(ProposalRow.bounty_id, func.count())
    .where(in_json_list(ProposalRow.bounty_id, "ids"), ProposalRow.status != literal("withdrawn"))
    .group_by(ProposalRow.bounty_id)
)
