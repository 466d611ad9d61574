"""Jobs: lookup for a party, moves by the lifecycle table, what falls due with them, events to both parties."""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

import orjson
from pydantic import Field

from storage.jobs import close_refund
from storage.tables import JobEventRow, JobRow, OpenRefundRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, FINISHED, Actor, ClosedAs, DisputeStatus, JobStatus, Outcome
from tools.engine.arguments import Arguments
from tools.engine.authentication import need_scope
from tools.engine.context import TxContext
from tools.engine.next_steps import wait_step
from tools.engine.registry import Run, operation
from tools.events.payloads import PAYLOADS, JobEvent
from tools.jobs.contributions import count_job
from tools.jobs.daily_counts import count_job_change
from tools.jobs.errors import InvalidTransition, SellerHasNoWalletAddress
from tools.jobs.facts import (
    KEPT_UNPAID,
    JobFacts,
    PaymentStatus,
    forgets_texts,
    how_it_ended,
    payment_status,
    refund_expected,
)
from tools.jobs.lifecycle import JobMove, Waiter, allowed, available_actions, due, due_at, is_repeat, waiting_on
from tools.jobs.panel_rules import Escalate, Escalation
from tools.jobs.snapshot import JobSnapshot, find_mine, load
from tools.jobs.waiting_rules import Attention, attention, pay_first, waits_for
from tools.kernel.errors import Json
from tools.kernel.money import display_or_none
from tools.kernel.records import stamp_or_none, with_words
from tools.listings.absence import pause_deserted
from tools.listings.stats import recount
from tools.messages.logic import write_note
from tools.wallets.errors import WalletAddressRequired


class JobRef(Arguments):
    """One job."""

    job_id: str = Field(max_length=64, description="job_…")


LAST_JOB = "job_~"  # the place after the newest job
JOB_PATH = "/v1/jobs/{job_id}"


def job_action(action: str, *, idempotent: bool = True, **options: Any) -> Callable[[Run], Run]:
    """Register a function as the operation of an action that a party takes on its job."""
    return operation(f"POST {JOB_PATH}/{action}", action=action, idempotent=idempotent, **options)


class JobChanges(TypedDict, total=False):
    """The columns that a move may change beside the status and what follows from it."""

    accept_by: datetime
    accepted_at: datetime
    cancel_reason: str | None
    completed_at: datetime | None
    content_warnings: list[str]
    counted: bool
    deliver_by: datetime
    delivered_at: datetime
    dispute_id: str
    dispute_reason: str
    outcome: str
    output: str
    output_bytes: int
    output_commitment: str
    output_preview: str | None
    output_salt: str
    pay_by: datetime
    pay_from: str | None
    pay_to: str
    price: int | None
    quote_message: str | None
    quoted_price: int
    resolution_note: str | None
    resolved_by: str
    review_by: datetime | None
    revision_count: int
    updated_at: datetime
    worker: str
    lease_until: datetime


ENDS_REFUNDS = frozenset({"job.refunded", "job.paid", "job.resolved"})  # events that may settle a refund
COUNTED = FINISHED | {JobStatus.CANCELLED}  # statuses that change a listing's figures


def own_job_locked(ctx: TxContext, job_id: str) -> JobSnapshot:
    """Return the caller's job, locked, after making the clock's move if one is due."""
    seen = find_mine(ctx.tx, job_id, ctx.agent, ctx.env, lock=True)
    return run_clock(ctx, seen)


def run_clock(ctx: TxContext, seen: JobSnapshot) -> JobSnapshot:
    """Write the clock's move if one is due: deadlines take effect even before a sweep has run."""
    move = due(seen.facts, ctx.now)
    if move is None:
        return seen
    return apply_move(ctx, seen, move, None, data={"by": "clock"}, **clock_changes(seen.row, move))


def move_if_due(ctx: TxContext, row: JobRow) -> bool:
    """Make the clock's move of a job if one is due; return whether it was made."""
    return run_clock(ctx, load(ctx.tx, row)).row is not row


