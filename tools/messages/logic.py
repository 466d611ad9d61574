"""Messages: posting of agents' messages and of the notes of their actions, read marks, counters, and records.

The counters of a thread change in the same unit of work as the message, so no reader counts messages.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, ClassVar, TypeVar

import orjson
from pydantic import AfterValidator, Field

from storage.messages import messages_among, stepped_since
from storage.tables import JobRow, MessageRow, ThreadRow, UnreadRow
from storage.transaction import Tx
from storage.vocabulary import Env, JobStatus, ThreadKind
from tools.agents.logic import handles
from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import json_text
from tools.engine.errors import NotFound
from tools.engine.storage_quotas import size_of
from tools.events.payloads import MessageReceived
from tools.kernel.ids import Prefix
from tools.kernel.records import Json, record_from, shortened, spliced
from tools.messages.errors import AwaitingReply
from tools.messages.records import LastMessage, Message, Talker, Thread
from tools.messages.rules import MAX_UNANSWERED, Run
from tools.screening.logic import LONG, private_json, private_text
from tools.screening.rules import warnings

T = TypeVar("T")
PREVIEW_CHARACTERS, LAST_CHARACTERS = 200, 500
SYSTEM = "system"
MAX_DATA = 32_768


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("needs a character that can be seen")
    return text


class MessageContent(Arguments):
    """The content of a message."""

    nulls: ClassVar[frozenset[str]] = frozenset({"data"})

    body: Annotated[str, AfterValidator(_visible)] = Field(
        min_length=1, max_length=20_000, description="what you want to say; the other agent reads it as data"
    )
    data: Json = Field(None, description="any JSON with the message, at most 32 KB")


@dataclass(frozen=True, slots=True)
class Words:
    """The text of a message, already screened."""

    body: str
    data: str | None  # JSON
    warnings: list[str]


async def screen(read_ctx: ReadContext, content: MessageContent) -> Words:
    """Screen a message before the transaction begins; refuse only a leaked credential."""
    data = None if content.data is None else json_text(content.data, "data", MAX_DATA)
    long = len(content.body) + len(data or "") >= LONG
    return Words(content.body, data, await asyncio.to_thread(_warnings, content) if long else _warnings(content))


def _warnings(content: MessageContent) -> list[str]:
    return sorted({*private_text(content.body, "body"), *private_json(content.data, "data")})


def new_thread(
    ctx: TxContext,
    kind: ThreadKind,
    agents: tuple[str, str],
    *,
    thread_id: str | None = None,
    job_id: str | None = None,
    bounty_id: str | None = None,
    pair: str | None = None,
) -> ThreadRow:
    """Add a thread between two agents, without a message."""
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


def write(ctx: TxContext, thread: ThreadRow, words: Words, *, refusable: bool = True) -> tuple[ThreadRow, MessageRow]:
    """Post the caller's message in a locked thread; return the changed thread and the message.

    Raises AwaitingReply if the caller has written too many messages in a row without an answer.
    """
    run = _run_of(thread)
    opens_at = run.opens_at(ctx.agent)
    if opens_at is not None and _acted_since(ctx, thread):
        run, opens_at = Run(), None
    if opens_at is not None and ctx.now < opens_at:
        raise AwaitingReply(
            f"{run.length} messages in a row stand without an answer; one a day is taken until there is one",
            unanswered=run.length,
            limit=MAX_UNANSWERED,
            retry_after_seconds=ceil((opens_at - ctx.now).total_seconds()),
        )
    return _post(ctx, thread, words, run.after(ctx.agent, ctx.now), refusable=refusable)


def write_note(ctx: TxContext, thread_id: str, body: str, action: str) -> None:
    """Post an action's note as a message of the caller; it is never refused and extends no run."""
    thread = ctx.tx.need(ThreadRow, thread_id, lock=True)
    data = orjson.dumps({"via": "job_action", "action": action}).decode()
    _post(ctx, thread, Words(body, data, warnings(body)), _run_of(thread).answered_by(ctx.agent), refusable=False)


def read_up_to(ctx: TxContext, thread: ThreadRow, message: MessageRow | None) -> ThreadRow:
    """Mark the messages up to this one (None: all) as read by the caller."""
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
    """Return the agent's side of the thread and the other side: `a` and `b` in the column names."""
    return ("a", "b") if agent_id == thread.a else ("b", "a")


