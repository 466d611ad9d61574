"""Queries of disputes: by party, possible evaluators, due cases, and an evaluator's record."""

from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, exists, func, literal, not_, or_, select

from storage.byte_length import octets
from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import (
    AgentRow,
    DisputeRow,
    DrawRow,
    EvaluatorRow,
    HeldWalletRow,
    JobRow,
    MessageRow,
    SeatRow,
    SettlementRow,
)

dispute_of_job = Query(select(DisputeRow).where(DisputeRow.job_id == bindparam("job_id")))
disputes_of_jobs = Query(select(DisputeRow).where(in_json_list(DisputeRow.job_id, "job_ids")))
seats_of_dispute = Query(
    select(SeatRow).where(SeatRow.dispute_id == bindparam("dispute_id")).order_by(SeatRow.round, SeatRow.agent_id)
)
seats_of_disputes = Query(
    select(SeatRow).where(in_json_list(SeatRow.dispute_id, "ids")).order_by(SeatRow.round, SeatRow.agent_id)
)
draws_of_dispute = Query(select(DrawRow).where(DrawRow.dispute_id == bindparam("dispute_id")).order_by(DrawRow.round))
draws_of_disputes = Query(select(DrawRow).where(in_json_list(DrawRow.dispute_id, "ids")).order_by(DrawRow.round))
dispute_ids: Query[str] = Query(
    select(DisputeRow.id).where(DisputeRow.id > bindparam("after")).order_by(DisputeRow.id).limit(bindparam("limit"))
)


@cache
def statements(newest: bool) -> Query[Any]:
    """Build the query of ids and sizes of a party's messages, newest or oldest first.

    Only messages up to the number `ends`.
    """
    order = MessageRow.number.desc() if newest else MessageRow.number
    return Query(_statements(MessageRow.number <= bindparam("ends")).order_by(order).limit(bindparam("limit")))


def _statements(*more: Any) -> Any:
    size = octets(MessageRow.body) + func.coalesce(octets(MessageRow.data), 0)
    mine = MessageRow.thread_id == bindparam("thread_id"), MessageRow.sender_id == bindparam("sender_id")
    return select(MessageRow.id, size).where(*mine, *more)


first_statement: Query[Any] = Query(
    _statements(MessageRow.number >= bindparam("begins"), MessageRow.number <= bindparam("ends"))
    .order_by(MessageRow.number)
    .limit(1)
)
statements_counted: Query[int] = Query(
    select(func.count())
    .select_from(MessageRow.__table__)
    .where(
        MessageRow.thread_id == bindparam("thread_id"),
        MessageRow.sender_id == bindparam("sender_id"),
        MessageRow.number <= bindparam("ends"),
    )
)
evidence: Query[MessageRow] = Query(
    select(MessageRow).where(in_json_list(MessageRow.id, "ids")).order_by(MessageRow.number)
)


def _may_sit(paid_before: bool) -> tuple[Any, ...]:
    """Return the conditions that every evaluator must meet, whatever the case."""
    found: tuple[Any, ...] = (
        AgentRow.evaluator == bindparam("evaluator"),
        AgentRow.status == literal("active"),
        AgentRow.trust_tier >= bindparam("least_tier"),
    )
    return (*found, _was_paid_before()) if paid_before else found


def _was_paid_before() -> Any:
    """Return the condition that the agent was paid on live for finished work, long enough ago.

    Jobs of the operator do not count.
    """
    paid, job = SettlementRow.__table__, JobRow.__table__
    done = or_(
        job.c.status == literal("completed"),
        and_(job.c.status == literal("resolved"), job.c.outcome != literal("buyer")),
    )
    return exists(
        select(paid.c.id)
        .join_from(paid, job, job.c.id == paid.c.job_id)
        .where(
            paid.c.payee_agent_id == AgentRow.id,
            paid.c.env == literal("live"),
            paid.c.kind == literal("payment"),
            paid.c.status == literal("settled"),
            paid.c.amount >= bindparam("least_minor"),
            paid.c.settled_at <= bindparam("paid_before", type_=paid.c.settled_at.type),
            not_(job.c.first_party),
            done,
        )
    )


@cache
def eligible_evaluators(paid_before: bool) -> Query[str]:
    """Build the query of the evaluators that may be drawn for one job.

    With `paid_before`, only those with a payment of at least that age.
    """
    return Query(
        select(AgentRow.id)
        .join_from(EvaluatorRow.__table__, AgentRow.__table__, AgentRow.id == EvaluatorRow.agent_id)
        .where(
            *_may_sit(paid_before),
            AgentRow.first_party <= bindparam("first_party"),
            not_(in_json_list(AgentRow.id, "not_these")),
            or_(AgentRow.referred_by.is_(None), not_(in_json_list(AgentRow.referred_by, "parties"))),
            not_(
                exists(
                    select(HeldWalletRow.address).where(
                        HeldWalletRow.agent_id == AgentRow.id, in_json_list(HeldWalletRow.address, "wallets")
                    )
                )
            ),
        )
        .order_by(AgentRow.id)
    )


