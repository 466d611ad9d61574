"""Messages as they are written: one way of posting for agents and for the notes of their actions.

What a thread counts moves in the unit of work of the message, so no reader counts messages.
"""

from dataclasses import dataclass
from math import ceil

import orjson

from storage.messages import stepped_since
from storage.tables import MailboxRow, MessageRow, ThreadKind, ThreadRow
from storage.unit import Tx
from tools.context import Context
from tools.errors import AwaitingReply
from tools.records.eventdata import MessageReceived
from tools.rules.content import warnings
from tools.rules.ids import Prefix
from tools.rules.talk import MOST_UNANSWERED, Run

PREVIEW_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Words:
    """What is posted, screened already."""

    body: str
    data: str | None  # JSON
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Posted:
    """A message, and its thread as it stands after it."""

    thread: ThreadRow
    message: MessageRow


def new_thread(
    ctx: Context,
    kind: ThreadKind,
    agents: tuple[str, str],
    *,
    thread_id: str | None = None,
    job_id: str | None = None,
    bounty_id: str | None = None,
    pair: str | None = None,
) -> ThreadRow:
    """A thread of these two without a message, added."""
    thread_id = thread_id or ctx.new_id(Prefix.THREAD)
    return ctx.tx.add(
        ThreadRow(
            id=thread_id,
            env=ctx.env,
            kind=kind,
            job_id=job_id,
            bounty_id=bounty_id,
            pair=pair,
            a=agents[0],
            b=agents[1],
            latest=_bare(thread_id),
            created_at=ctx.now,
        )
    )


def write(ctx: Context, thread: ThreadRow, words: Words) -> Posted:
    """Post what the caller writes in a thread it holds locked; AwaitingReply where nobody has answered for too long."""
    run = _run_of(thread)
    opens_at = run.opens_at(ctx.agent)
    if opens_at is not None and _acted_since(ctx, thread):
        run, opens_at = Run(), None
    if opens_at is not None and ctx.now < opens_at:
        raise AwaitingReply(
            f"{run.length} messages in a row stand without an answer; one a day is taken until there is one",
            unanswered=run.length,
            limit=MOST_UNANSWERED,
            retry_after_seconds=ceil((opens_at - ctx.now).total_seconds()),
        )
    return _post(ctx, thread, words, run.after(ctx.agent, ctx.now))


def write_note(ctx: Context, thread_id: str, body: str, action: str) -> None:
    """Post an action's note as the agent who wrote it. It is never refused, and counts in no run of its own."""
    thread = ctx.tx.get(ThreadRow, thread_id, lock=True)
    assert thread is not None
    data = orjson.dumps({"via": "job_action", "action": action}).decode()
    _post(ctx, thread, Words(body, data, warnings(body)), _run_of(thread).answered_by(ctx.agent))


def read_up_to(ctx: Context, thread: ThreadRow, message: MessageRow | None) -> ThreadRow:
    """Mark the messages up to this one as read by the caller (None: all). What was read stays read."""
    mine, _ = sides(thread, ctx.agent)
    last = thread if message is None else message
    number = thread.message_count if message is None else message.number
    if number <= getattr(thread, f"read_{mine}"):
        return thread
    from_others = thread.message_count - getattr(thread, f"from_{mine}")
    unread = from_others - (number - getattr(last, f"from_{mine}"))
    _count_unread(ctx.tx, ctx.agent, thread.env, unread - getattr(thread, f"unread_{mine}"))
    return ctx.tx.change(thread, **{f"read_{mine}": number, f"unread_{mine}": unread})


def sides(thread: ThreadRow, agent_id: str) -> tuple[str, str]:
    """The agent's side of the thread, and the other: `a` and `b` in the names of its columns."""
    return ("a", "b") if agent_id == thread.a else ("b", "a")


def other_in(thread: ThreadRow, agent_id: str) -> str:
    return thread.b if agent_id == thread.a else thread.a


def _post(ctx: Context, thread: ThreadRow, words: Words, run: Run) -> Posted:
    mine, theirs = sides(thread, ctx.agent)
    to = other_in(thread, ctx.agent)
    message = ctx.tx.add(
        MessageRow(
            id=ctx.new_id(Prefix.MESSAGE),
            thread_id=thread.id,
            number=thread.message_count + 1,
            from_a=thread.from_a + (mine == "a"),
            from_b=thread.from_b + (mine == "b"),
            sender_id=ctx.agent,
            body=words.body,
            data=words.data,
            content_warnings=orjson.dumps(words.warnings).decode(),
            created_at=ctx.now,
        )
    )
    counts: dict[str, object] = {f"unread_{theirs}": getattr(thread, f"unread_{theirs}") + 1}
    after = ctx.tx.change(
        thread,
        **counts,
        latest=_bare(message.id),
        message_count=message.number,
        from_a=message.from_a,
        from_b=message.from_b,
        run=run.length,
        run_by=run.by,
        run_began_at=run.began_at,
        run_last_at=run.last_at,
        last_message_at=ctx.now,
    )
    _count_unread(ctx.tx, to, thread.env, 1)
    ctx.tx.say(to, thread.env, "message.received", orjson.dumps(_told(thread, message, words)).decode(), ctx.now)
    return Posted(after, message)


def _told(thread: ThreadRow, message: MessageRow, words: Words) -> MessageReceived:
    return {
        "thread_id": thread.id,
        "message_id": message.id,
        "from": message.sender_id or "system",
        "kind": thread.kind.value,
        "job_id": thread.job_id,
        "bounty_id": thread.bounty_id,
        "preview": message.body[:PREVIEW_CHARACTERS],
        "content_warnings": words.warnings,
    }


def _run_of(thread: ThreadRow) -> Run:
    return Run(thread.run_by, thread.run, thread.run_began_at, thread.run_last_at)


def _acted_since(ctx: Context, thread: ThreadRow) -> bool:
    """Whether the other party of a job has taken a step since the run began: that is an answer too."""
    if thread.job_id is None or thread.run_began_at is None:
        return False
    other = other_in(thread, ctx.agent)
    step = ctx.tx.one(stepped_since, job_id=thread.job_id, actor_id=other, since=thread.run_began_at)
    return step is not None


def _count_unread(tx: Tx, agent_id: str, env: str, by: int) -> None:
    if not by:
        return
    row = tx.get(MailboxRow, agent_id, env, lock=True)
    if row is None:
        tx.add(MailboxRow(agent_id=agent_id, env=env, unread=by))
    else:
        tx.change(row, unread=row.unread + by)


def _bare(record_id: str) -> str:
    """The part of an id that sorts by creation, of threads and messages alike."""
    return record_id[len(Prefix.THREAD) :]
