"""Queries of the operator: open problems, and everything a page of ids at a time, to verify what is stored."""

from typing import Any

from sqlalchemy import String, bindparam, cast, exists, func, literal, literal_column, or_, select

from storage.query import Query
from storage.statements import after_id, count, first_rows, in_json_list, is_one_of, matching, rows_among
from storage.tables.agents import AgentRow, KeyRow, WalletRow
from storage.tables.bounties import BountyRow, ProposalRow
from storage.tables.disputes import DisputeRow, HeldWalletRow
from storage.tables.events import EventRow, WebhookRow
from storage.tables.jobs import JobEventRow, JobRow, OpenRefundRow
from storage.tables.listings import JobResultRow, ListingPayerRow, ListingRow
from storage.tables.messages import MessageRow, ReportRow, ThreadRow, UnreadRow
from storage.tables.payments import PurchaseRow, SettlementRow, X402AccountRow
from storage.tables.quotas import JobTextRow, MemoryRow
from storage.tables.search import ListingSearchRow
from storage.vocabulary import PurchaseStatus

# Open problems, and counts of agents and jobs.

escalated: Query[DisputeRow] = first_rows(DisputeRow, DisputeRow.status == literal("escalated"), by=[DisputeRow.id])


def _purchases_by_status(*conditions: Any) -> Query[Any]:
    """Build the query of purchases by status: their number, and when the oldest began."""
    place = PurchaseRow.env, PurchaseRow.status
    oldest = func.min(PurchaseRow.created_at)
    return Query(select(*place, func.count(), oldest).where(*conditions).group_by(*place).order_by(*place))


_ENDED = (PurchaseStatus.PAID, PurchaseStatus.CLOSED)
_UNFINISHED = [one for one in PurchaseStatus if one not in _ENDED]
purchases_unfinished = _purchases_by_status(is_one_of(PurchaseRow.status, _UNFINISHED))
purchases_ended = _purchases_by_status(
    is_one_of(PurchaseRow.status, _ENDED), PurchaseRow.created_at >= bindparam("since")
)
_OWING = select(OpenRefundRow.job_id)  # few jobs, so the planner must begin with them
refunds_open: Query[JobRow] = first_rows(JobRow, JobRow.id.in_(_OWING), by=[JobRow.id])
orphans: Query[SettlementRow] = first_rows(  # only of jobs that still owe a refund: the others were sent back
    SettlementRow,
    SettlementRow.job_id.in_(_OWING),
    SettlementRow.status == literal("orphaned"),
    by=[SettlementRow.id + literal("")],  # an expression, otherwise SQLite reads all settlements by their id
)
failing_webhooks: Query[WebhookRow] = first_rows(
    WebhookRow, WebhookRow.failures > literal(0), by=(WebhookRow.failures.desc(), WebhookRow.id)
)
newest_reports: Query[ReportRow] = first_rows(ReportRow, by=[ReportRow.id.desc()])
agents_by_status: Query[Any] = Query(select(AgentRow.status, func.count()).group_by(AgentRow.status))

# The rows that stored counts and sums are derived from.

KINDS = AgentRow, BountyRow, DisputeRow, JobRow, ListingRow, ThreadRow
ids_after: dict[Any, Query[str]] = {kind: Query(after_id(select(kind.id), kind.id)) for kind in KINDS}
counted_from: dict[Any, Query[int]] = {kind: count(kind, kind.id > bindparam("after")) for kind in KINDS}
newest_of_events: Query[EventRow] = Query(select(EventRow).order_by(EventRow.id.desc()).limit(1))

