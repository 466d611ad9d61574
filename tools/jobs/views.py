"""The record of a job for one of its parties, as of now."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypedDict, TypeVar

from storage.events import newest_event
from storage.messages import messages_of
from storage.tables import JobDeliveryRow, JobRow, ThreadRow, WebhookRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Actor, Env, JobStatus, SettlementKind, SettlementStatus
from tools.agents.logic import handles
from tools.agents.records import Party
from tools.engine.archives import archived_among
from tools.engine.context import TxContext
from tools.engine.documents import Document
from tools.engine.next_steps import step, steps, wait_step
from tools.engine.registry import CATALOGUE
from tools.events.webhooks.deliveries import NO_OUTPUT
from tools.jobs.disputes.views import party_steps
from tools.jobs.facts import JobFacts, PaymentStatus, cancel_kind, payment_status, refund_expected
from tools.jobs.lifecycle import (
    PendingAction,
    Waiter,
    after,
    after_due_move,
    available_actions,
    due,
    waiting_on,
)
from tools.jobs.logic import clock_changes, projected
from tools.jobs.payments.logic import settlement_record
from tools.jobs.payments.records import Settlement
from tools.jobs.records import Deadlines, DeliveryRef, Job, JobCreated, JobPayment, PaymentDue, Task, WaitingOn
from tools.jobs.sealing_rules import rounded_size
from tools.jobs.snapshot import JobSnapshot, find_mine, load_all
from tools.jobs.stored_texts import INPUT, JobTexts, read_texts
from tools.kernel.canonical_json import sha256_hex
from tools.kernel.ids import event_id
from tools.kernel.money import display_or_none
from tools.kernel.records import Json, Step, encode, made_of, record_from, shown_columns, spliced, stamp_or_none
from tools.listings.acceptance import checks_of
from tools.messages.logic import message_records
from tools.messages.records import Message

J = TypeVar("J", bound=Job)
_SELLERS_OWN = ("worker", "lease_until")
_BUYERS_OWN = ("reference", "max_price")  # a seller that knew max_price would quote it


def job_record(ctx: TxContext, seen: JobSnapshot) -> Job:
    """Return the record of the job for the caller."""
    texts = JobTexts(ctx.tx, archived_among(ctx.tx, [seen.row], ctx.now))
    return _record(Job, ctx, seen, handles_in(ctx.tx, [seen.row]), texts)


def job_records(ctx: TxContext, rows: Sequence[JobRow]) -> Iterator[tuple[JobSnapshot, Job]]:
    """Yield jobs with their records for the caller, all read in a few statements.

    The iterator needs no transaction: if some texts are too large to be read ahead, the records are made now.
    """
    jobs, named = load_all(ctx.tx, rows), handles_in(ctx.tx, rows)
    texts = read_texts(ctx.tx, jobs, ctx.now)
    made = ((seen, _record(Job, ctx, seen, named, texts)) for seen in jobs)
    return made if texts.is_whole else iter([*made])


def created_record(
    ctx: TxContext,
    seen: JobSnapshot,
    warned: list[dict[str, str]],
    *,
    given: Document | None = None,
    named: Mapping[str, str] | None = None,
) -> JobCreated:
    """Return the record of a new job for its buyer, with warnings.

    `given` is its input, if it was stored just now, and `named` are the handles of its parties, if they were read.
    """
    texts = JobTexts(ctx.tx)
    if given is not None:
        texts.known[seen.row.id, INPUT] = given.text.decode()
    return _record(JobCreated, ctx, seen, named or handles_in(ctx.tx, [seen.row]), texts, warnings=warned)


def handles_in(tx: Tx, rows: Iterable[JobRow]) -> dict[str, str]:
    """Return the handles of the parties of these jobs, by agent id."""
    return handles(tx, {agent for row in rows for agent in (row.buyer_id, row.seller_id)})


def _record(
    kind: type[J],
    ctx: TxContext,
    seen: JobSnapshot,
    named: Mapping[str, str],
    texts: JobTexts,
    **others: Any,
) -> J:
    """Return a record of a job; the clock's due moves are shown as if they were written."""
    seen = projected(seen, ctx.now)
    move = due(seen.facts, ctx.now)
    facts = after(seen.facts, move) if move else seen.facts
    row = seen.row.with_(**clock_changes(seen.row, move)) if move else seen.row
    role = seen.role_of(ctx.agent)
    actions = list(available_actions(facts, role, ctx.now))
    payment, waiting = _payment(ctx, seen, facts), waiting_on(facts, ctx.now)
    return record_from(
        kind,
        row,
        status=facts.status.value,
        role=role.value,
        available_actions=actions,
        waiting_on=waiting and record_from(WaitingOn, waiting),
        buyer=made_of(Party, {"id": row.buyer_id, "handle": named[row.buyer_id]}),
        seller=made_of(Party, {"id": row.seller_id, "handle": named[row.seller_id]}),
        input=spliced(texts.input_of(row)),
        archived_at=stamp_or_none(texts.archived.get(row.id)),
        **dict.fromkeys(_BUYERS_OWN) if role is Actor.SELLER else shown_columns(row, *_BUYERS_OWN),
        **dict.fromkeys(_SELLERS_OWN) if role is Actor.BUYER else shown_columns(row, *_SELLERS_OWN),
        output=None if facts.is_sealed else spliced(texts.output_of(row)),
        output_sealed=facts.is_sealed,
        **marks_of(row, sealed=facts.is_sealed, to_seller=role is Actor.SELLER),
        output_preview=spliced(texts.previews.get(row.output_preview)),
        deliveries=_deliveries(seen, facts.is_sealed, role),
        acceptance=spliced(row.acceptance),
        checks=checks_of(row.acceptance, row.output is not None),
        payment=payment,
        refund_due=payment.refund_due,
        refund_expected=payment.refund_expected,
        refund=payment.refund,
        deadlines=record_from(Deadlines, row),
        panel_seed_hash=sha256_hex(row.panel_seed),
        cancel_kind=cancel_kind(facts),
        unpaid=facts.is_unpaid,
        resolution=_resolution(row),
        next_steps=_next_steps(ctx, seen, facts, role, actions, waiting),
        **others,
    )


