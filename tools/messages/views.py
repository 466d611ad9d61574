"""The records of threads and messages, for one of the thread's two agents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from storage.messages import messages_among
from storage.tables import MessageRow, ThreadRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.logic import handles
from tools.engine.context import TxContext
from tools.engine.errors import NotFound
from tools.kernel.ids import Prefix
from tools.kernel.records import Json, record_from, shortened, spliced
from tools.messages.logic import sides
from tools.messages.records import LastMessage, Message, Talker, Thread

T = TypeVar("T")
LAST_CHARACTERS = 500
SYSTEM = "system"


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
        last_message=None if last is None else _cut(agent_id, last, named),
    )


def _cut(agent_id: str, row: MessageRow, named: Mapping[str, str]) -> LastMessage:
    return _shown(LastMessage, row, agent_id, named, body=shortened(row.body, LAST_CHARACTERS))


def _shown(kind: type[T], row: MessageRow, reader: str, named: Mapping[str, str], **others: Json) -> T:
    return record_from(kind, row, sender=_talker(row.sender_id, named), mine=row.sender_id == reader, **others)


def _talker(agent_id: str | None, named: Mapping[str, str]) -> Talker:
    return Talker(id=SYSTEM, handle=SYSTEM) if agent_id is None else Talker(id=agent_id, handle=named[agent_id])
