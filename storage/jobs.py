"""Queries of jobs: by party, by the party that must act, and by deadline."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, exists, func, literal, or_, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import AgentRow, JobDeliveryRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow, SettlementRow

reviews_of_job = Query(select(ReviewRow).where(ReviewRow.job_id == bindparam("job_id")))
reviews_of_jobs = Query(select(ReviewRow).where(in_json_list(ReviewRow.job_id, "job_ids")))
settlements_of_job = Query(
    select(SettlementRow).where(SettlementRow.job_id == bindparam("job_id")).order_by(SettlementRow.id)
)
settlements_of_jobs = Query(
    select(SettlementRow).where(in_json_list(SettlementRow.job_id, "job_ids")).order_by(SettlementRow.id)
)
settlement_by_hash = Query(
    select(SettlementRow).where(
        SettlementRow.network == bindparam("network"), SettlementRow.tx_hash == bindparam("tx_hash")
    )
)
handles_of: Query[Any] = Query(select(AgentRow.id, AgentRow.handle).where(in_json_list(AgentRow.id, "ids")))
audit_of = Query(select(JobEventRow).where(JobEventRow.job_id == bindparam("job_id")).order_by(JobEventRow.id))
audit_after = Query(
    select(JobEventRow)
    .where(JobEventRow.job_id == bindparam("job_id"), JobEventRow.id > bindparam("after"))
    .order_by(JobEventRow.id)
    .limit(bindparam("limit"))
)
deliveries_of_jobs = Query(
    select(JobDeliveryRow)
    .where(in_json_list(JobDeliveryRow.job_id, "job_ids"))
    .order_by(JobDeliveryRow.job_id, JobDeliveryRow.revision)
)
waiting_for = Query(
    select(JobRow)
    .where(JobRow.waits_for == bindparam("agent_id"), JobRow.env == bindparam("env"))
    .order_by(JobRow.act_by, JobRow.id)
    .limit(bindparam("limit"))
)
owing_refunds = Query(
    select(JobRow)
    .join_from(OpenRefundRow.__table__, JobRow.__table__, JobRow.id == OpenRefundRow.job_id)
    .where(OpenRefundRow.seller_id == bindparam("seller_id"), OpenRefundRow.env == bindparam("env"))
    .order_by(OpenRefundRow.job_id)
    .limit(bindparam("limit"))
)
close_refund = Query(delete(OpenRefundRow.__table__).where(OpenRefundRow.job_id == bindparam("job_id")))
due_notices = Query(
    select(JobRow)
    .where(
        JobRow.notice_at >= bindparam("since"),
        JobRow.notice_at <= bindparam("until"),
        or_(JobRow.notice_at > bindparam("since"), JobRow.id > bindparam("after")),
    )
    .order_by(JobRow.notice_at, JobRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)

FILLING = ("open", "quote_requested", "quoted", "awaiting_payment", "in_progress")
UNFINISHED = (*FILLING, "delivered", "disputed")


def _in(column: Any, words: tuple[str, ...]) -> ColumnElement[bool]:
    """Return the condition that `column` is one of these constants.

    `in_` would make another statement for every length.
    """
    return or_(*(column == literal(word) for word in words))


_OCCUPYING = JobRow.listing_id == bindparam("listing_id"), _in(JobRow.status, FILLING)
places_taken = Query(select(func.count()).select_from(JobRow.__table__).where(*_OCCUPYING))
places_taken_by = Query(
    select(func.count()).select_from(JobRow.__table__).where(*_OCCUPYING, JobRow.buyer_id == bindparam("buyer_id"))
)
_payment, _refund = SettlementRow.__table__.alias(), SettlementRow.__table__.alias()
KNOWN_FROM = 3  # sellers that a buyer has paid


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
    """Return the condition that a buyer has paid this seller, or KNOWN_FROM sellers."""
    paid = _payments(buyer_id, env)
    sellers = select(func.count(_payment.c.payee_agent_id.distinct())).where(*paid)
    return or_(
        exists().where(*paid, _payment.c.payee_agent_id == seller_id), sellers.scalar_subquery() >= literal(KNOWN_FROM)
    )


has_paid: Query[str] = Query(
    select(_payment.c.id).where(*_payments(bindparam("buyer_id"), bindparam("env"))).limit(literal(1))
)
is_known: Query[str] = Query(
    select(AgentRow.id).where(
        AgentRow.id == bindparam("buyer_id"), _is_known(AgentRow.id, bindparam("seller_id"), bindparam("env"))
    )
)
places_taken_by_newcomers: Query[int] = Query(
    select(func.count())
    .select_from(JobRow.__table__)
    .where(*_OCCUPYING, ~_is_known(JobRow.buyer_id, JobRow.seller_id, JobRow.env))
)
unfinished_of = Query(
    select(func.count())
    .select_from(JobRow.__table__)
    .where(JobRow.buyer_id == bindparam("buyer_id"), JobRow.env == bindparam("env"), _in(JobRow.status, UNFINISHED))
)
_LAPSED = (JobRow.accept_by, JobRow.pay_by, JobRow.deliver_by, JobRow.review_by)
_LAPSED_PLACES = (
    select(JobRow)
    .where(
        or_(JobRow.listing_id == bindparam("listing_id"), JobRow.buyer_id == bindparam("buyer_id")),
        JobRow.env == bindparam("env"),
        _in(JobRow.status, UNFINISHED),
        or_(*(deadline <= bindparam("until") for deadline in _LAPSED)),
    )
    .order_by(JobRow.id)
    .limit(bindparam("limit"))
)
lapsed_places = Query(_LAPSED_PLACES.with_for_update(skip_locked=True))
seen_lapsed = Query(_LAPSED_PLACES)


@cache
def jobs_of(role: str, filtered: bool) -> Query[JobRow]:
    """Build the query of a page of an agent's jobs, newest first.

    `role` is buyer, seller or both.
    """
    columns = {"buyer": [JobRow.buyer_id], "seller": [JobRow.seller_id], "both": [JobRow.buyer_id, JobRow.seller_id]}
    conditions = [JobRow.status == bindparam("status")] if filtered else []
    return Query(_either(JobRow, [_newest_ids(JobRow, column, *conditions) for column in columns[role]]))


def _newest_ids(row: Any, party: Any, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Select a page of ids by one index, newest first.

    No index covers both parties at once, so all of an agent's rows would have to be sorted.
    """
    mine = (party == bindparam("agent_id"), row.env == bindparam("env"), row.id < bindparam("before"))
    return select(row.id).where(*mine, *conditions).order_by(row.id.desc()).limit(bindparam("limit"))