def _deliveries(seen: JobSnapshot, sealed: bool, role: Actor) -> list[DeliveryRef]:
    """Return every delivery so far, the oldest first."""
    row = seen.row
    made: list[tuple[int, JobRow | JobDeliveryRow]] = [(one.revision, one) for one in seen.deliveries]
    if not made and row.output is not None:
        made = [(0, row)]
    return [
        record_from(DeliveryRef, one, revision=revision, **marks_of(one, sealed=sealed, to_seller=role is Actor.SELLER))
        for revision, one in made
    ]


def _payment(ctx: TxContext, seen: JobSnapshot, facts: JobFacts) -> JobPayment:
    row, network, owed = seen.row, ctx.network, refund_expected(facts)
    return record_from(
        JobPayment,
        row,
        timing=facts.timing.value,
        status=payment_status(facts, ctx.now).value,
        amount=row.price,
        display=display_or_none(row.price),
        network=network.id,
        chain_id=network.chain_id,
        asset=network.asset,
        pay_url=f"{ctx.config.base_url}/v1/jobs/{row.id}/pay",
        paid_at=stamp_or_none(facts.paid_at),
        settlement=_latest(ctx, seen, SettlementKind.PAYMENT),
        refund_due=owed > 0,
        refund_expected=owed or None,
        refund=_latest(ctx, seen, SettlementKind.REFUND),
    )


def _latest(ctx: TxContext, seen: JobSnapshot, kind: SettlementKind) -> Settlement | None:
    """Return the last settlement that was settled; if there is none, the last one recorded."""
    rows = (one for one in seen.settlements if one.kind is kind)
    best = max(rows, key=lambda one: (one.status is SettlementStatus.SETTLED, one.id), default=None)
    return None if best is None else settlement_record(best, ctx.network, ctx.agent)


def _resolution(row: JobRow) -> dict[str, Json] | None:
    if row.resolved_by is None:
        return None
    return {"outcome": row.outcome, "note": row.resolution_note, "by": row.resolved_by}


_WHY = {
    "accept": "Agree, and the job goes on.",
    "decline": "Say no; a reason helps the buyer.",
    "deliver": "Hand over the finished work.",
    "pay": "Read the terms, send the USDC, then call again with the transaction hash.",
    "cancel": "Stop the job.",
    "review": "Rate the other party; permanent.",
    "quote": "Name your price.",
    "accept_quote": "Agree to the quoted price.",
    "request_revision": "Ask for changes.",
    "dispute": "Have the delivery judged.",
    "message": "Write to the other party.",
}


def _next_steps(
    ctx: TxContext,
    seen: JobSnapshot,
    facts: JobFacts,
    role: Actor,
    actions: list[str],
    waiting: PendingAction | None,
) -> list[Step]:
    until = stamp_or_none(waiting.until) if waiting and waiting.who == Waiter(role.value) else None
    found = [
        refund_step(ctx, seen, facts)
        if action == "refund"
        else step(
            _by_action()[action],
            _why(facts, action),
            deadline=None if action == "message" else until,  # the thread stays open
            **_asked(action, seen.row),
        )
        for action in actions
        if action not in _left_out(seen, facts)
    ]
    if facts.status is JobStatus.DISPUTED and seen.panel is not None:
        found.insert(0, tuple(party_steps(seen.panel, role.value, seen.row.thread_id)))
    elif waiting and waiting.who != Waiter(role.value):
        found.insert(0, wait_step(seen.row.id))
    if facts.is_paid:
        found.append(step("get_receipt", "Fetch the signed receipt.", job_id=seen.row.id))
    return steps(*found)


@cache
def _by_action() -> dict[str, str]:
    """Return the operation of each action; the catalogue is complete once a job is shown."""
    return {op.action: name for name, op in CATALOGUE.items() if op.action}


