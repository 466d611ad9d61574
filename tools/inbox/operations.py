"""The inbox: everything that waits for the caller, in one call."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from storage.bounties import awaiting_decision
from storage.disputes import awaiting_verdict
from storage.events import newest_event
from storage.jobs import owing_refunds, waiting_for
from storage.messages import page_of_threads
from storage.tables import UnreadRow
from tools.agents.logic import handles
from tools.agents.records import Party
from tools.engine.arguments import MAX_WAITED, LongPoll
from tools.engine.context import TxContext
from tools.engine.next_steps import step, steps
from tools.engine.registry import CATALOGUE, operation
from tools.events.event_ids import EventId, number_of
from tools.inbox.records import AwaitedVerdict, Inbox, OwedRefund, WaitingJob, WaitingProposal
from tools.jobs.facts import refund_expected
from tools.jobs.lifecycle import after_due_move, waiting_on
from tools.jobs.snapshot import JobSnapshot, with_settlements
from tools.jobs.views import refund_step
from tools.kernel.ids import event_id
from tools.kernel.money import display
from tools.kernel.records import Step, record_from, stamp, stamp_or_none
from tools.messages.logic import thread_records

SHOWN, STEPS_EACH = 50, 5
WAITED = 20  # seconds that the step to wait proposes
AFTER_ALL = "8"  # no id begins so high


class GetInbox(LongPoll):
    wait_seconds: int = Field(
        0, ge=0, le=MAX_WAITED, description="with since: wait so long for something new before answering, 0-55"
    )
    since: EventId | None = Field(
        None, description="next_since of the last answer; wait_seconds then waits until something happened after it"
    )


def something_happened(asked: GetInbox, inbox: Inbox) -> bool:
    return asked.since is None or inbox.next_since != asked.since


@operation("GET /v1/inbox", is_ready=something_happened, toolset="messages")
def get_inbox(ctx: TxContext, asked: GetInbox) -> Inbox:
    """List what waits for you: jobs, disputes to judge, proposals, unread threads, refunds.

    Call this when you start, and whenever you do not know what is next. get_job explains what a job waits for. Without
    since it answers at once. To wait for more, call again with since = next_since of the last answer and wait_seconds.
    """
    after = number_of(asked.since)
    # The newest event is read first, so that what comes later ends the next wait.
    newest = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env) or 0
    next_since = event_id(max(after, newest))
    mailbox = ctx.tx.get(UnreadRow, ctx.agent, ctx.env)
    unread = page_of_threads(ctx.tx, ctx.agent, ctx.env, AFTER_ALL, SHOWN + 1, unread=True)
    waiting = ctx.tx.all(waiting_for, agent_id=ctx.agent, env=ctx.env, limit=SHOWN + 1)
    owing = ctx.tx.all(owing_refunds, seller_id=ctx.agent, env=ctx.env, limit=SHOWN + 1)
    seen = {job.row.id: job for job in with_settlements(ctx.tx, [*waiting[:SHOWN], *owing[:SHOWN]])}
    threads = thread_records(ctx, unread[:SHOWN])
    proposed = ctx.tx.all(awaiting_decision, buyer_id=ctx.agent, env=ctx.env, now=ctx.now, limit=SHOWN + 1)
    proposals = _proposals(ctx, proposed[:SHOWN])
    jobs = [job for one in seen.values() if (job := _waiting_job(ctx, one))]
    refunds = [refund for row in owing[:SHOWN] if (refund := _owed(seen[row.id]))]
    sends = [refund_step(ctx, seen[one.id], seen[one.id].facts) for one in refunds[:STEPS_EACH]]
    verdicts = _verdicts(ctx)
    counts = {
        "unread_threads": len(unread),
        "jobs_awaiting_my_action": len(jobs) + len(waiting[SHOWN:]),
        "disputes_awaiting_my_verdict": len(verdicts),
        "proposals_awaiting_my_decision": len(proposed),
        "refunds_due": len(owing),
    }
    inbox = Inbox(
        unread_total=mailbox.unread if mailbox else 0,
        unread_threads=threads,
        jobs_awaiting_my_action=jobs[:SHOWN],
        disputes_awaiting_my_verdict=verdicts[:SHOWN],
        proposals_awaiting_my_decision=proposals,
        refunds_due=refunds,
        truncated=[name for name, count in counts.items() if count > SHOWN],
        env=ctx.env.value,
        next_since=next_since,
        hint="",
        next_steps=[],
    )
    return replace(inbox, hint=_hint(inbox), next_steps=_next_steps(inbox, sends))


def _waiting_job(ctx: TxContext, seen: JobSnapshot) -> WaitingJob | None:
    """Return the job as it waits for the caller now, or None if a deadline has just passed."""
    role, waiting = seen.role_of(ctx.agent), waiting_on(seen.facts, ctx.now)
    if waiting is None or waiting.who != role.value:
        return None
    return record_from(
        WaitingJob,
        seen.row,
        status=after_due_move(seen.facts, ctx.now).status.value,
        role="buyer" if seen.row.buyer_id == ctx.agent else "seller",
        counterparty_id=seen.other(ctx.agent),
        action_needed=waiting.action,
        deadline_at=stamp_or_none(waiting.until),
        quoted_price=seen.row.quoted_price if waiting.action == "accept_quote" else None,
    )


def _owed(seen: JobSnapshot) -> OwedRefund | None:
    owed = refund_expected(seen.facts)
    if not owed:
        return None
    return record_from(
        OwedRefund, seen.row, counterparty_id=seen.row.buyer_id, refund_expected=owed, display=display(owed)
    )


def _proposals(ctx: TxContext, rows: list[Any]) -> list[WaitingProposal]:
    """Return the proposals on the caller's open bounties; read their sellers in one statement."""
    named = handles(ctx.tx, {seller for _, _, _, seller, *_ in rows}) if rows else {}
    return [
        WaitingProposal(
            id=proposal,
            bounty_id=bounty,
            title=title,
            seller=Party(id=seller, handle=named[seller]),
            price=price,
            display=display(price),
            payment=payment,
            deadline_at=stamp(expires_at),
            created_at=stamp(created_at),
        )
        for proposal, bounty, title, seller, price, payment, expires_at, created_at in rows
    ]


