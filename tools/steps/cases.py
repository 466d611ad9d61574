"""A case as those concerned see it: the record for everybody, the anonymised file for evaluators."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, Literal, cast

import orjson

from storage.disputes import draws_of_disputes, evidence
from storage.jobs import settlements_of_jobs
from storage.recompute import jobs_among
from storage.tables import (
    AgentRow,
    DisputeStatus,
    DrawRow,
    JobRow,
    ListingRow,
    MessageRow,
    SeatRow,
    SeatStatus,
    ThreadRow,
)
from storage.unit import Tx
from tools.context import Context, Outside
from tools.records.base import Json, Step, stamp, stamp_or_none
from tools.records.disputes import CaseFile, Checks, Dispute, PanelDraw, Verdict, Vote
from tools.rules.draw import hash_of
from tools.rules.money import display
from tools.rules.panel import majority
from tools.rules.redaction import Veil
from tools.steps.anonymity import veil_of
from tools.steps.documents import text_of
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
        job_id=row.id,
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
    if role != "seller":
        return []
    if not ended:
        return steps(step("get_dispute", "Look again: there is no verdict yet.", dispute_id=case.id))
    why = "See what the verdict left to do." if case.outcome else "It was withdrawn: see how the job ended."
    return steps(step("get_job", why, job_id=case.job_id))


# The case file.


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a case file is made from, read in one unit of work."""

    seen: SeenJob
    reason: str
    veil: Veil
    buyer: AgentRow
    seller: AgentRow
    listing: ListingRow | None
    documents: dict[str, str | None]
    messages: list[MessageRow]
    truncated: bool

    @property
    def size(self) -> int:
        """How much text there is to go through."""
        texts = [*self.documents.values(), *(text for one in self.messages for text in (one.body, one.data))]
        return sum(len(text) for text in texts if text)


def evidence_of(tx: Tx, seen: SeenJob) -> Evidence:
    """What an evaluator is to see: messages up to the first vote, the newest where there are too many."""
    row, case = seen.row, _panel(seen).case
    ends = case.evidence_ends
    if ends is None:
        thread = tx.get(ThreadRow, row.thread_id)
        ends = thread.message_count if thread else 0
    found = tx.all(evidence, thread_id=row.thread_id, ends=ends, limit=MOST_MESSAGES + 1)
    buyer, seller = tx.get(AgentRow, row.buyer_id), tx.get(AgentRow, row.seller_id)
    assert buyer is not None
    assert seller is not None
    wanted = ("input", "output", "input_schema", "output_schema")
    return Evidence(
        seen=seen,
        reason=row.dispute_reason or "",
        veil=veil_of(tx, seen, case),
        buyer=buyer,
        seller=seller,
        listing=tx.get(ListingRow, row.listing_id) if row.listing_id else None,
        documents={name: text_of(tx, getattr(row, name)) for name in wanted},
        messages=found[MOST_MESSAGES - 1 :: -1] if len(found) > MOST_MESSAGES else found[::-1],
        truncated=len(found) > MOST_MESSAGES,
    )


class _Writer:
    """Takes out who the parties are, and counts in which part of the case it did."""

    def __init__(self, veil: Veil) -> None:
        self.veil, self.counts = veil, Counter[str]()

    def text(self, part: str, text: str | None) -> str | None:
        if text is None:
            return None
        shown, count = self.veil.text(text)
        self.counts[part] += count
        return shown

    def data(self, part: str, text: str | None, *, names: bool = False) -> Json:
        if text is None:
            return None
        shown, count = self.veil.data(orjson.loads(text), names=names)
        self.counts[part] += count
        return shown

    def schema(self, part: str, text: str | None) -> Json:
        if text is None:
            return None
        shown, count = self.veil.schema(orjson.loads(text))
        self.counts[part] += count
        return shown


def case_file(found: Evidence) -> tuple[CaseFile, str]:
    """The file, and the buyer's reason as evaluators read it. It grows with what was written: not for the event loop."""
    writer = _Writer(found.veil)
    reason = writer.text("reason", found.reason) or ""
    file = CaseFile(
        job=_job(writer, found, reason),
        listing=_listing(writer, found),
        parties={
            side: {"trust_tier": agent.trust_tier, "first_party": agent.first_party}
            for side, agent in (("buyer", found.buyer), ("seller", found.seller))
        },
        messages=[_message(writer, found, one) for one in found.messages],
        messages_truncated=found.truncated,
        redactions={part: writer.counts[part] for part in ("job", "input", "output", "reason", "listing", "messages")},
    )
    return file, reason


def _job(writer: _Writer, found: Evidence, reason: str) -> dict[str, Json]:
    row = found.seen.row
    return {
        "title": writer.text("job", row.title),
        "category": writer.text("job", row.category),
        "input": writer.data("input", found.documents["input"]),
        "output": writer.data("output", found.documents["output"]),
        "output_hash": row.output,
        "output_bytes": row.output_bytes,
        "price": row.price,
        "display": None if row.price is None else display(row.price),
        "currency": "USDC",
        "units": row.units,
        "payment": row.payment,
        "paid": found.seen.facts.is_paid,
        "quote_message": writer.text("job", row.quote_message),
        "revision_count": row.revision_count,
        "max_revisions": row.max_revisions,
        "dispute_reason": reason,
        "from_bounty": row.bounty_id is not None,
        "created_at": stamp(row.created_at),
        "accepted_at": stamp_or_none(row.accepted_at),
        "deliver_by": stamp_or_none(row.deliver_by),
        "delivered_at": stamp_or_none(row.delivered_at),
    }


def _listing(writer: _Writer, found: Evidence) -> dict[str, Json] | None:
    listing, row = found.listing, found.seen.row
    if listing is None:
        return None
    return {
        "title": writer.text("listing", listing.title),
        "description": writer.text("listing", listing.description),
        "category": writer.text("listing", listing.category),
        "tags": [writer.text("listing", tag) for tag in orjson.loads(listing.tags)],
        "pricing_model": row.pricing_model,
        "unit_name": writer.text("listing", listing.unit_name),
        "payment": row.payment,
        "turnaround_seconds": row.turnaround_seconds,
        "input_schema": writer.schema("listing", found.documents["input_schema"]),
        "output_schema": writer.schema("listing", found.documents["output_schema"]),
        "example_input": writer.data("listing", listing.example_input),
        "example_output": writer.data("listing", listing.example_output),
        "acceptance": writer.data("listing", row.acceptance, names=True),
        "changed_since_order": listing.updated_at > row.created_at,
    }


def _message(writer: _Writer, found: Evidence, row: MessageRow) -> dict[str, Json]:
    job = found.seen.row
    return {
        "from": {job.buyer_id: "buyer", job.seller_id: "seller"}.get(row.sender_id or "", "system"),
        "body": writer.text("messages", row.body),
        "data": writer.data("messages", row.data, names=True),
        "content_warnings": orjson.loads(row.content_warnings),
        "created_at": stamp(row.created_at),
    }


def title_and_category(veil: Veil, row: JobRow) -> dict[str, str]:
    """What an evaluator is told of a case before it reads it."""
    return {"title": veil.text(row.title)[0], "category": veil.text(row.category)[0]}
