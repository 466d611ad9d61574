"""The oracles of two limits: unanswered messages in a row, and webhooks of an agent."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import select

from storage.query import Query
from storage.tables import JobEventRow, MessageRow, ThreadRow, WebhookRow
from storage.transaction import Tx
from tests.simulation.evidence import Made
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

WEBHOOKS = 10  # of an agent in an environment
UNANSWERED = 10  # messages in a row; after them the market takes one a day
DAY = timedelta(days=1)
COMMITTED = timedelta(seconds=60)  # a unit of work is committed by then, counted from its time
STOPPED = timedelta(seconds=360)  # or by then, if its process may stop

_message, _thread = MessageRow.__table__.c, ThreadRow.__table__.c
_act, _hook = JobEventRow.__table__.c, WebhookRow.__table__.c
_threads: Query[Any] = Query(select(_thread.id, _thread.kind, _thread.env, _thread.job_id, _thread.a, _thread.b))
_messages: Query[Any] = Query(
    select(_message.thread_id, _message.id, _message.sender_id, _message.data, _message.created_at).order_by(
        _message.thread_id, _message.number
    )
)
_acts: Query[Any] = Query(select(_act.job_id, _act.actor_id, _act.created_at))
_webhooks: Query[Any] = Query(select(_hook.id, _hook.agent_id, _hook.env).where(_hook.source == "registered"))


class Places(Oracle):
    """No agent has more webhooks than the limit, and none is refused below it."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.made: dict[tuple[str | None, str], dict[str, int]] = defaultdict(dict)  # by owner and id: a call's number
        self.deleted: dict[str, int] = {}  # by id: the last call that began before the answer
        self.refused: list[tuple[Observation, int]] = []  # with the last call that began before the answer

    def observe(self, seen: Observation) -> None:
        call, ended = seen.call, self.simulation.made
        if call.operation == "create_webhook" and (seen.tries > 1 or not seen.answer.refused):  # perhaps made
            webhook_id = seen.answer.body.get("id", f"of call {call.number}")
            self.made[seen.agent, call.env].setdefault(webhook_id, call.number)
        elif call.operation == "create_webhook" and seen.answer.code == "webhook_limit":
            self.refused.append((seen, ended))
        elif call.operation == "delete_webhook" and not seen.answer.refused:
            self.deleted.setdefault(call.arguments["webhook_id"], ended)
        elif call.operation == "list_webhooks" and not seen.answer.refused:
            shown = [one["id"] for one in seen.answer.body["data"] if one["source"] == "registered"]
            self._judge(f"{seen.agent} on {call.env}", shown)

    async def look(self) -> None:
        """Count the webhooks of each agent."""
        held: dict[tuple[str, str], list[str]] = defaultdict(list)
        for webhook_id, agent_id, env in await self.simulation.read(lambda tx: tx.all(_webhooks)):
            held[agent_id, env].append(webhook_id)
        for owner, found in held.items():
            self._judge(f"{owner}", found)

    def _judge(self, owner: str, found: Sequence[str]) -> None:
        if len(found) > WEBHOOKS:
            raise Violation(f"{owner} has {len(found)} webhooks of {WEBHOOKS}: {found}")

    async def at_end(self) -> None:
        await self.look()
        for seen, ended in self.refused:
            made = self.made[seen.agent, seen.call.env]
            deleted = {one for one in made if self.deleted.get(one, ended) < seen.call.number}
            perhaps = sum(number <= ended for one, number in made.items() if one not in deleted)
            if perhaps < WEBHOOKS:
                raise Violation(f"{seen.call} is refused with {perhaps} webhooks of {WEBHOOKS}")


class Message(NamedTuple):
    """A message of a thread.

    `is_note` tells if an action on the job wrote it.
    """

    id: str
    sender: str | None
    is_note: bool
    at: datetime


class Act(NamedTuple):
    """An act of a party on its job."""

    actor: str
    at: datetime


