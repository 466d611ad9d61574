"""Long polling: a read is answered as soon as there is something new, or when its time is up.

Meanwhile the read counts as an open stream of its key. A notification of its agent wakes it, and it reads again. It also
reads at the end of its time, because a notification may be lost.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tools.engine.arguments import Arguments
from tools.engine.authentication import still_opens
from tools.engine.context import ReadContext
from tools.engine.errors import Unauthenticated
from tools.engine.registry import Operation

TICK_SECONDS = 10.0  # between two progress notifications

Look = Callable[[ReadContext], Awaitable[Any]]


async def wait(op: Operation, arguments: Arguments, read_ctx: ReadContext, look: Look) -> Any:
    """Return the record once the operation calls it ready, or when `wait_seconds` are over.

    `look` reads the record. Raises Unauthenticated if the key was revoked meanwhile, RateLimited if the key or the
    agent has too many open streams, and what `look` raises, because a record that was read before may be old.
    """
    assert op.is_ready is not None
    clock, limits, caller = read_ctx.world.clock, read_ctx.config.limits, read_ctx.caller
    notifier = read_ctx.services.notifier
    most = limits.streams_per_key, limits.streams_per_agent
    with notifier.open_stream(caller.agent, caller.key_id or caller.agent, *most) as ear:
        began = clock.monotonic()
        ends = began + arguments.longest_wait
        ear.clear()
        record = await look(read_ctx)
        while not op.is_ready(arguments, record) and not notifier.closed and clock.monotonic() < ends:
            woken = await ear.wait_for(min(TICK_SECONDS, ends - clock.monotonic()))
            if not woken and caller.request.progress is not None:
                await caller.request.progress(clock.monotonic() - began, ends - began)
            if not woken and clock.monotonic() < ends:
                continue
            ear.clear()
            if not await still_opens(caller, read_ctx.services):
                raise Unauthenticated("this key was revoked while it waited")
            record = await look(replace(read_ctx, now=clock.now()))
        return record
