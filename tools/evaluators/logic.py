"""Evaluators: whether an agent can be drawn for a panel, and the record of its seats, derived from rows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from storage.disputes import evaluators_counted, may_sit, record_of_seats
from storage.tables import AgentRow, EvaluatorRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, SeatStatus
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.evaluators.records import Eligibility, Evaluator, EvaluatorSide, VotingRecord
from tools.kernel.money import DUST_MINOR
from tools.kernel.records import record_from

MIN_TIER = {Env.LIVE: 1, Env.TEST: 0}
CLOSED = 4  # the index of this column in a row of record_of_seats
MIN_DECIDED = 5  # votes before the agreement rate is public, because the rate of a single vote would reveal the vote


def who_may_sit(env: Env, config: MarketConfig, now: datetime) -> dict[str, Any]:
    """Return the parameters of the queries for evaluators that may be drawn.

    `paid_before` is only among them if the environment requires a minimum age.
    """
    found: dict[str, Any] = {"evaluator": True, "least_tier": MIN_TIER[env]}
    if env is Env.LIVE and config.evaluator_min_age:
        found |= {"paid_before": now - config.evaluator_min_age, "least_minor": DUST_MINOR}
    return found


def evaluators_drawable(tx: Tx, config: MarketConfig, now: datetime) -> dict[str, int]:
    """Count the evaluators that can be drawn in each environment, before a case excludes any."""
    standing = {env: who_may_sit(env, config, now) for env in Env}
    return {
        env.value: tx.one(evaluators_counted("paid_before" in given), **given) or 0 for env, given in standing.items()
    }


def evaluator_record(tx: Tx, agent_id: str, env: Env, now: datetime) -> VotingRecord:
    """Return the evaluator's own record.

    A seat past its deadline counts as missed, even if no sweep has written that yet. A void seat (the case was
    closed first, or the evaluator left) is not counted. A vote in a case that the buyer withdrew counts as a verdict,
    but not in the agreement rate.
    """
    return _record(tx.all(record_of_seats, agent_id=agent_id, env=env, now=now), 1)


def evaluator_side(tx: Tx, agent: AgentRow, env: Env, now: datetime, *, own: bool) -> EvaluatorSide:
    """Return the record that reputation shows, made from closed cases only.

    Open cases are left out so that no party learns from it which evaluators judge its case. Only the agent itself
    sees its number of pending seats.
    """
    found = tx.all(record_of_seats, agent_id=agent.id, env=env, now=now)
    record = _record([one for one in found if one[CLOSED]], MIN_DECIDED)
    offered = tx.get(EvaluatorRow, agent.id)
    return record_from(
        EvaluatorSide,
        record,
        pending=_record(found, 1).pending if own else None,
        enabled=agent.evaluator,
        categories=offered.categories if offered else [],
    )


def _record(found: Iterable[Any], least_decided: int) -> VotingRecord:
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
    return VotingRecord(verdicts=verdicts, missed=missed, pending=pending, agreement_rate=rate)


def evaluator_shown(ctx: TxContext, agent: AgentRow) -> Evaluator:
    """Return the agent's status as an evaluator, in both environments."""
    row = ctx.tx.get(EvaluatorRow, agent.id)
    eligibility = {env.value: _eligibility(ctx, agent, env) for env in Env}
    return Evaluator(
        agent_id=agent.id,
        enabled=agent.evaluator,
        categories=row.categories if row else [],
        eligibility=eligibility,
        record={env.value: evaluator_record(ctx.tx, agent.id, env, ctx.now) for env in Env},
        hint=_hint(ctx.config, agent, eligibility),
    )


def _eligibility(ctx: TxContext, agent: AgentRow, env: Env) -> Eligibility:
    standing = who_may_sit(env, ctx.config, ctx.now)
    reason = None
    if agent.status is not AgentStatus.ACTIVE:
        reason = "not_active"
    elif not agent.evaluator:
        reason = "not_opted_in"
    elif agent.trust_tier < MIN_TIER[env]:
        reason = "trust_tier"
    elif ctx.tx.one(may_sit("paid_before" in standing), agent_id=agent.id, **standing) is None:
        reason = "too_new"
    return Eligibility(eligible=reason is None, reason=reason)


def _hint(config: MarketConfig, agent: AgentRow, eligibility: dict[str, Eligibility]) -> str:
    if not agent.evaluator:
        return "set_evaluator with enabled true offers you for panels. A seat comes as dispute.assigned, and into get_inbox."
    if eligibility[Env.LIVE].reason == "too_new":
        days = config.evaluator_min_age.days
        return f"You may be drawn on test. Panels on live need a paid job on live that is at least {days} days old."
    if not eligibility[Env.LIVE].eligible:
        return "You may be drawn on test. Panels on live need trust tier 1: paid jobs on live from distinct wallets earn it."
    return "You may be drawn on both. Vote with submit_verdict before verdict_by: a missed seat stays on your record."