jobs_among = rows_among(JobRow, JobRow.id)
texts_of_jobs = rows_among(JobTextRow, JobTextRow.job_id)
results_of_jobs = rows_among(JobResultRow, JobResultRow.job_id)
results_of_listing: Query[JobResultRow] = Query(select(JobResultRow).where(*matching(JobResultRow.listing_id)))
payers_of_listings = rows_among(ListingPayerRow, ListingPayerRow.listing_id)
places_of_listings = rows_among(ListingSearchRow, ListingSearchRow.listing_id)
threads_among = rows_among(ThreadRow, ThreadRow.id)
mailboxes_of = rows_among(UnreadRow, UnreadRow.agent_id)
open_refund_ids: Query[str] = Query(select(OpenRefundRow.job_id).where(in_json_list(OpenRefundRow.job_id, "ids")))


def _counted(owner: Any, *conditions: Any) -> Query[Any]:
    """Build the query of the number of rows of each owner."""
    return Query(select(owner, func.count()).where(in_json_list(owner, "ids"), *conditions).group_by(owner))


revisions_asked = _counted(JobEventRow.job_id, JobEventRow.type == literal("revision_requested"))
proposals_standing = _counted(ProposalRow.bounty_id, ProposalRow.status != literal("withdrawn"))
bounties_counting: Query[Any] = Query(
    select(BountyRow.id, BountyRow.proposal_count).where(in_json_list(BountyRow.id, "ids"))
)
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
unread_as_a, unread_as_b = (
    Query[Any](select(side, ThreadRow.env, unread).where(in_json_list(side, "ids"), unread > literal_column("0")))
    for side, unread in ((ThreadRow.a, ThreadRow.unread_a), (ThreadRow.b, ThreadRow.unread_b))
)
memories_of: Query[Any] = Query(
    select(MemoryRow.agent_id, MemoryRow.env, MemoryRow.key, MemoryRow.size, MemoryRow.value).where(
        in_json_list(MemoryRow.agent_id, "ids")
    )
)

# Agents that act on a wallet they have not proven.

wallets_unproven: Query[Any] = Query(
    select(WalletRow.agent_id, WalletRow.env).where(
        in_json_list(WalletRow.agent_id, "ids"),
        ~exists().where(HeldWalletRow.agent_id == WalletRow.agent_id, HeldWalletRow.address == WalletRow.address),
    )
)
payers_unproven: Query[str] = Query(
    select(SettlementRow.id).where(
        in_json_list(SettlementRow.job_id, "ids"),
        SettlementRow.kind == literal("payment"),
        ~exists().where(
            HeldWalletRow.agent_id == SettlementRow.payer_agent_id, HeldWalletRow.address == SettlementRow.payer_address
        ),
        ~exists().where(
            PurchaseRow.job_id == SettlementRow.job_id,
            PurchaseRow.payer == func.lower(cast(SettlementRow.payer_address, String)),
        ),
        ~exists().where(JobRow.id == SettlementRow.job_id, JobRow.pay_from == SettlementRow.payer_address),
    )
)
_ACTS = or_(
    exists().where(WalletRow.agent_id == AgentRow.id),
    exists().where(KeyRow.agent_id == AgentRow.id, KeyRow.status == literal("active")),
    exists().where(ListingRow.seller_id == AgentRow.id, ListingRow.status == literal("active")),
    AgentRow.status == literal("active"),
    ~exists().where(
        PurchaseRow.agent_id == AgentRow.id, PurchaseRow.payer == func.lower(cast(X402AccountRow.address, String))
    ),
)
accounts_unproven: Query[str] = Query(
    select(AgentRow.id)
    .select_from(AgentRow.__table__.outerjoin(X402AccountRow.__table__, X402AccountRow.agent_id == AgentRow.id))
    .where(
        in_json_list(AgentRow.id, "ids"),
        or_(
            X402AccountRow.agent_id.is_not(None) & X402AccountRow.claimed_at.is_(None) & _ACTS,
            (AgentRow.status == literal("unclaimed"))
            & or_(X402AccountRow.agent_id.is_(None), X402AccountRow.claimed_at.is_not(None)),
        ),
    )
)
"""Unclaimed accounts that own or do something or whose wallet bought nothing.

Also unclaimed agents without such an account.
"""
