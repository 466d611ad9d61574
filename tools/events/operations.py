"""Events of an agent, by polling or as a stream, in commit order."""

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, suppress
from functools import partial

import orjson
from pydantic import Field

from storage.events import (
    event_at,
    events_after,
    events_by_kind,
    events_of_kinds,
    fanned_out,
    newest_event,
    oldest_event,
)
from storage.transaction import StorageError, Tx
from storage.vocabulary import Env
from tools.engine.arguments import Arguments, Listed, LongPoll
from tools.engine.authentication import still_opens
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidRequest
from tools.engine.notifier import Subscription
from tools.engine.registry import operation
from tools.events.event_ids import NOW, EventId, EventIdOrNow, number_of
from tools.events.records import EventPage, Frame, Told, written
from tools.events.types import KINDS, BadKind, expand
from tools.kernel.ids import event_id
from tools.kernel.records import spliced, stamp

HEARTBEAT_SECONDS = 15.0
AGAIN_SECONDS = 2.0  # between two reads while the database does not answer
BACKLOG = 100
FEW = 50  # events of one agent that are read to find those of some kinds


class ListEvents(Listed, LongPoll):
    since: EventIdOrNow | None = Field(
        None, description="event id: only later events are returned; now: none, only next_since"
    )
    types: list[str] | None = Field(None, max_length=50, description="exact types, families like job.*, or *")


def something_happened(asked: ListEvents, page: EventPage) -> bool:
    return page.next_since != (asked.cursor if asked.since is None else asked.since)


@operation("GET /v1/events", is_ready=something_happened, toolset="events")
def list_events(ctx: TxContext, asked: ListEvents) -> EventPage:
    """Poll the events after an event id, oldest first.

    Pass next_since in the next call: no event is missed. Without since: from the oldest event kept (90 days). While
    has_more is true, call again, also after an empty page. With wait_seconds an empty answer comes only after that
    time. A seller waits for orders with types, since and wait_seconds, then list_jobs shows what to do.
    """
    since = asked.cursor if asked.since is None else asked.since
    if asked.cursor not in (None, since):
        raise InvalidRequest("cursor means the same as since: send one", param="cursor")
    if since == NOW:
        return _end(ctx, asked.types)
    after = number_of(since)
    rows = _page(ctx.tx, ctx.agent, ctx.env, after, asked.types, asked.limit + 1)
    page, more = rows[: asked.limit], len(rows) > asked.limit
    last = event_id(page[-1][0]) if page else since
    return EventPage(
        data=spliced(f"[{written(page, ctx.env.value)}]"),
        has_more=more,
        next_cursor=last if more else None,
        next_since=last,
        truncated=_truncated(ctx.tx, after),
    )


def _end(ctx: TxContext, types: list[str] | None) -> EventPage:
    """Return the page after the newest event, which is empty."""
    _kinds(types)  # wrong types are refused here too
    newest = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env) or 0
    return EventPage(data=[], has_more=False, next_cursor=None, next_since=event_id(newest))


class StreamEvents(Arguments):
    since: EventId | None = Field(None, description="event id to resume after; the Last-Event-ID header wins")
    types: list[str] | None = Field(None, max_length=50)


@operation(
    "GET /v1/events/stream",
    streams=True,
    toolset="events",
    only_rest="a stream of server-sent events is an HTTP answer; over MCP and A2A poll list_events",
)
async def stream_events(read_ctx: ReadContext, asked: StreamEvents) -> AsyncGenerator[Frame, None]:
    """Receive events as they happen, as server-sent events; a heartbeat every 15 seconds.

    Resumes after Last-Event-ID (or since) without a gap; without either only new events come. At most 5 streams a key,
    20 an agent.
    """
    after = await _newest(read_ctx) if asked.since is None else number_of(asked.since)
    _kinds(asked.types)
    most = read_ctx.config.limits
    key = read_ctx.caller.key_id or read_ctx.caller.agent
    place = read_ctx.services.notifier.open_stream(
        read_ctx.caller.agent, key, most.streams_per_key, most.streams_per_agent
    )
    return _frames(read_ctx, asked, after, place, place.__enter__())


