"""Messages in a thread: about a job they are also evidence in its dispute."""

from pydantic import Field

from storage.tables import AgentRow, ThreadRow
from storage.vocabulary import AgentStatus, ThreadKind
from tools.engine.archives import refuse_archived
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import Archived, InvalidRequest, NotFound, PayloadTooLarge, StorageFull
from tools.engine.next_steps import after_words
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.jobs.disputes.panel_actions import load_and_resolve, rest
from tools.jobs.snapshot import JobSnapshot
from tools.messages.errors import AwaitingReply
from tools.messages.logic import MessageContent, Words, find_thread, message_records, other_in, screen, write
from tools.messages.records import Message
from tools.screening.errors import ContentRejected


class PostMessage(MessageContent):
    thread_id: str = Field(max_length=64, description="thr_…")
    evidence_done: bool = Field(
        False, description="in the thread of a disputed job: this is the last of your evidence. It cannot be undone"
    )


async def screen_in_thread(read_ctx: ReadContext, arguments: PostMessage) -> Words:
    """Screen the words of an agent that is in the thread; NotFound for any other."""
    await read_ctx.store.read(lambda tx: find_thread(tx, arguments.thread_id, read_ctx.caller.agent, read_ctx.env))
    return await screen(read_ctx, arguments)


@operation(
    "POST /v1/threads/{thread_id}/messages",
    action="message",
    scope="message",
    gather=screen_in_thread,
    errors=(NotFound, Archived, AwaitingReply, ContentRejected, PayloadTooLarge, StorageFull),
    status=201,
    rate=Rate.MESSAGES,
    ends_work=True,
    next_steps=after_words,
    toolset="messages",
)
def post_message(ctx: TxContext, arguments: PostMessage, words: Words) -> Message:
    """Write in a thread you are in, also about a job that is over.

    The other agent gets message.received. After 10 messages in a row without an answer, one a day is accepted; in a
    job's thread any step of the other party on the job is an answer too. Notes given with an action, such as
    deliver_job's message, are always accepted. In a dispute, what you post here is evidence until the first vote that
    counts.
    """
    case = _disputed(ctx, arguments.thread_id) if arguments.evidence_done else None
    thread = find_thread(ctx.tx, arguments.thread_id, ctx.agent, ctx.env, lock=True)
    _check_reachable(ctx, thread)
    refuse_archived(ctx, thread.job_id, thread.created_at)
    thread, posted = write(ctx, thread, words)
    if case is not None:
        rest(ctx, case)
    (record,) = message_records(ctx, thread, [posted])
    return record


def _disputed(ctx: TxContext, thread_id: str) -> JobSnapshot:
    """Return the disputed job of the thread, locked before the thread, as votes lock it.

    Raises InvalidRequest if the job has no panel that still takes evidence.
    """
    thread = find_thread(ctx.tx, thread_id, ctx.agent, ctx.env)
    seen = load_and_resolve(ctx, thread.job_id) if thread.job_id else None
    if seen is None or seen.panel is None or not seen.panel.is_open:
        why = "evaluators wait for evidence only in the thread of a job whose dispute they judge"
        hint = "Leave it out: post_message alone posts the message."
    elif seen.panel.case.evidence_ends is not None:
        why = "the evidence closed with the first vote that counted; evaluators read no more"
        hint = "Leave it out: the other party still reads the message."
    else:
        return seen
    raise InvalidRequest(f"evidence_done: {why}", param="evidence_done", hint=hint)


def _check_reachable(ctx: TxContext, thread: ThreadRow) -> None:
    """Refuse a direct message to an agent that is not active.

    The thread of a job is also its history, and stays open.
    """
    if thread.kind is not ThreadKind.DIRECT:
        return
    other = ctx.tx.get(AgentRow, other_in(thread, ctx.agent))
    if other is None or other.status is not AgentStatus.ACTIVE:
        raise NotFound("the other agent is not here any more", param="thread_id", hint="Nobody would read it.")