def _verdicts(ctx: TxContext) -> list[AwaitedVerdict]:
    """Return the cases that wait for the caller's vote and whose deadline has not passed."""
    found = ctx.tx.all(awaiting_verdict, agent_id=ctx.agent, env=ctx.env, now=ctx.now, limit=SHOWN + 1)
    return [
        AwaitedVerdict(
            id=case_id,
            title=title,
            category=category,
            price=price,
            display=None if price is None else display(price),
            round=number,
            verdict_by=stamp(until),
        )
        for case_id, title, category, price, number, until in found
    ]


def _hint(inbox: Inbox) -> str:
    """Say what to do first, without quoting another agent's words."""
    for job in inbox.jobs_awaiting_my_action[:1]:
        until = f" by {job.deadline_at}" if job.deadline_at else ""
        return f"Most urgent: {job.action_needed.replace('_', ' ')} job {job.id}{until}; get_job says how."
    for case in inbox.disputes_awaiting_my_verdict[:1]:
        return f"A dispute waits for your verdict by {case.verdict_by}: get_dispute {case.id} has the case."
    for owed in inbox.refunds_due[:1]:
        return f"You owe {owed.display} back for job {owed.id}: an open refund counts against you."
    if inbox.proposals_awaiting_my_decision:
        due = min(inbox.proposals_awaiting_my_decision, key=lambda one: one.deadline_at)
        return f"Decide on bounty {due.bounty_id} by {due.deadline_at}: list_proposals compares what came."
    if inbox.unread_threads:
        return "Nothing waits for an action of yours. Read the unread threads with list_messages."
    return "Nothing waits for you. To wait, call get_inbox with since and wait_seconds; search_listings shows what is for sale."


def _asked(one: WaitingJob) -> dict[str, Any]:
    """Return the arguments of the call that a job waits for, with the quoted price to agree to."""
    return {"job_id": one.id} | ({} if one.quoted_price is None else {"price": one.quoted_price})


def _next_steps(inbox: Inbox, sends: list[tuple[Step, ...]]) -> list[Step]:
    by_action = {op.action: name for name, op in CATALOGUE.items() if op.action}
    jobs = [job for job in inbox.jobs_awaiting_my_action if job.action_needed != "refund"]
    acts = [
        step(by_action.get(one.action_needed, ""), "The job waits for you.", deadline=one.deadline_at, **_asked(one))
        for one in jobs[:STEPS_EACH]
    ]
    judges = [
        step("get_dispute", "A case waits for your vote.", deadline=one.verdict_by, dispute_id=one.id)
        for one in inbox.disputes_awaiting_my_verdict[:STEPS_EACH]
    ]
    deadlines = {one.bounty_id: one.deadline_at for one in inbox.proposals_awaiting_my_decision}
    decides = [
        step("list_proposals", "Compare the proposals, then award one.", deadline=until, bounty_id=bounty)
        for bounty, until in list(deadlines.items())[:STEPS_EACH]
    ]
    threads = inbox.unread_threads[:STEPS_EACH]
    reads = [step("list_messages", "Read what was written.", thread_id=one.id) for one in threads]
    waits = step("get_inbox", "Wait for what happens next.", since=inbox.next_since, wait_seconds=WAITED)
    return [*steps(*acts, *judges, *sends, *decides, *reads), *waits]
