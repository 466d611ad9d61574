"""A2A tasks: the record of a job as a task, for requests and for push notifications."""

from dataclasses import replace

from storage.events import newest_event
from storage.messages import messages_of
from storage.tables import ThreadRow
from storage.vocabulary import SettlementKind
from tools.agents.logic import handles
from tools.engine.context import TxContext
from tools.events.webhooks.deliveries import NO_OUTPUT, Posting
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import after_due_move
from tools.jobs.logic import projected
from tools.jobs.payments.logic import settlement_record
from tools.jobs.records import Job, PaymentDue, Task
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.views import job_fields
from tools.kernel.ids import event_id
from tools.kernel.records import encode
from tools.messages.records import Message
from tools.messages.views import message_records


def task_of(ctx: TxContext, job_id: str, messages: int) -> Task:
    """Return the caller's job as a task, with at most `messages` of its newest messages.

    Raises NotFound if the caller is not a party to the job.
    """
    newest = newest_of(ctx)
    seen = find_mine(ctx.tx, job_id, ctx.agent, ctx.env)
    named = handles(ctx.tx, {seen.row.buyer_id, seen.row.seller_id})
    return task_record(ctx, seen, named, newest, newest_messages(ctx, seen, messages))


def newest_of(ctx: TxContext) -> str | None:
    """Return the id of the caller's newest event.

    It is read before the job, so that an event in between is sent twice rather than never.
    """
    number = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env)
    return event_id(number) if number else None


def task_record(
    ctx: TxContext, seen: JobSnapshot, named: dict[str, str], newest: str | None, messages: list[Message]
) -> Task:
    payments = [one for one in seen.settlements if one.kind is SettlementKind.PAYMENT]
    return Task(
        job=Job(**job_fields(ctx, seen, named)),
        context_id=seen.row.context_id or seen.row.thread_id,
        message_id=seen.row.message_id,
        newest_event=newest,
        messages=messages,
        payments=[settlement_record(one, ctx.network, ctx.agent) for one in payments],
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


def task_to_push(ctx: TxContext, posting: Posting) -> tuple[bytes, str]:
    """Return the task's JSON as the webhook's agent sees it now, and the hash of its output."""
    assert posting.task is not None
    owner = replace(ctx.caller, agent_id=posting.agent_id, env=posting.task.env)
    task = task_of(replace(ctx, caller=owner, env=posting.task.env), posting.task.job_id, PUSHED_MESSAGES)
    shows = NO_OUTPUT if task.job.output_sealed else task.job.output_hash
    return encode(task), shows or NO_OUTPUT