def clock_changes(row: JobRow, move: JobMove) -> JobChanges:
    """Return what the clock's move changes beside the status; the same whenever it is written."""
    assert move.deadline is not None
    changes: JobChanges = {"updated_at": getattr(row, move.deadline) + move.grace}
    if move.target is JobStatus.COMPLETED:
        changes["completed_at"] = row.review_by
    if move.target is JobStatus.CANCELLED:
        changes["cancel_reason"] = "the delivery deadline passed"
    return changes


def require_move(ctx: TxContext, seen: JobSnapshot, action: str) -> JobMove:
    """Return the move that the caller's action makes, or raise InvalidTransition."""
    move = allowed(seen.facts, action, acting_role(ctx, seen), ctx.now)
    if move is None:
        raise refusal(ctx, seen, action)
    return move


def move_or_repeat(ctx: TxContext, seen: JobSnapshot, action: str, *, same_content: bool = False) -> JobMove | None:
    """Return the move that the caller's action makes; None if its result already holds.

    Raises InvalidTransition.
    """
    if is_repeat(seen.facts, action, seen.role_of(ctx.agent), ctx.now, same_content=same_content):
        return None
    return require_move(ctx, seen, action)


def acting_role(ctx: TxContext, seen: JobSnapshot) -> Actor:
    """Return the caller's side of the job; raise Forbidden if its key lacks that side's scope."""
    role = seen.role_of(ctx.agent)
    need_scope(ctx.caller, "buy" if role is Actor.BUYER else "sell")
    return role


def refusal(ctx: TxContext, seen: JobSnapshot, action: str) -> InvalidTransition:
    stands, waiting = refusal_state(ctx, seen), waiting_steps(ctx, seen)
    actions = stands["available_actions"]
    first = pay_first(action, sealed=seen.facts.is_sealed and "pay" in actions)
    patience = [_patience(ctx, seen)] if waiting or actions == ["message"] else first
    return InvalidTransition(
        f"as {seen.role_of(ctx.agent)} you cannot {action.replace('_', ' ')} a job that is {seen.facts.status}",
        hint=" ".join([*patience, *([f"Available now: {', '.join(actions)}."] if actions else [])]),
        next_steps=waiting,
        **stands,
    )


def waiting_steps(ctx: TxContext, seen: JobSnapshot) -> tuple[Json, ...]:
    """Return the step that waits if another party must act; otherwise nothing."""
    waits = waiting_on(seen.facts, ctx.now)
    theirs = waits is not None and waits.who != Waiter(seen.role_of(ctx.agent).value)
    return tuple(asdict(one) for one in wait_step(seen.row.id)) if theirs else ()


def refusal_state(ctx: TxContext, seen: JobSnapshot) -> dict[str, Json]:
    """Return what a refusal says of the job: its status, and the caller's available actions."""
    actions = available_actions(seen.facts, seen.role_of(ctx.agent), ctx.now)
    return {"status": str(seen.facts.status), "available_actions": list(actions)}


def _patience(ctx: TxContext, seen: JobSnapshot) -> str:
    waits = waiting_on(seen.facts, ctx.now)
    if waits is None:
        return "Nothing is left for you to do on this job."
    return f"The job {waits_for(waits.who, waits.action, stamp_or_none(waits.until), waits.then)}"


