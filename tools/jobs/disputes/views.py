"""Records of disputes for the parties, evaluators and the operator; `jobs/disputes/case_file` makes the evidence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Any, Literal

import orjson

from storage.disputes import draws_of_disputes
from storage.operator import jobs_among
from storage.tables import DrawRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import DisputeStatus, SeatStatus
from tools.engine.context import ReadContext, TxContext
from tools.engine.next_steps import step, steps
from tools.jobs.disputes.draw_rules import hash_of
from tools.jobs.disputes.records import EVIDENCE_RULE, Checks, Dispute, Evidence, PanelDraw, Verdict, Vote
from tools.jobs.logic import projected
from tools.jobs.panel_rules import majority
from tools.jobs.sealing_rules import rounded_size
from tools.jobs.snapshot import JobSnapshot, Panel, with_settlements
from tools.kernel.records import Step, record_from, shown_columns, stamp, stamp_or_none

Role = Literal["evaluator", "buyer", "seller", "operator"]


def role_in(panel: Panel, agent_id: str) -> Role | None:
    """Return the agent's role in this case; None if it has none."""
    case = panel.case
    if agent_id in (case.buyer_id, case.seller_id):
        return "buyer" if agent_id == case.buyer_id else "seller"
    return "evaluator" if panel.seat_of(agent_id) else None


def jobs_under(tx: Tx, panels: Sequence[Panel]) -> list[JobSnapshot]:
    """Return the jobs of these cases, in the order of the cases."""
    if not panels:
        return []
    rows = tx.all(jobs_among, ids=[panel.case.job_id for panel in panels])
    jobs = {seen.row.id: seen for seen in with_settlements(tx, rows)}
    return [replace(jobs[panel.case.job_id], panel=panel) for panel in panels]


def dispute_records(
    ctx: TxContext | ReadContext, tx: Tx, panels: Sequence[Panel], agent_id: str | None
) -> list[Dispute]:
    """Return cases as the agent sees them; as the operator sees them if the agent is None.

    Moves of the clock that are due but not written yet are shown as made.
    """
    draws = tx.all(draws_of_disputes, ids=[one.case.id for one in panels]) if panels else []
    return [
        _record(projected(seen, ctx.now), [one for one in draws if one.dispute_id == panel.case.id], agent_id, ctx.now)
        for panel, seen in zip(panels, jobs_under(tx, panels), strict=True)
    ]


def _record(seen: JobSnapshot, draws: list[DrawRow], agent_id: str | None, now: datetime) -> Dispute:
    panel, row = seen.needed_panel, seen.row
    case = panel.case
    role: Role | None = "operator" if agent_id is None else role_in(panel, agent_id)
    assert role is not None
    ended = case.status is DisputeStatus.RESOLVED or panel.foreseen(now) is not None
    votes = [seat for seat in panel.seats if seat.status is SeatStatus.VOTED]
    status = DisputeStatus.RESOLVED if ended else case.status
    mine = panel.seat_of(agent_id) if role == "evaluator" and agent_id else None
    return Dispute(
        **shown_columns(case, "id", "escalation_reason", "round", "seats", "created_at"),
        **shown_columns(row, "env", "outcome", "resolved_by"),
        job_id=None if role == "evaluator" else row.id,
        status=status.value,
        role=role,
        required=majority(case.seats) if case.seats else 0,
        votes_received=len(votes),
        verdict_by=None if ended else stamp_or_none(case.verdict_by),
        evidence=_evidence(panel, ended),
        reason=case.reason if role == "evaluator" else row.dispute_reason or "",
        checks=checks_of(seen, rounded=role == "evaluator"),
        my_vote=None if mine is None else _vote(mine, row.outcome, now),
        tally=_tally(votes) if ended else None,
        verdicts=[record_from(Verdict, seat, rationale=seat.rationale or "") for seat in votes] if ended else None,
        panel_seed_hash=hash_of(row.panel_seed),
        panel_seed=row.panel_seed.hex() if ended else None,
        draws=[_draw(one) for one in draws] if ended else None,
        thread_id=row.thread_id if role in ("buyer", "seller") else None,
        resolved_at=stamp_or_none(case.resolved_at or (panel.decided_at(now) if ended else None)),
        next_steps=_next_steps(seen, role, mine, ended, now),
    )


def _evidence(panel: Panel, ended: bool) -> Evidence:
    case = panel.case
    sides: tuple[Literal["buyer", "seller"], ...] = ("buyer", "seller")
    return Evidence(
        open=panel.is_open and not ended and case.evidence_ends is None,
        votes_count_from=stamp_or_none(panel.votes_count_from),
        done=[side for side in sides if getattr(case, f"{side}_done_at")],
        rule=EVIDENCE_RULE,
    )


