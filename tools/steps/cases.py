"""A case as those concerned see it. The evidence that evaluators are shown with it is in `steps/casefile`."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from math import ceil
from typing import Any, Literal, cast

import orjson

from storage.disputes import draws_of_disputes
from storage.jobs import settlements_of_jobs
from storage.recompute import jobs_among
from storage.tables import (
    DisputeStatus,
    DrawRow,
    SeatRow,
    SeatStatus,
)
from storage.unit import Tx
from tools.context import Context, Outside
from tools.records.base import Json, Step, stamp, stamp_or_none
from tools.records.disputes import Checks, Dispute, PanelDraw, Verdict, Vote
from tools.rules.draw import hash_of
from tools.rules.panel import majority
from tools.steps.jobs import SeenJob, foretold
from tools.steps.links import step, steps
from tools.steps.seats import Panel

MOST_MESSAGES = 200
Role = Literal["evaluator", "buyer", "seller", "operator"]


def role_in(panel: Panel, agent_id: str) -> Role | None:
    """What the agent is in this case; None: nothing."""
    case = panel.case
    if agent_id in (case.buyer_id, case.seller_id):
        return "buyer" if agent_id == case.buyer_id else "seller"
    return "evaluator" if panel.seat_of(agent_id) else None


def jobs_under(tx: Tx, panels: Sequence[Panel]) -> list[SeenJob]:
    """The jobs of these cases, in their order."""
    if not panels:
        return []
    ids = orjson.dumps([panel.case.job_id for panel in panels]).decode()
    rows = {row.id: row for row in tx.all(jobs_among, ids=ids)}
    paid = tx.all(settlements_of_jobs, job_ids=ids)
    return [
        SeenJob(
            rows[panel.case.job_id],
            tuple(one for one in paid if one.job_id == panel.case.job_id),
            frozenset(),
            panel=panel,
        )
        for panel in panels
    ]


def dispute_records(ctx: Context | Outside, tx: Tx, panels: Sequence[Panel], agent_id: str | None) -> list[Dispute]:
    """Cases as the agent sees them (None: the operator). What the clock has not written yet is shown as if it had."""
    draws = tx.all(draws_of_disputes, ids=orjson.dumps([one.case.id for one in panels]).decode()) if panels else []
    found = []
    for seen in jobs_under(tx, panels):
        told = foretold(seen, ctx.now)
        made = [draw for draw in draws if draw.dispute_id == _panel(seen).case.id]
        found.append(_record(told, made, agent_id, ctx.now))
    return found


def _record(seen: SeenJob, draws: list[DrawRow], agent_id: str | None, now: datetime) -> Dispute:
    panel, row = _panel(seen), seen.row
    case, foreseen = panel.case, panel.foreseen(now)
    role: Role | None = "operator" if agent_id is None else role_in(panel, agent_id)
    assert role is not None
    ended = case.status is DisputeStatus.RESOLVED or foreseen is not None
    outcome = row.outcome
    votes = [seat for seat in panel.seats if seat.status is SeatStatus.VOTED]
    status = DisputeStatus.RESOLVED if ended else case.status
    mine = panel.seat_of(agent_id) if role == "evaluator" and agent_id else None
    return Dispute(
        id=case.id,
        job_id=None if role == "evaluator" else row.id,
        env=cast(Any, row.env),
        status=cast(Any, status.value),
        role=role,
        outcome=cast(Any, outcome),
        resolved_by=cast(Any, row.resolved_by),
        escalation_reason=cast(Any, case.escalation_reason),
        round=case.round,
        seats=case.seats,
        required=majority(case.seats) if case.seats else 0,
        votes_received=len(votes),
        verdict_by=None if ended else stamp_or_none(case.verdict_by),
        reason=case.reason if role == "evaluator" else row.dispute_reason or "",
        checks=checks_of(seen),
        my_vote=None if mine is None else _vote(mine, outcome, now),
        tally=_tally(votes) if ended else None,
        verdicts=[_verdict(seat) for seat in votes] if ended else None,
        panel_seed_hash=hash_of(row.panel_seed),
        panel_seed=row.panel_seed.hex() if ended else None,
        draws=[_draw(one) for one in draws] if ended else None,
        thread_id=row.thread_id if role in ("buyer", "seller") else None,
        created_at=stamp(case.created_at),
        resolved_at=stamp_or_none(case.resolved_at or (case.verdict_by if ended else None)),
        next_steps=_next_steps(panel, role, mine, ended, now),
    )


def checks_of(seen: SeenJob) -> Checks:
    """What can be said mechanically. A delivery is held against its schema when it comes, and again for the case."""
    row, panel = seen.row, _panel(seen)
    schema: dict[str, Json] = {"output_schema": "pass" if row.output_schema else "none", "output_schema_errors": []}
    if panel.case.checks:
        schema = orjson.loads(panel.case.checks)
    late = 0.0
    if row.delivered_at and row.deliver_by:
        late = max(0.0, (row.delivered_at - row.deliver_by).total_seconds())
    return Checks(
        **cast(Any, schema),
        delivered_on_time=late == 0,
        delivered_after_deadline_seconds=ceil(late),
        revisions_used=row.revision_count,
        revisions_allowed=row.max_revisions,
        paid=seen.facts.is_paid,
        price=row.price,
        output_bytes=row.output_bytes,
    )


def _panel(seen: SeenJob) -> Panel:
    assert seen.panel is not None
    return seen.panel


def _vote(seat: SeatRow, outcome: str | None, now: datetime) -> Vote:
    late = seat.status is SeatStatus.PENDING and now >= seat.deadline_at
    return Vote(
        status=cast(Any, (SeatStatus.MISSED if late else seat.status).value),
        outcome=cast(Any, seat.outcome),
        rationale=seat.rationale,
        round=seat.round,
        deadline_at=stamp(seat.deadline_at),
        voted_at=stamp_or_none(seat.voted_at),
        agreed=None if outcome is None or seat.outcome is None else seat.outcome == outcome,
    )


def _tally(votes: list[SeatRow]) -> dict[str, int]:
    counted = Counter(seat.outcome for seat in votes)
    return {outcome: counted[outcome] for outcome in ("buyer", "seller", "split")}


def _verdict(seat: SeatRow) -> Verdict:
    return Verdict(
        outcome=cast(Any, seat.outcome),
        rationale=seat.rationale or "",
        content_warnings=orjson.loads(seat.content_warnings),
        round=seat.round,
    )


def _draw(row: DrawRow) -> PanelDraw:
    return PanelDraw(
        round=row.round,
        seats=row.seats,
        eligible_count=len(orjson.loads(row.eligible)),
        eligible_hash=row.eligible_hash,
    )


def _next_steps(panel: Panel, role: Role, mine: SeatRow | None, ended: bool, now: datetime) -> list[Step]:
    case = panel.case
    if mine and not ended and mine.status is SeatStatus.PENDING and now < mine.deadline_at:
        until, why = stamp(mine.deadline_at), "Read the case with get_dispute, then vote buyer, seller or split."
        given = {"outcome": "<buyer, seller or split>", "rationale": "<why, 1-4000 characters>"}
        return steps(step("submit_verdict", why, deadline=until, dispute_id=case.id, **given))
    if role == "buyer" and not ended:
        why = "Only if you agree after all: the job completes, and nothing is owed back."
        return steps(step("withdraw_dispute", why, dispute_id=case.id))
    if role not in ("buyer", "seller"):
        return []
    if not ended:
        return steps(step("get_dispute", "Look again: there is no verdict yet.", dispute_id=case.id))
    why = "See what the verdict left to do." if case.outcome else "It was withdrawn: see how the job ended."
    return steps(step("get_job", why, job_id=case.job_id))