def apply_move(
    ctx: TxContext,
    seen: JobSnapshot,
    move: JobMove,
    actor_id: str | None,
    *,
    data: dict[str, Json] | None = None,
    note: str | None = None,
    **changes: Unpack[JobChanges],
) -> JobSnapshot:
    """Make a move: update the row, write the audit row, and send an event to both parties.

    Also sends the events of a payment or a refund that the move makes due, and posts the caller's note to the job's
    thread. All of it is in this unit of work.
    """
    columns: dict[str, object] = {"updated_at": ctx.now, **changes}
    columns |= {"status": move.target.value, "closed_as": move.closes and move.closes.value}
    moved = replace(seen, row=seen.row.with_(**columns))
    columns["forget_at"] = ctx.now + KEPT_UNPAID if forgets_texts(moved.facts) else None
    row = ctx.tx.change(seen.row, **columns, **waiting_columns(moved, stored_waiting(seen.row), ctx.now))
    after = replace(seen, row=row)
    count_job_change(ctx.tx, seen, after)
    assert move.event is not None
    record_event(ctx, after, move.event, actor_id, (data or {}) | how_it_ended(move.event, after.facts))
    emit_due_events(ctx, seen.facts, after)
    if move.target in COUNTED:
        recount(ctx.tx, row, after.settlements)
    if move.target in FINAL or move.source in FINAL:  # a payment may revive a job
        count_job(ctx.tx, after, ctx.now)
    post_note(ctx, after, note, move.action)
    if row.listing_id is not None and move.closes is ClosedAs.ACCEPT_TIMEOUT:
        pause_deserted(ctx, row.listing_id)
    return after


def emit_due_events(ctx: TxContext, before: JobFacts, after: JobSnapshot) -> None:
    """Send an event when a payment falls due, and whenever the refund due has grown."""
    facts, row = after.facts, after.row
    due_now = payment_status(facts, ctx.now) is PaymentStatus.DUE
    if due_now and payment_status(before, ctx.now) is not PaymentStatus.DUE:
        told = {"amount": (row.price or 0) - facts.partial_minor, "pay_to": row.pay_to, "pay_from": row.pay_from}
        record_event(ctx, after, "job.payment_due", None, told)
    owed = refund_expected(facts)
    if owed > refund_expected(before):
        record_event(ctx, after, "job.refund_due", None, {"refund_expected": owed})


def record_event(ctx: TxContext, seen: JobSnapshot, event: str, actor_id: str | None, data: dict[str, Json]) -> None:
    """Write a job's audit row, and send the event to both parties."""
    row, data = seen.row, with_words(data, PAYLOADS[event])
    ctx.tx.append(
        JobEventRow,
        job_id=row.id,
        type=event.removeprefix("job."),
        actor_id=actor_id,
        data=orjson.dumps(data).decode() if data else None,
        created_at=ctx.now,
    )
    common = common_data(seen, ctx.now)
    _index_refund(ctx.tx, row, event, due=common["refund_due"])
    text = orjson.dumps({**common, **data}).decode()
    for party in dict.fromkeys(seen.parties):
        ctx.tx.emit(party, row.env, event, text, ctx.now)


def common_data(seen: JobSnapshot, now: datetime) -> JobEvent:
    """Return the fields of every job.* event."""
    row, facts = seen.row, seen.facts
    return {
        "job_id": row.id,
        "listing_id": row.listing_id,
        "status": row.status,
        "title": row.title,
        "buyer_id": row.buyer_id,
        "seller_id": row.seller_id,
        "price": row.price,
        "price_display": display_or_none(row.price),
        "currency": "USDC",
        "payment": facts.timing.value,
        "payment_status": payment_status(facts, now).value,
        "paid": facts.is_paid,
        "refund_due": refund_expected(facts) > 0,
        "thread_id": row.thread_id,
        "pay_by": stamp_or_none(row.pay_by),
    }


def post_note(ctx: TxContext, seen: JobSnapshot, body: str | None, action: str) -> None:
    """Post an action's note to the job's thread as a message of the caller."""
    if body:
        write_note(ctx, seen.row.thread_id, body, action)


def with_waiting_columns(row: JobRow, now: datetime) -> JobRow:
    """Return a new job's row with the columns of the party that must act, and of the clock."""
    return row.with_(**waiting_columns(JobSnapshot(row), stored_waiting(row), now))