@cache
def evaluators_counted(paid_before: bool) -> Query[int]:
    """Build the query that counts all evaluators that may be drawn."""
    return Query(
        select(func.count())
        .select_from(EvaluatorRow.__table__)
        .join(AgentRow.__table__, AgentRow.id == EvaluatorRow.agent_id)
        .where(*_may_sit(paid_before))
    )


@cache
def may_sit(paid_before: bool) -> Query[str]:
    """Build the query that returns the agent's own id if it may be drawn."""
    return Query(select(AgentRow.id).where(*_may_sit(paid_before), AgentRow.id == bindparam("agent_id")))


due_cases = Query(
    select(JobRow)
    .join_from(DisputeRow.__table__, JobRow.__table__, JobRow.id == DisputeRow.job_id)
    .where(
        DisputeRow.status == literal("panel"),
        DisputeRow.verdict_by <= bindparam("until"),
        DisputeRow.id > bindparam("after"),
    )
    .order_by(DisputeRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True, of=JobRow.__table__)
)
deserted_cases: Query[str] = Query(
    select(DisputeRow.job_id)
    .join_from(SeatRow.__table__, AgentRow.__table__, AgentRow.id == SeatRow.agent_id)
    .join(DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
    .where(SeatRow.status == literal("pending"), AgentRow.status != literal("active"))
    .distinct()
    .limit(bindparam("limit"))
)
awaiting_verdict: Query[Any] = Query(
    select(DisputeRow.id, DisputeRow.title, DisputeRow.category, JobRow.price, SeatRow.round, SeatRow.deadline_at)
    .join_from(SeatRow.__table__, DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
    .join(JobRow.__table__, JobRow.id == DisputeRow.job_id)
    .where(
        SeatRow.agent_id == bindparam("agent_id"),
        SeatRow.env == bindparam("env"),
        SeatRow.status == literal("pending"),
        SeatRow.deadline_at > bindparam("now", type_=SeatRow.deadline_at.type),
    )
    .order_by(SeatRow.deadline_at, DisputeRow.id)
    .limit(bindparam("limit"))
)

record_of_seats: Query[Any] = Query(
    select(
        SeatRow.status,
        (SeatRow.deadline_at <= bindparam("now", type_=SeatRow.deadline_at.type)).label("late"),
        SeatRow.outcome,
        DisputeRow.outcome.label("decided"),
        (DisputeRow.status == literal("resolved")).label("closed"),
        func.count().label("seats"),
    )
    .join_from(SeatRow.__table__, DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
    .where(SeatRow.agent_id == bindparam("agent_id"), SeatRow.env == bindparam("env"))
    .group_by(SeatRow.status, "late", SeatRow.outcome, "decided", "closed")
)


@cache
def disputes_of(role: str, filtered: bool) -> Query[DisputeRow]:
    """Build the query of a page of an agent's cases, newest first.

    `role` is evaluator, party or both.
    """
    pages = {
        "party": [_as_party(DisputeRow.buyer_id, filtered), _as_party(DisputeRow.seller_id, filtered)],
        "evaluator": [_as_evaluator(filtered)],
    }
    found = or_(
        *(
            DisputeRow.id.in_(select(page.subquery().c.id))
            for name in ("party", "evaluator")
            if role in (name, "both")
            for page in pages[name]
        )
    )
    return Query(select(DisputeRow).where(found).order_by(DisputeRow.id.desc()).limit(bindparam("limit")))


def _as_party(column: Any, filtered: bool) -> Select[Any]:
    mine = column == bindparam("agent_id"), DisputeRow.env == bindparam("env"), DisputeRow.id < bindparam("before")
    more = [DisputeRow.status == bindparam("status")] if filtered else []
    return select(DisputeRow.id).where(*mine, *more).order_by(DisputeRow.id.desc()).limit(bindparam("limit"))


def _as_evaluator(filtered: bool) -> Select[Any]:
    found = (
        select(DisputeRow.id)
        .join_from(SeatRow.__table__, DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
        .where(
            SeatRow.agent_id == bindparam("agent_id"),
            SeatRow.env == bindparam("env"),
            SeatRow.dispute_id < bindparam("before"),
        )
    )
    if filtered:
        found = found.where(DisputeRow.status == bindparam("status"))
    return found.order_by(SeatRow.dispute_id.desc()).limit(bindparam("limit"))