def _left_out(seen: JobSnapshot, facts: JobFacts) -> tuple[str, ...]:
    """Return the actions without a step: party_steps has those of a dispute, others rarely help."""
    quoted, most = seen.row.quoted_price, seen.row.max_price
    if facts.status is JobStatus.QUOTED and quoted is not None and most is not None and quoted > most:
        return ("accept_quote",)
    if facts.status is JobStatus.DISPUTED:
        return ("message", "withdraw_dispute")
    return ("message",) if facts.status in FINAL else ()


def _why(facts: JobFacts, action: str) -> str:
    if action == "accept" and facts.status is JobStatus.DELIVERED:
        return "Take the delivery: the job is completed."
    return _WHY[action]


def refund_step(ctx: TxContext, seen: JobSnapshot, facts: JobFacts) -> tuple[Step, ...]:
    """Return the step that proves a refund; it names the amount and the wallet."""
    paid = _latest(ctx, seen, SettlementKind.PAYMENT)
    payer = paid.payer_address if paid else "the wallet that paid"
    why = f"Send {refund_expected(facts)} USDC minor units to {payer}, then call with the transaction hash."
    return step("refund_job", why, job_id=seen.row.id, transaction="<0x and 64 hex>")


def _asked(action: str, row: JobRow) -> dict[str, Json]:
    """Return the arguments of an action's call: a message names the thread, others the job."""
    if action == "message":
        return {"thread_id": row.thread_id}
    return {"job_id": row.id} | ({"price": row.quoted_price} if action == "accept_quote" else {})


class OutputMarks(TypedDict):
    """The fields that describe an output in every record."""

    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None


def marks_of(row: JobRow | JobDeliveryRow, *, sealed: bool, to_seller: bool = False) -> OutputMarks:
    """Return the fields of an output that the reader may see.

    While the output is sealed, only the seller sees its hash and exact size.
    """
    hidden = sealed and not to_seller
    size = row.output_bytes
    return {
        "output_hash": None if hidden else row.output,
        "output_commitment": row.output_commitment,
        "output_salt": None if sealed else row.output_salt,
        "output_bytes": rounded_size(size) if hidden and size is not None else size,
    }


def task_of(ctx: TxContext, job_id: str, messages: int) -> Task:
    """Return the caller's job as a task, with at most `messages` of its newest messages.

    Raises NotFound if the caller is not a party to the job.
    """
    newest = newest_of(ctx)
    seen = find_mine(ctx.tx, job_id, ctx.agent, ctx.env)
    return task_record(ctx, seen, job_record(ctx, seen), newest, newest_messages(ctx, seen, messages))


def newest_of(ctx: TxContext) -> str | None:
    """Return the id of the caller's newest event.

    It is read before the job, so that an event in between is sent twice rather than never.
    """
    number = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env)
    return event_id(number) if number else None


def task_record(ctx: TxContext, seen: JobSnapshot, job: Job, newest: str | None, messages: list[Message]) -> Task:
    return Task(
        job=job,
        context_id=seen.row.context_id or seen.row.thread_id,
        message_id=seen.row.message_id,
        newest_event=newest,
        messages=messages,
        payments=[settlement_record(one, ctx.network, ctx.agent) for one in seen.payments],
        due=_due(ctx, projected(seen, ctx.now)),
    )


def _due(ctx: TxContext, seen: JobSnapshot) -> PaymentDue | None:
    facts = after_due_move(seen.facts, ctx.now)
    if payment_status(facts, ctx.now) is not PaymentStatus.DUE:
        return None
    ends = seen.row.pay_by
    return PaymentDue(
        amount=(seen.row.price or 0) - facts.partial_minor,
        confirmations=ctx.network.confirmations,
        seconds_left=0 if ends is None else max(0, int((ends - ctx.now).total_seconds())),
    )


def newest_messages(ctx: TxContext, seen: JobSnapshot, most: int) -> list[Message]:
    """Return at most `most` of the thread's newest messages, the oldest of them first."""
    thread = ctx.tx.get(ThreadRow, seen.row.thread_id) if most else None
    if thread is None or not thread.message_count:
        return []
    rows = ctx.tx.all(messages_of(newest_first=True), thread_id=thread.id, place=thread.message_count + 1, limit=most)
    return message_records(ctx, thread, reversed(rows))


PUSHED_MESSAGES = 10  # the newest of the thread; GetTask returns the rest


def task_to_push(ctx: TxContext, webhook: WebhookRow) -> tuple[bytes, str]:
    """Return the task's JSON as the webhook's agent sees it now, and the hash of its output."""
    assert webhook.job_id is not None
    env = Env(webhook.env)
    owner = replace(ctx.caller, agent_id=webhook.agent_id, env=env)
    task = task_of(replace(ctx, caller=owner, env=env), webhook.job_id, PUSHED_MESSAGES)
    shows = NO_OUTPUT if task.job.output_sealed else task.job.output_hash
    return encode(task), shows or NO_OUTPUT
