"""Queries of jobs: by party, by the party that must act, and by deadline; of their settlements and reviews."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, case, exists, func, literal, or_, select

from storage.query import Query
from storage.statements import (
    LIMIT,
    after_id,
    before_id,
    count,
    delete_where,
    due_rows,
    first_rows,
    in_json_list,
    is_one_of,
    matching,
    newest_ids,
    newest_of,
    newest_of_sides,
    newest_rows,
    rows_among,
    unless_large,
)
from storage.tables import (
    AgentRow,
    JobDeliveryRow,
    JobEventRow,
    JobRow,
    JobTextRow,
    OpenRefundRow,
    ReviewRow,
    SettlementRow,
)
from storage.vocabulary import Actor

reviews_of_job = Query(select(ReviewRow).where(*matching(ReviewRow.job_id)))
reviews_of_jobs = rows_among(ReviewRow, ReviewRow.job_id, "job_ids")
reviews_written: Query[ReviewRow] = Query(
    select(ReviewRow)
    .where(in_json_list(ReviewRow.job_id, "job_ids"), ReviewRow.reviewer_id == bindparam("agent_id"))
    .order_by(ReviewRow.id.desc())
)
settlements_of_jobs = Query(
    select(SettlementRow).where(in_json_list(SettlementRow.job_id, "job_ids")).order_by(SettlementRow.id)
)
settlement_by_hash = Query(select(SettlementRow).where(*matching(SettlementRow.network, SettlementRow.tx_hash)))
settlements_of_agent: Query[SettlementRow] = newest_of_sides(
    SettlementRow, (SettlementRow.payer_agent_id, SettlementRow.payee_agent_id)
)
audit_after: Query[JobEventRow] = Query(
    after_id(select(JobEventRow).where(*matching(JobEventRow.job_id)), JobEventRow.id)
)
deliveries_of_jobs = Query(
    select(JobDeliveryRow)
    .where(in_json_list(JobDeliveryRow.job_id, "job_ids"))
    .order_by(JobDeliveryRow.job_id, JobDeliveryRow.revision)
)
texts_of_jobs: Query[Any] = Query(
    select(JobTextRow.job_id, JobTextRow.part, unless_large(JobTextRow.text))
    .where(in_json_list(JobTextRow.job_id, "job_ids"), in_json_list(JobTextRow.part, "parts"))
    .order_by(JobTextRow.job_id.desc())
)
waiting_for: Query[JobRow] = first_rows(
    JobRow, JobRow.waits_for == bindparam("agent_id"), *matching(JobRow.env), by=(JobRow.act_by, JobRow.id)
)
owing_refunds = Query(
    select(JobRow)
    .join_from(OpenRefundRow.__table__, JobRow.__table__, JobRow.id == OpenRefundRow.job_id)
    .where(*matching(OpenRefundRow.seller_id, OpenRefundRow.env))
    .order_by(OpenRefundRow.job_id)
    .limit(LIMIT)
)
close_refund = delete_where(OpenRefundRow, *matching(OpenRefundRow.job_id))
due_notices: Query[JobRow] = due_rows(JobRow, JobRow.notice_at)
due_jobs: Query[JobRow] = due_rows(JobRow, JobRow.clock_at)

# The places that a buyer's unfinished jobs take.

FILLING = ("open", "quote_requested", "quoted", "awaiting_payment", "in_progress")
UNFINISHED = (*FILLING, "delivered", "disputed")
KNOWN_FROM, NEWEST_PAYMENTS = 3, 20  # sellers that a buyer has paid, and the payments that are looked at first

_OCCUPYING = *matching(JobRow.listing_id), is_one_of(JobRow.status, FILLING)
_payment, _refund = SettlementRow.__table__.alias(), SettlementRow.__table__.alias()


def _payments(buyer_id: Any, env: Any) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a buyer's payments of `least` or more, net of refunds."""
    refunded = select(func.coalesce(func.sum(_refund.c.amount), literal(0))).where(
        _refund.c.job_id == _payment.c.job_id, _refund.c.kind == literal("refund")
    )
    return (
        _payment.c.payer_agent_id == buyer_id,
        _payment.c.env == env,
        _payment.c.kind == literal("payment"),
        _payment.c.status == literal("settled"),
        _payment.c.amount - refunded.scalar_subquery() >= bindparam("least"),
    )


def _is_known(buyer_id: Any, seller_id: Any, env: Any) -> ColumnElement[bool]:
    """Return the condition that a buyer has paid this seller, or KNOWN_FROM sellers.

    The newest payments are looked at first. They are enough for most buyers that have many.
    """
    paid, payee = _payments(buyer_id, env), _payment.c.payee_agent_id
    newest = select(payee).where(*paid).order_by(_payment.c.id.desc()).limit(literal(NEWEST_PAYMENTS))
    few = newest.correlate(AgentRow.__table__, JobRow.__table__).subquery("page_newest")
    of_few = select(func.count(few.c.payee_agent_id.distinct()))
    of_all = select(func.count(payee.distinct())).where(*paid)
    return or_(
        of_few.scalar_subquery() >= literal(KNOWN_FROM),
        exists().where(*paid, payee == seller_id),
        of_all.scalar_subquery() >= literal(KNOWN_FROM),
    )