class Talk(NamedTuple):
    """A thread, its messages in order, and the acts on its job."""

    id: str
    messages: Sequence[Message]
    acts: Sequence[Act]


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that one agent wrote in a row, up to some place of a thread."""

    by: str | None = None
    messages: tuple[Message, ...] = ()
    row: tuple[Message, ...] = ()  # all in a row, also those that an act has answered

    @property
    def is_full(self) -> bool:
        return len(self.messages) >= UNANSWERED

    def after(self, message: Message, *, restarts: bool) -> "Run":
        """Return the run after a message, which begins a new one if an act has answered this one."""
        if message.is_note:
            return self if self.by == message.sender else Run()
        if self.by != message.sender or restarts:
            row = self.row if self.by == message.sender else ()
            return Run(message.sender, (message,), (*row, message))
        return Run(self.by, (*self.messages, message), (*self.row, message))

    def is_answered(self, acts: Sequence[Act], until: datetime) -> bool:
        """Tell if the other party acted on the job between the beginning of the run and a time."""
        return any(self.messages[0].at < act.at < until for act in acts if act.actor != self.by)


class Unanswered(Oracle):
    """After ten messages in a row without an answer, a sender may post one a day.

    An act of the other party on the job is an answer too, once the sender has written ten.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.posted: dict[str, Made] = {}  # by id
        self.refused: list[tuple[Observation, int]] = []  # with the last call that began before the answer
        self.margin = STOPPED if simulation.scenario.processes > 1 else COMMITTED
        self.margin += timedelta(seconds=simulation.scenario.clocks_differ)

    def observe(self, seen: Observation) -> None:
        body = seen.answer.body
        if seen.call.operation not in ("post_message", "start_thread"):
            return
        if seen.answer.code == "awaiting_reply" and seen.tries == 1:
            self.refused.append((seen, self.simulation.made))
        elif not seen.answer.refused:
            made = body["message"] if seen.call.operation == "start_thread" else body
            self.posted.setdefault(made["id"], Made(seen.call.number, self.simulation.made))

    async def look(self) -> None: ...

    async def at_end(self) -> None:
        talks, pairs = await self.simulation.read(_talks)
        runs = {talk.id: [*runs_of(talk, self.margin)] for talk in talks.values()}
        for seen, ended in self.refused:
            given = seen.call.arguments
            pair = seen.call.env, frozenset((seen.agent, self._id_of(given.get("to", ""))))
            talk = talks[given.get("thread_id") or pairs[pair]]
            states = zip(runs[talk.id], [*talk.messages[1:], None], strict=True)
            if not any(self._refuses(run, following, talk.acts, seen, ended) for run, following in states):
                raise Violation(f"{seen.call} is refused with fewer than {UNANSWERED} unanswered messages")

    def _id_of(self, agent: str) -> str:
        """Return the id of an agent that a call names by its id or handle."""
        return next((one.id for one in self.simulation.identities.values() if one.handle == agent), agent)

    def _refuses(self, run: Run, following: Message | None, acts: Sequence[Act], seen: Observation, ended: int) -> bool:
        """Tell if a run, before the message that follows it, may be the reason of a refusal."""
        if run.by != seen.agent or len(run.row) < UNANSWERED:
            return False
        last = Run(run.by, run.row[-UNANSWERED:])  # the market's run began before these, or with them
        is_there = self.posted.get(run.row[-1].id, Made(0, 0)).number <= ended
        waits = seen.began < run.row[-1].at + DAY + self.margin
        is_over = following is not None and self._precedes(following, seen)
        return is_there and waits and not is_over and not last.is_answered(acts, seen.began - self.margin)

    def _precedes(self, message: Message, seen: Observation) -> bool:
        """Tell if a message was surely there before a call."""
        if message.id in self.posted:
            return self.posted[message.id].ended < seen.call.number
        return message.at < seen.began - self.margin


def runs_of(talk: Talk, margin: timedelta) -> Iterator[Run]:
    """Yield the run after each message of a thread.

    Raises Violation if a message came too soon. A unit of work may be committed a margin after its time.
    """
    run = Run()
    for message in talk.messages:
        counts = not message.is_note and run.by == message.sender and run.is_full
        soon = counts and message.at < run.messages[-1].at + DAY
        restarts = counts and run.is_answered(talk.acts, message.at + margin)
        if soon and not restarts:
            raise Violation(f"{message.id} in {talk.id} follows {len(run.messages)} unanswered messages within a day")
        run = run.after(message, restarts=restarts)
        yield run


def _talks(tx: Tx) -> tuple[dict[str, Talk], dict[Any, str]]:
    """Read all threads, and the ids of direct ones by environment and agents."""
    threads = tx.all(_threads)
    parties = {job_id: (a, b) for _, _, _, job_id, a, b in threads}
    acts: dict[str | None, list[Act]] = defaultdict(list)
    for job_id, actor, at in tx.all(_acts):
        if actor in parties[job_id]:
            acts[job_id].append(Act(actor, at))
    messages: dict[str, list[Message]] = defaultdict(list)
    for thread_id, message_id, sender, data, at in tx.all(_messages):
        messages[thread_id].append(Message(message_id, sender, _is_note(data), at))
    talks = {thread_id: Talk(thread_id, messages[thread_id], acts[job_id]) for thread_id, _, _, job_id, _, _ in threads}
    direct = {(env, frozenset(pair)): thread_id for thread_id, kind, env, _, *pair in threads if kind == "direct"}
    return talks, direct


def _is_note(data: str | None) -> bool:
    found = None if data is None else orjson.loads(data)
    return isinstance(found, dict) and found.get("via") == "job_action"