async def _frames(
    read_ctx: ReadContext,
    asked: StreamEvents,
    after: int,
    place: AbstractContextManager[Subscription],
    ear: Subscription,
) -> AsyncGenerator[Frame, None]:
    agent, env = read_ctx.caller.agent, read_ctx.env
    try:
        ready = {"agent_id": agent, "env": env, "last_event_id": event_id(after) if after else None}
        yield Frame("ready", orjson.dumps(ready))
        while True:
            ear.clear()
            if read_ctx.services.notifier.closed:
                return
            read = partial(_page, agent_id=agent, env=env, after=after, types=asked.types, limit=BACKLOG)
            try:
                if not await _may_listen(read_ctx):
                    return
                rows = await read_ctx.store.read(read)
            except StorageError:  # later reads continue after the last event sent, so none is missed
                yield _heartbeat(read_ctx)
                await ear.wait_for(AGAIN_SECONDS)
                continue
            for told in rows:
                after, kind, *_ = told
                yield Frame(kind, written([told], env.value).encode(), event_id(after))
            while len(rows) < BACKLOG and not await ear.wait_for(HEARTBEAT_SECONDS):
                if await _was_shut_out(read_ctx):
                    return
                yield _heartbeat(read_ctx)
    finally:
        place.__exit__(None, None, None)


async def _may_listen(read_ctx: ReadContext) -> bool:
    """Tell whether the caller may still get events; its key may have been revoked meanwhile."""
    return await still_opens(read_ctx.caller, read_ctx.services)


async def _was_shut_out(read_ctx: ReadContext) -> bool:
    """Tell whether an idle stream must end.

    It goes on while the database does not answer, because the key is checked again before the next event.
    """
    with suppress(StorageError):
        return not await _may_listen(read_ctx)
    return False


def _heartbeat(read_ctx: ReadContext) -> Frame:
    return Frame("heartbeat", orjson.dumps({"at": stamp(read_ctx.world.clock.now())}))


def _page(tx: Tx, agent_id: str, env: Env, after: int, types: list[str] | None, limit: int) -> list[Told]:
    """Return the matching events after `after`.

    If few events of all kinds follow, a filter reads them. Otherwise it reads a range of an index for each kind, so that
    it costs the same however many events of other kinds there are.
    """
    kinds, mine = _kinds(types), {"agent_id": agent_id, "env": env, "after": after}
    if kinds is None:
        return tx.all(events_after, **mine, limit=limit)
    if tx.one(event_at, **mine, place=FEW) is None:
        return tx.all(events_of_kinds, **mine, kinds=kinds, limit=limit)
    named = {f"kind_{place}": kind for place, kind in enumerate(sorted(kinds))}
    return tx.all(events_by_kind(len(kinds)), **mine, **named, limit=limit)


def _kinds(types: list[str] | None) -> frozenset[str] | None:
    """Return the requested kinds; None for all."""
    if not types:
        return None
    try:
        kinds = expand(types)
    except BadKind as bad:
        raise InvalidRequest(f"types: {bad}", param="types") from None
    return None if kinds == KINDS else kinds


def _truncated(tx: Tx, after: int) -> bool:
    """Tell whether events after this id are no longer kept.

    If no event is kept, the last one that existed is the last one fanned out.
    """
    if not after:
        return False
    oldest = tx.one(oldest_event)
    return after < ((tx.one(fanned_out) or 0) if oldest is None else oldest - 1)


async def _newest(read_ctx: ReadContext) -> int:
    agent, env = read_ctx.caller.agent, read_ctx.env
    return await read_ctx.store.read(lambda tx: tx.one(newest_event, agent_id=agent, env=env) or 0)