def checks_of(seen: JobSnapshot, *, rounded: bool = False) -> Checks:
    """Return the facts that the market checks by itself, such as the deadline and the schema.

    A delivery is checked against its schema on arrival and again for the case. An evaluator gets a rounded size,
    because the exact size would reveal the length of the redacted names.
    """
    row, panel = seen.row, seen.needed_panel
    unchecked: Any = {"output_schema": "pass" if row.output_schema else "none", "output_schema_errors": []}
    late = 0.0
    if row.delivered_at and row.deliver_by:
        late = max(0.0, (row.delivered_at - row.deliver_by).total_seconds())
    return Checks(
        **(panel.case.checks or unchecked),
        delivered_on_time=late == 0,
        delivered_after_deadline_seconds=ceil(late),
        revisions_used=row.revision_count,
        revisions_allowed=row.max_revisions,
        paid=seen.facts.is_paid,
        price=row.price,
        output_bytes=rounded_size(row.output_bytes or 0) if rounded else row.output_bytes,
    )


def _vote(seat: SeatRow, outcome: str | None, now: datetime) -> Vote:
    late = seat.status is SeatStatus.PENDING and now >= seat.deadline_at
    return record_from(
        Vote,
        seat,
        status=(SeatStatus.MISSED if late else seat.status).value,
        agreed=None if outcome is None or seat.outcome is None else seat.outcome == outcome,
    )


def _tally(votes: list[SeatRow]) -> dict[str, int]:
    counted = Counter(seat.outcome for seat in votes)
    return {outcome: counted[outcome] for outcome in ("buyer", "seller", "split")}


def _draw(row: DrawRow) -> PanelDraw:
    return record_from(
        PanelDraw,
        row,
        version=row.draw_version,
        wanted=row.wanted or None,
        eligible_count=len(orjson.loads(row.eligible)),
        related_count=len(orjson.loads(row.related)),
        related_hash=row.related_hash or None,
    )


def _next_steps(seen: JobSnapshot, role: Role, mine: SeatRow | None, ended: bool, now: datetime) -> list[Step]:
    panel = seen.needed_panel
    case = panel.case
    if mine and not ended and mine.status is SeatStatus.PENDING and now < mine.deadline_at:
        until, why = stamp(mine.deadline_at), "Read the case with get_dispute, then vote buyer, seller or split."
        counts = panel.votes_count_from
        if counts is not None and now < counts:
            why = f"{why} No vote counts before {stamp(counts)}: the parties may still post evidence."
        given = {"outcome": "<buyer, seller or split>", "rationale": "<why, 1-4000 characters>"}
        return steps(step("submit_verdict", why, deadline=until, dispute_id=case.id, **given))
    if role not in ("buyer", "seller"):
        return []
    if not ended:
        return party_steps(panel, role, seen.row.thread_id)
    why = "See what the verdict left to do." if seen.row.outcome else "It was withdrawn: see how the job ended."
    return steps(step("get_job", why, job_id=case.job_id))


def party_steps(panel: Panel, role: str, thread_id: str) -> list[Step]:
    """Return a party's steps while its case is undecided, for get_job and get_dispute."""
    case = panel.case
    looks = "Look again: there is no verdict yet." if panel.is_open else "Look again: the operator decides this case."
    found = [*_evidence_steps(panel, thread_id), step("get_dispute", looks, dispute_id=case.id)]
    if role == "buyer":
        why = "Only if you agree after all: the job completes, and nothing is owed back."
        found.append(step("withdraw_dispute", why, dispute_id=case.id))
    return steps(*found)


def _evidence_steps(panel: Panel, thread_id: str) -> list[tuple[Step, ...]]:
    """Return the steps to post evidence while it is open, and to remind the operator."""
    case, found = panel.case, []
    if case.evidence_ends is None:
        why = "Post your evidence in the job's thread: the operator decides and reads it."
        if panel.is_open:
            why = (
                "Post your evidence: evaluators read this thread as it stands when the first vote counts. With "
                "evidence_done true when you have no more."
            )
        found.append(step("post_message", why, thread_id=thread_id))
    if not panel.is_open:
        why, asks = "Remind the operator: nothing happens by itself.", f"Please decide the dispute of {case.job_id}."
        found.append(step("report_support", why, message=asks, references=[case.job_id]))
    return found