has_paid: Query[str] = Query(
    select(_payment.c.id).where(*_payments(bindparam("buyer_id"), bindparam("env"))).limit(literal(1))
)
is_known: Query[str] = Query(
    select(AgentRow.id).where(
        AgentRow.id == bindparam("buyer_id"), _is_known(AgentRow.id, bindparam("seller_id"), bindparam("env"))
    )
)
_own_place = case((JobRow.buyer_id == bindparam("buyer_id"), literal(1)))
_own = JobRow.__table__.alias("own")
_unfinished = (
    select(func.count())
    .select_from(_own)
    .where(
        _own.c.buyer_id == bindparam("buyer_id"),
        _own.c.env == bindparam("env"),
        is_one_of(_own.c.status, UNFINISHED),
    )
)
# How many places of a listing are taken, how many of them by this buyer, and how many unfinished jobs the buyer has.
places_taken: Query[tuple[int, int, int]] = Query(
    select(func.count(), func.count(_own_place), _unfinished.scalar_subquery())
    .select_from(JobRow.__table__)
    .where(*_OCCUPYING)
)
places_taken_by_newcomers = count(JobRow, *_OCCUPYING, ~_is_known(JobRow.buyer_id, JobRow.seller_id, JobRow.env))
unfinished_of: Query[int] = Query(_unfinished)
_LAPSED_PLACES = (
    select(JobRow)
    .where(
        or_(*matching(JobRow.listing_id, JobRow.buyer_id)),
        *matching(JobRow.env),
        is_one_of(JobRow.status, UNFINISHED),
        JobRow.clock_at <= bindparam("until"),
    )
    .order_by(JobRow.id)
    .limit(LIMIT)
)
lapsed_places = Query(_LAPSED_PLACES.with_for_update(skip_locked=True))
seen_lapsed = Query(_LAPSED_PLACES)


@cache
def jobs_of(role: str, statuses: int) -> Query[JobRow]:
    """Build the query of a page of an agent's jobs, newest first.

    `role` is buyer, seller or both. `statuses` is the number of parameters status_0, status_1, …; 0: any status. Each
    status is read as a separate page, because the index orders only the rows of one status.
    """
    columns = {"buyer": [JobRow.buyer_id], "seller": [JobRow.seller_id], "both": [JobRow.buyer_id, JobRow.seller_id]}
    named = [[JobRow.status == bindparam(f"status_{number}")] for number in range(statuses)] or [[]]
    return newest_of(JobRow, [newest_ids(JobRow, side, *one) for side in columns[role] for one in named])


job_of_reference: Query[JobRow] = Query(
    select(JobRow).where(JobRow.buyer_id == bindparam("agent_id"), *matching(JobRow.env, JobRow.reference))
)

latest_accepted: Query[str | None] = Query(
    select(JobRow.closed_as)
    .where(*matching(JobRow.seller_id, JobRow.env), JobRow.accepted_at.is_not(None))
    .order_by(JobRow.id.desc())
    .limit(LIMIT)
)  # how a seller's last accepted jobs ended

latest_orders: Query[Any] = Query(
    select(JobRow.id, JobRow.buyer_id, JobRow.closed_as, JobRow.quoted_price)
    .where(
        *matching(JobRow.listing_id),
        ~is_one_of(JobRow.status, ("open", "quote_requested")),
        or_(JobRow.closed_as.is_(None), ~is_one_of(JobRow.closed_as, ("buyer_withdrew", "called_off"))),
    )
    .order_by(JobRow.id.desc())
    .limit(LIMIT)
)  # a listing's last orders that its seller answered or let expire

MAX_COUNTED = 10_000


@cache
def tasks_of(filtered: bool, of_context: bool, of_seller: bool) -> Query[JobRow]:
    """Build the query of a page of an agent's orders, most recently changed first."""
    place = or_(
        JobRow.updated_at < bindparam("at"), and_(JobRow.updated_at == bindparam("at"), JobRow.id < bindparam("before"))
    )
    ordered = _ordered(filtered, of_context, of_seller)
    return Query(
        select(JobRow).where(*ordered, place).order_by(JobRow.updated_at.desc(), JobRow.id.desc()).limit(LIMIT)
    )


@cache
def count_of_tasks(filtered: bool, of_context: bool, of_seller: bool) -> Query[int]:
    """Build the query that counts these orders on all pages, up to MAX_COUNTED."""
    some = select(JobRow.id).where(*_ordered(filtered, of_context, of_seller)).limit(MAX_COUNTED)
    return Query(select(func.count()).select_from(some.subquery("page_counted")))


def _ordered(filtered: bool, of_context: bool, of_seller: bool) -> list[ColumnElement[bool]]:
    mine = JobRow.buyer_id == bindparam("agent_id"), *matching(JobRow.env), JobRow.updated_at >= bindparam("since")
    chosen = [
        (filtered, in_json_list(JobRow.status, "statuses")),
        (of_seller, JobRow.seller_id == bindparam("seller_id")),
        (of_context, func.coalesce(JobRow.context_id, JobRow.thread_id) == bindparam("context_id")),
    ]
    return [*mine, *(condition for wanted, condition in chosen if wanted)]


_ABOUT = matching(ReviewRow.subject_id, ReviewRow.env)


@cache
def reviews_about(by_role: bool) -> Query[ReviewRow]:
    """Build the query of a page of reviews about an agent, newest first."""
    if by_role:
        return newest_rows(ReviewRow, *_ABOUT, *matching(ReviewRow.role))
    roles = (ReviewRow.role == literal(role.value) for role in (Actor.BUYER, Actor.SELLER))
    return newest_of(ReviewRow, [before_id(select(ReviewRow.id).where(*_ABOUT, one), ReviewRow.id) for one in roles])