def _either(row: Any, pages: Sequence[Select[Any]]) -> Any:
    """Select the newest rows of several pages of ids."""
    found = or_(*(row.id.in_(select(page.subquery().c.id)) for page in pages))
    return select(row).where(found).order_by(row.id.desc()).limit(bindparam("limit"))


MAX_COUNTED = 10_000


@cache
def tasks_of(filtered: bool, of_context: bool, of_seller: bool) -> Query[JobRow]:
    """Build the query of a page of an agent's orders, most recently changed first."""
    place = or_(
        JobRow.updated_at < bindparam("at"), and_(JobRow.updated_at == bindparam("at"), JobRow.id < bindparam("before"))
    )
    order = JobRow.updated_at.desc(), JobRow.id.desc()
    ordered = _ordered(filtered, of_context, of_seller)
    return Query(select(JobRow).where(*ordered, place).order_by(*order).limit(bindparam("limit")))


@cache
def count_of_tasks(filtered: bool, of_context: bool, of_seller: bool) -> Query[int]:
    """Build the query that counts these orders on all pages, up to MAX_COUNTED."""
    some = select(JobRow.id).where(*_ordered(filtered, of_context, of_seller)).limit(MAX_COUNTED)
    return Query(select(func.count()).select_from(some.subquery("page_counted")))


def _ordered(filtered: bool, of_context: bool, of_seller: bool) -> list[ColumnElement[bool]]:
    conditions = [
        JobRow.buyer_id == bindparam("agent_id"),
        JobRow.env == bindparam("env"),
        JobRow.updated_at >= bindparam("since"),
    ]
    conditions += [in_json_list(JobRow.status, "statuses")] if filtered else []
    conditions += [JobRow.seller_id == bindparam("seller_id")] if of_seller else []
    named = func.coalesce(JobRow.context_id, JobRow.thread_id) == bindparam("context_id")
    return [*conditions, named] if of_context else conditions


settlements_of_agent: Query[SettlementRow] = Query(
    _either(
        SettlementRow,
        [
            _newest_ids(SettlementRow, SettlementRow.payer_agent_id),
            _newest_ids(SettlementRow, SettlementRow.payee_agent_id),
        ],
    )
)


@cache
def due_jobs(status: str, deadline: str) -> Query[JobRow]:
    """Build the query of jobs of one status whose deadline has passed, by id.

    They are locked; jobs that another worker has locked are skipped.
    """
    column = JobRow.__table__.c[deadline]
    return Query(
        select(JobRow)
        .where(JobRow.status == literal(status), column <= bindparam("until"), JobRow.id > bindparam("after"))
        .order_by(JobRow.id)
        .limit(bindparam("limit"))
        .with_for_update(skip_locked=True)
    )