def waiting_columns(seen: JobSnapshot, before: Attention, now: datetime) -> dict[str, object]:
    """Return the columns of what comes next: the party, its deadline and reminder, the clock."""
    found = attention(seen.facts, now, before)
    party = {Actor.BUYER: seen.row.buyer_id, Actor.SELLER: seen.row.seller_id}
    return {
        "waits_for": found.party and party[found.party],
        "act_by": found.act_by,
        "notice_at": found.notice_at,
        "clock_at": due_at(seen.facts),
    }


def stored_waiting(row: JobRow) -> Attention:
    """Read the attention columns of a row."""
    party = None if row.waits_for is None else Actor.BUYER if row.waits_for == row.buyer_id else Actor.SELLER
    return Attention(party, row.act_by, row.notice_at)


def _index_refund(tx: Tx, row: JobRow, event: str, *, due: bool) -> None:
    """Add the job to the index of refunds due, or remove it after an event that settled one."""
    if due:
        tx.insert_if_absent(OpenRefundRow(job_id=row.id, seller_id=row.seller_id, env=row.env))
    elif event in ENDS_REFUNDS:
        tx.run(close_refund, job_id=row.id)


def projected(seen: JobSnapshot, now: datetime) -> JobSnapshot:
    """Return the job as its panel's deadline leaves it, if that is not written yet."""
    found = seen.panel and seen.panel.foreseen(now)
    if seen.panel is None or not found:
        return seen
    case = seen.panel.case
    if isinstance(found, Escalate):
        return replace(seen, panel=replace(seen.panel, case=case.with_(**escalated_changes(found.reason))))
    decided_at = seen.panel.decided_at(now)
    changes = resolved_changes(found.outcome, "panel", decided_at)
    decided = {"status": JobStatus.RESOLVED.value, "closed_as": ClosedAs.VERDICT.value}
    return replace(seen, row=seen.row.with_(**changes, **decided, updated_at=decided_at))


def escalated_changes(reason: Escalation) -> dict[str, object]:
    """Return the columns of a case that its escalation changes."""
    return {"status": DisputeStatus.ESCALATED, "escalation_reason": reason.value, "verdict_by": None}


def resolved_changes(outcome: Outcome, by: str, at: datetime) -> JobChanges:
    """Return the columns that a verdict changes beside the status."""
    changes: JobChanges = {"outcome": outcome.value, "resolved_by": by}
    return changes if outcome is Outcome.BUYER else {**changes, "completed_at": at}


def in_seconds(ctx: TxContext, seconds: int) -> datetime:
    return ctx.now + timedelta(seconds=seconds)


def agreed(
    ctx: TxContext, seen: JobSnapshot, move: JobMove, since: datetime | None = None, **changes: Unpack[JobChanges]
) -> JobSnapshot:
    """Make the move and set the deadline for the delivery, or for the payment if it comes first.

    The work counts from `since`, or from now.
    """
    begun = since or ctx.now
    if move.target is JobStatus.AWAITING_PAYMENT:
        changes.update(payment_falls_due(ctx, seen, ctx.windows.payment_seconds))
    else:
        changes["deliver_by"] = begun + timedelta(seconds=seen.row.turnaround_seconds)
    changes["accepted_at"] = begun
    told = {"payment_due": move.target is JobStatus.AWAITING_PAYMENT}
    return apply_move(ctx, seen, move, ctx.agent, data=told, **changes)


def payment_falls_due(ctx: TxContext, seen: JobSnapshot, window_seconds: int) -> JobChanges:
    """Return the payment terms to freeze on the job: payee wallet, payer wallet and deadline.

    Raises WalletAddressRequired or SellerHasNoWalletAddress.
    """
    payee = ctx.tx.get(WalletRow, seen.row.seller_id, ctx.env)
    if payee is None and ctx.agent == seen.row.seller_id:
        raise WalletAddressRequired("a priced job needs a wallet to be paid at")
    if payee is None:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    payer = ctx.tx.get(WalletRow, seen.row.buyer_id, ctx.env)
    return {
        "pay_to": payee.address,
        "pay_from": payer.address if payer else None,
        "pay_by": in_seconds(ctx, window_seconds),
    }
