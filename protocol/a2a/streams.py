"""A2A streams: the events of a job as updates of its task. They come from the database, so every process sees them."""

from collections.abc import AsyncIterator

import orjson
from a2a.server.events import Event
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import UnsupportedOperationError
from a2a.utils.proto_utils import parse_lenient

from protocol.a2a.errors import market_error
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.task_view import FINAL, STATES, Record, ids_of
from protocol.a2a.tasks import Tasks
from tools.engine.errors import RateLimited
from tools.engine.registry import CATALOGUE
from tools.events.webhooks.logic import PUSHED_KINDS, TASK_KINDS

WAITED_SECONDS = 25  # for the next event, before the key is checked again
MESSAGE = "message.received"
MADE_DUE = TASK_KINDS - PUSHED_KINDS  # told together with the move that made it due


class Streams:
    """The streams of tasks. A stream ends with the job, or when its caller must act.

    The next snapshot shows what happened between two streams.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.tasks, self.market = tasks, tasks.market

    async def snapshot(self, params: pb.SubscribeToTaskRequest, call: CallState) -> pb.Task:
        """Return the current task before following it; UnsupportedOperationError if it has ended."""
        record = await self.tasks.read(params.id, call)
        if STATES[record["job"]["status"]] in FINAL:
            raise UnsupportedOperationError(message="the task has ended: GetTask shows it")
        return self.tasks.shown(record, call, None)

    async def after(self, call: CallState, *, on: bool) -> AsyncIterator[Event]:
        """Yield what happens after the last shown task; with `on`, even if its caller must act now."""
        task = call.shown
        assert task is not None
        job, since, revealed = task["job"], task["newest_event"], _revealed(task["job"])
        status = job["status"]
        if STATES[status] in FINAL or (not on and _must_act(job)):
            return
        while not self.market.services.notifier.closed:
            if (page := await self._page(since, call)) is None:
                return
            since = page["next_since"]
            mine = [one for one in page["data"] if one["data"].get("job_id") == job["id"]]
            told = _told_once([event for event in mine if event["type"] in TASK_KINDS])
            if not told:
                continue
            task = await self.tasks.read(job["id"], call)
            if _revealed(task["job"]) not in (None, revealed):
                revealed = _revealed(task["job"])
                yield self._artifact(task, call)
            rests = _is_move(told[-1]) and told[-1]["data"]["status"] == task["job"]["status"] and _rests(task["job"])
            for event in told:
                status = event["data"].get("status", status)
                call.closes = rests and event is told[-1]
                yield self._update(task, event, status, call, newest=event is told[-1])
                if STATES[status] in FINAL:  # a late payment may revive the job; the next stream shows that
                    return
            if rests:
                return

    async def _page(self, since: str | None, call: CallState) -> Record | None:
        """Return the next events; None if the caller may no longer read them.

        Raises InvalidRequestError if too many calls wait already.
        """
        asked = {"wait_seconds": WAITED_SECONDS, "limit": 100} | ({} if since is None else {"since": since})
        answer = await call.ask(self.market, CATALOGUE["list_events"], asked)
        breaks = call.old and not call.over_rpc  # there the SDK has no event for an error, and drops the connection
        if isinstance(answer.refusal, RateLimited) and not breaks:
            raise market_error(answer.refusal)
        page: Record | None = None if answer.refused else orjson.loads(answer.body)
        return page

    def _artifact(self, task: Record, call: CallState) -> pb.TaskArtifactUpdateEvent:
        (artifact,) = self.tasks.view.artifacts(task["job"])
        update = {**ids_of(task), "artifact": artifact, "lastChunk": True}
        return parse_lenient(call.stash(update), pb.TaskArtifactUpdateEvent())

    def _update(
        self, task: Record, event: Record, status: str, call: CallState, *, newest: bool
    ) -> pb.TaskStatusUpdateEvent:
        """Build the update of one event; only the newest one shows what is due now."""
        told = self.tasks.view.happened(task, event, status)
        if newest and _is_move(event) and status == task["job"]["status"]:
            told = self.tasks.view.status(task)
        return parse_lenient(call.stash({**ids_of(task), "status": told}), pb.TaskStatusUpdateEvent())


def _is_move(event: Record) -> bool:
    return bool(event["type"] != MESSAGE)


def _told_once(events: list[Record]) -> list[Record]:
    """Merge each move with the notice that it made due; put the last move at the end.

    The last move may end the stream, so the messages that came with it are sent before it.
    """
    told, moves = [], list[Record]()
    for event in events:
        if event["type"] in MADE_DUE and moves and moves[-1]["data"]["status"] == event["data"]["status"]:
            continue
        told.append(event)
        moves += [event] if _is_move(event) else []
    return [event for event in told if event not in moves[-1:]] + moves[-1:]


def _must_act(job: Record) -> bool:
    return job["waiting_on"] is not None and job["waiting_on"]["who"] == job["role"]


def _rests(job: Record) -> bool:
    return STATES[job["status"]] in FINAL or _must_act(job)


def _revealed(job: Record) -> str | None:
    """Return the hash of the output once it is readable, otherwise None."""
    found: str | None = None if job["output_sealed"] else job["output_hash"]
    return found