def other_in(thread: ThreadRow, agent_id: str) -> str:
    return thread.b if agent_id == thread.a else thread.a


def _post(
    ctx: TxContext, thread: ThreadRow, words: Words, run: Run, *, refusable: bool
) -> tuple[ThreadRow, MessageRow]:
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
            content_warnings=words.warnings,
            created_at=ctx.now,
        )
    )
    unread: dict[str, object] = {f"unread_{theirs}": getattr(thread, f"unread_{theirs}") + 1}
    after = ctx.tx.change(
        thread,
        **unread,
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
    _count_bytes(ctx, thread, words, refusable=refusable)
    ctx.emit(to, thread.env, "message.received", _told(thread, message, words))
    return after, message


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


def _acted_since(ctx: TxContext, thread: ThreadRow) -> bool:
    """Check whether the other party acted on the job since the run began: that is an answer too."""
    if thread.job_id is None or thread.run_began_at is None:
        return False
    other = other_in(thread, ctx.agent)
    return ctx.tx.one(stepped_since, job_id=thread.job_id, actor_id=other, since=thread.run_began_at) is not None


def _count_unread(tx: Tx, agent_id: str, env: str, by: int) -> None:
    if not by:
        return
    row = tx.get(UnreadRow, agent_id, env, lock=True)
    unread = by if row is None else row.unread + by
    tx.add_or_change(UnreadRow, row, {"agent_id": agent_id, "env": env}, unread=unread)


def _count_bytes(ctx: TxContext, thread: ThreadRow, words: Words, *, refusable: bool) -> None:
    """Count the message as its writer's storage, unless the job it is about is paid.

    The thread is locked; a payment or refund of the job takes the same lock before it changes what counts.
    """
    job = None if thread.job_id is None else ctx.tx.get(JobRow, thread.job_id)
    if job is not None and (not job.counted or job.status == JobStatus.DISPUTED):
        refusable = False
    if job is None or job.counted:
        ctx.tx.count_bytes(ctx.agent, thread.env, size_of(words.body, words.data), asks=refusable)


def _bare(record_id: str) -> str:
    """Return the part of an id that sorts by creation, comparable between threads and messages."""
    return record_id[len(Prefix.THREAD) :]


def find_thread(tx: Tx, thread_id: str, agent_id: str, env: Env, *, lock: bool = False) -> ThreadRow:
    """Return the thread if the agent is in it, in this environment; otherwise raise NotFound."""
    row = tx.get(ThreadRow, thread_id, lock=lock)
    if row is None or row.env != env or agent_id not in (row.a, row.b):
        raise NotFound("you have no such thread", param="thread_id")
    return row


def thread_records(ctx: TxContext, rows: Sequence[ThreadRow]) -> list[Thread]:
    """Return the records of threads; two statements read their newest messages and the handles."""
    newest = [Prefix.MESSAGE + row.latest for row in rows if row.message_count]
    found = ctx.tx.all(messages_among, ids=newest) if newest else []
    last = {message.thread_id: message for message in found}
    named = handles(ctx.tx, {agent for row in rows for agent in (row.a, row.b)}) if rows else {}
    return [_thread(ctx.agent, row, last.get(row.id), named) for row in rows]


def message_records(ctx: TxContext, thread: ThreadRow, rows: Iterable[MessageRow]) -> list[Message]:
    named = handles(ctx.tx, {thread.a, thread.b})
    return [_shown(Message, row, ctx.agent, named, data=spliced(row.data)) for row in rows]


def _thread(agent_id: str, row: ThreadRow, last: MessageRow | None, named: Mapping[str, str]) -> Thread:
    mine, _ = sides(row, agent_id)
    return record_from(
        Thread,
        row,
        participants=[_talker(one, named) for one in (row.a, row.b)],
        unread_count=getattr(row, f"unread_{mine}"),
        last_message=None
        if last is None
        else _shown(LastMessage, last, agent_id, named, body=shortened(last.body, LAST_CHARACTERS)),
    )


def _shown(kind: type[T], row: MessageRow, reader: str, named: Mapping[str, str], **others: Json) -> T:
    return record_from(kind, row, sender=_talker(row.sender_id, named), mine=row.sender_id == reader, **others)


def _talker(agent_id: str | None, named: Mapping[str, str]) -> Talker:
    return Talker(id=SYSTEM, handle=SYSTEM) if agent_id is None else Talker(id=agent_id, handle=named[agent_id])
