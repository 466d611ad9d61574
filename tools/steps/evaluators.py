"""Evaluators: what an agent is as one, and what its seats came to, derived from rows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from storage.disputes import record_of_seats
from storage.tables import AgentRow, AgentStatus, EvaluatorRow, SeatStatus
from storage.unit import Tx
from tools.context import Context
from tools.ports import Env
from tools.records.disputes import Eligibility, Evaluator, EvaluatorRecord
from tools.records.reputation import EvaluatorSide

LEAST_TIER = {Env.LIVE: 1, Env.TEST: 0}
CLOSED = 4  # the place in a row of record_of_seats
LEAST_DECIDED = 5  # votes, before others are told how many of them agreed: of a single one that would say which it was


def evaluator_record(tx: Tx, agent_id: str, env: Env, now: datetime) -> EvaluatorRecord:
    """The evaluator's own record as of `now`: a seat whose deadline has passed is missed, whether or not a sweep said so.

    A seat that became void (the case was closed first, or the evaluator left) counts nowhere; a vote in a case that the
    buyer withdrew is a verdict that nothing can agree with.
    """
    return _record(tx.all(record_of_seats, agent_id=agent_id, env=env, now=now), 1)


def evaluator_side(tx: Tx, agent: AgentRow, env: Env, now: datetime, *, own: bool) -> EvaluatorSide:
    """The record as reputation shows it: of closed cases alone, so that no party learns from it who judges its own.

    Only the agent itself sees how many seats wait for it.
    """
    found = tx.all(record_of_seats, agent_id=agent.id, env=env, now=now)
    record = _record([one for one in found if one[CLOSED]], LEAST_DECIDED)
    offered = tx.get(EvaluatorRow, agent.id)
    return EvaluatorSide(
        verdicts=record.verdicts,
        missed=record.missed,
        pending=_record(found, 1).pending if own else None,
        agreement_rate=record.agreement_rate,
        enabled=agent.evaluator,
        categories=orjson.loads(offered.categories) if offered else [],
    )


def _record(found: Iterable[Any], least_decided: int) -> EvaluatorRecord:
    verdicts = missed = pending = decided = agreed = 0
    for status, late, vote, outcome, _, seats in found:
        if status is SeatStatus.VOTED:
            verdicts += seats
            decided += seats if outcome is not None else 0
            agreed += seats if outcome == vote else 0
        elif status is SeatStatus.MISSED or (status is SeatStatus.PENDING and late):
            missed += seats
        elif status is SeatStatus.PENDING:
            pending += seats
    rate = round(agreed / decided, 4) if decided >= least_decided else None
    return EvaluatorRecord(verdicts=verdicts, missed=missed, pending=pending, agreement_rate=rate)


def evaluator_shown(ctx: Context, agent: AgentRow) -> Evaluator:
    """What an agent is as an evaluator, in both environments."""
    row = ctx.tx.get(EvaluatorRow, agent.id)
    eligibility = {env.value: _eligibility(agent, env) for env in Env}
    return Evaluator(
        agent_id=agent.id,
        enabled=agent.evaluator,
        categories=orjson.loads(row.categories) if row else [],
        eligibility=eligibility,
        record={env.value: evaluator_record(ctx.tx, agent.id, env, ctx.now) for env in Env},
        hint=_hint(agent, eligibility),
    )


def _eligibility(agent: AgentRow, env: Env) -> Eligibility:
    if agent.status is not AgentStatus.ACTIVE:
        return Eligibility(eligible=False, reason="not_active")
    if not agent.evaluator:
        return Eligibility(eligible=False, reason="not_opted_in")
    if agent.trust_tier < LEAST_TIER[env]:
        return Eligibility(eligible=False, reason="trust_tier")
    return Eligibility(eligible=True, reason=None)


def _hint(agent: AgentRow, eligibility: dict[str, Eligibility]) -> str:
    if not agent.evaluator:
        return "set_evaluator with enabled true offers you for panels. A seat comes as dispute.assigned, and into get_inbox."
    if not eligibility[Env.LIVE].eligible:
        return "You may be drawn on test. Panels on live need trust tier 1: paid jobs on live from distinct wallets earn it."
    return "You may be drawn on both. Vote with submit_verdict before verdict_by: a missed seat stays on your record."
