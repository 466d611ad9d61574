"""Queries of disputes: by party, possible evaluators, due cases, and an evaluator's record."""

from functools import cache
from typing import Any

from sqlalchemy import and_, bindparam, exists, func, literal, not_, or_, select

from storage.query import Query
from storage.statements import (
    LIMIT,
    after_id,
    before_id,
    count,
    in_json_list,
    matching,
    newest_ids,
    newest_of,
    octets,
    rows_among,
)
from storage.tables.agents import AgentRow
from storage.tables.disputes import DisputeRow, DrawRow, EvaluatorRow, HeldWalletRow, SeatRow
from storage.tables.jobs import JobRow
from storage.tables.messages import MessageRow
from storage.tables.payments import SettlementRow

disputes_of_jobs = rows_among(DisputeRow, DisputeRow.job_id, "job_ids")
_SEATS = select(SeatRow).order_by(SeatRow.round, SeatRow.agent_id)
seats_of_dispute = Query(_SEATS.where(*matching(SeatRow.dispute_id)))
seats_of_disputes = Query(_SEATS.where(in_json_list(SeatRow.dispute_id, "ids")))
_DRAWS = select(DrawRow).order_by(DrawRow.round)
draws_of_dispute = Query(_DRAWS.where(*matching(DrawRow.dispute_id)))
draws_of_disputes = Query(_DRAWS.where(in_json_list(DrawRow.dispute_id, "ids")))
dispute_ids: Query[str] = Query(after_id(select(DisputeRow.id), DisputeRow.id))


# What a party said in the thread of its job.

_SAID = matching(MessageRow.thread_id, MessageRow.sender_id)
_STATEMENTS = select(MessageRow.id, octets(MessageRow.body) + func.coalesce(octets(MessageRow.data), 0)).where(*_SAID)
_UP_TO_END = MessageRow.number <= bindparam("ends")


@cache
def statements(newest: bool) -> Query[Any]:
    """Build the query of ids and sizes of a party's messages, newest or oldest first.

    Only messages up to the number `ends`.
    """
    order = MessageRow.number.desc() if newest else MessageRow.number
    return Query(_STATEMENTS.where(_UP_TO_END).order_by(order).limit(LIMIT))


first_statement: Query[Any] = Query(
    _STATEMENTS.where(MessageRow.number >= bindparam("begins"), _UP_TO_END).order_by(MessageRow.number).limit(1)
)
statements_counted = count(MessageRow, *_SAID, _UP_TO_END)
evidence: Query[MessageRow] = Query(
    select(MessageRow).where(in_json_list(MessageRow.id, "ids")).order_by(MessageRow.number)
)

# Evaluators that may be drawn.


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


# Due cases, and the work and the record of an evaluator.

due_cases: Query[JobRow] = Query(
    after_id(
        select(JobRow)
        .join_from(DisputeRow.__table__, JobRow.__table__, JobRow.id == DisputeRow.job_id)
        .where(DisputeRow.status == literal("panel"), DisputeRow.verdict_by <= bindparam("until")),
        DisputeRow.id,
    ).with_for_update(skip_locked=True, of=JobRow.__table__)
)
deserted_cases: Query[str] = Query(
    select(DisputeRow.job_id)
    .join_from(SeatRow.__table__, AgentRow.__table__, AgentRow.id == SeatRow.agent_id)
    .join(DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
    .where(SeatRow.status == literal("pending"), AgentRow.status != literal("active"))
    .distinct()
    .limit(LIMIT)
)
awaiting_verdict: Query[Any] = Query(
    select(DisputeRow.id, DisputeRow.title, DisputeRow.category, JobRow.price, SeatRow.round, SeatRow.deadline_at)
    .join_from(SeatRow.__table__, DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
    .join(JobRow.__table__, JobRow.id == DisputeRow.job_id)
    .where(
        *matching(SeatRow.agent_id, SeatRow.env),
        SeatRow.status == literal("pending"),
        SeatRow.deadline_at > bindparam("now", type_=SeatRow.deadline_at.type),
    )
    .order_by(SeatRow.deadline_at, DisputeRow.id)
    .limit(LIMIT)
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
    .where(*matching(SeatRow.agent_id, SeatRow.env))
    .group_by(SeatRow.status, "late", SeatRow.outcome, "decided", "closed")
)


@cache
def disputes_of(role: str, filtered: bool) -> Query[DisputeRow]:
    """Build the query of a page of an agent's cases, newest first.

    `role` is evaluator, party or both.
    """
    chosen = matching(DisputeRow.status) if filtered else ()
    judged = (
        select(DisputeRow.id)
        .join_from(SeatRow.__table__, DisputeRow.__table__, DisputeRow.id == SeatRow.dispute_id)
        .where(*matching(SeatRow.agent_id, SeatRow.env), *chosen)
    )
    pages = {
        "party": [newest_ids(DisputeRow, side, *chosen) for side in (DisputeRow.buyer_id, DisputeRow.seller_id)],
        "evaluator": [before_id(judged, SeatRow.dispute_id)],
    }
    return newest_of(DisputeRow, [page for name in pages if role in (name, "both") for page in pages[name]])
