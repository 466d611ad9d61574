"""The oracle of kept texts: what an answer acknowledged is in the rows at the end of a run, also after crashes."""

from datetime import datetime, timedelta
from hashlib import blake2b
from sys import maxsize
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import select

from storage.query import Query
from storage.tables import AgentRow, MemoryRow, MessageRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_messages = Query(select(MessageRow))
_memories = Query(select(MemoryRow))


class Write(NamedTuple):
    """A write under a key of the memory; a later call has a higher number."""

    number: int  # of its call
    ended: int  # the last call that began before its answer
    value: str | None  # the hash of what it left; None: nothing
    until: datetime | None = None  # it may be forgotten from then on


BEFORE_ALL = Write(0, 0, None)


class Kept(Oracle):
    """Each acknowledged message, note in the memory and reason of a job is there at the end.

    A reason counts only if the job shows it, because a call on a job that is stopped already writes nothing. No run
    archives jobs, and an agent that is deleted need not keep its memory.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.messages: dict[str, str] = {}  # by id: the hash
        self.notes: dict[tuple[str, str | None, str], Observation] = {}  # by thread, sender and hash
        self.memory: dict[tuple[str | None, str, str], list[Write]] = {}  # by agent, environment and key

    def observe(self, seen: Observation) -> None:
        operation, given, body = seen.call.operation, seen.call.arguments, seen.answer.body
        if operation in ("put_memory", "delete_memory"):
            self._wrote(seen)
        elif seen.answer.refused:
            return
        elif operation in ("post_message", "start_thread"):
            made = body["message"] if operation == "start_thread" else body
            self.messages[made["id"]] = _hash([given["body"], given.get("data")])
        elif operation in ("decline_job", "cancel_job"):
            text = given.get("reason")
            if text and text == body.get("cancel_reason"):
                self.notes.setdefault((body["thread_id"], seen.agent, _hash(text)), seen)

    def _wrote(self, seen: Observation) -> None:
        """Remember a write, and drop those whose answers came before its call.

        A refused call counts as a write that may come at any later time if an earlier attempt of it got no answer,
        because that may have its effect still.
        """
        if seen.answer.refused and seen.tries == 1:
            return
        call, given = seen.call, seen.call.arguments
        known = self.memory.setdefault((seen.agent, call.env, given["key"]), [BEFORE_ALL])
        seconds = given.get("ttl_seconds")
        value = _hash(given["value"]) if call.operation == "put_memory" else None
        until = None if seconds is None else seen.began + timedelta(seconds=seconds)
        ended = maxsize if seen.answer.refused else self.simulation.made
        if not seen.answer.refused:
            known[:] = [one for one in known if one.ended >= call.number]
        known.append(Write(call.number, ended, value, until))

    async def at_end(self) -> None:
        await self.simulation.read(self._judge)

    def _judge(self, tx: Tx) -> None:
        rows = tx.all(_messages)
        found = {row.id: _hash([row.body, None if row.data is None else orjson.loads(row.data)]) for row in rows}
        for message_id, text in self.messages.items():
            if found.get(message_id) != text:
                raise Violation(f"the message {message_id} is {'other' if message_id in found else 'gone'}")
        noted = {(row.thread_id, row.sender_id, _hash(row.body)) for row in rows}
        for note, seen in self.notes.items():
            if note not in noted:
                raise Violation(f"the note of {seen.call} is not in {note[0]}")
        self._judge_memory(tx)

    def _judge_memory(self, tx: Tx) -> None:
        """Raise Violation unless each key has the value of a write that may be its last."""
        found = {(row.agent_id, row.env, row.key): _hash(orjson.loads(row.value)) for row in tx.all(_memories)}
        latest = max(machine.clock.latest() for machine in self.simulation.machines)
        for key, writes in self.memory.items():
            allowed = {one.value for one in writes}
            if any(one.until is not None and one.until <= latest for one in writes):
                allowed.add(None)
            if found.get(key) not in allowed and self._stays(tx, key[0]):
                raise Violation(f"the memory {key} has {found.get(key)}, after {writes}")

    def _stays(self, tx: Tx, agent_id: str | None) -> bool:
        owner = tx.get(AgentRow, agent_id)
        return owner is not None and owner.status is not AgentStatus.DELETED


def _hash(text: Any) -> str:
    return blake2b(orjson.dumps(text, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()
