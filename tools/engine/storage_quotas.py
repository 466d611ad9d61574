"""Storage limits: which data of an agent counts, and the errors for too much of it.

A unit of work adds up the bytes that it writes or deletes, and writes one counter for each agent at its end. Bytes that
were counted with `take` or `take_order` may be refused; a call that must not fail uses `Tx.count_bytes` instead.

The input and outputs of a job count as the buyer's, because the order caused them; a message counts as its writer's.
So a buyer that does not pay, or orders free work, uses its own storage and not the seller's.
"""

from storage.tables import AgentRow, RoomRow
from storage.transaction import Tx
from tools.engine.caller import CallRequest
from tools.engine.context import TxContext
from tools.engine.errors import StorageFull, TooBusy
from tools.engine.registry import Operation
from tools.engine.services import HealthSnapshot

NEEDED_FOR_OUTPUT = 2**20  # bytes that must be left at an order and at its acceptance
MAX_ON_LOW_DISK = {False: 4_096, True: 65_536}  # bytes of a request


def size_of(*texts: str | bytes | None) -> int:
    """Return the number of bytes of these texts together."""
    return sum(len(text.encode() if isinstance(text, str) else text) for text in texts if text)


def count_bytes(ctx: TxContext, by: int) -> None:
    """Count bytes as the caller's; at its end, the call is refused if they exceed the limit."""
    ctx.tx.count_bytes(ctx.agent, ctx.env, by, asks=True)


def take_order(ctx: TxContext, by: int) -> None:
    """Count the input of an order; it may also be refused if too little is left for the output."""
    ctx.tx.count_bytes(ctx.agent, ctx.env, by, asks=True, leaving=NEEDED_FOR_OUTPUT)


def refuse_overfull(ctx: TxContext) -> None:
    """Write the counters; raise StorageFull if an agent took more than its limit."""
    for (agent_id, env), taken in ctx.tx.write_room().items():
        limit = ctx.config.limits.storage_bytes
        if taken.used + taken.leaving > limit and not _is_first_party(ctx.tx, agent_id):
            raise StorageFull(
                f"this needs {taken.by + taken.leaving} bytes more; you use {taken.used - taken.by} of {limit} on {env}",
                used=taken.used - taken.by,
                limit=limit,
            )


def has_room_to_accept(ctx: TxContext, seller_id: str) -> bool:
    """Check whether an agent has enough storage left to accept work."""
    left = ctx.config.limits.storage_bytes - used_by(ctx.tx, seller_id, ctx.env)
    return left >= NEEDED_FOR_OUTPUT or _is_first_party(ctx.tx, seller_id)


def refuse_on_low_disk(op: Operation, request: CallRequest, health: HealthSnapshot) -> None:
    """Refuse large writes while the disk is nearly full; calls that end work may be larger."""
    if health.disk_low and not op.safe and request.body_bytes > (most := MAX_ON_LOW_DISK[op.ends_work]):
        raise TooBusy(
            f"the disk of this market is nearly full: until there is room a call that writes may bring {most} bytes",
            hint="Send less, or the same call again later.",
            retry_after_seconds=60,
        )


def need_room_to_accept(ctx: TxContext) -> None:
    """Raise StorageFull if the caller has too little storage left to accept work."""
    if not has_room_to_accept(ctx, ctx.agent):
        used, limit = used_by(ctx.tx, ctx.agent, ctx.env), ctx.config.limits.storage_bytes
        raise StorageFull(
            f"less than {NEEDED_FOR_OUTPUT} bytes are left: {used} of {limit} are used",
            used=used,
            limit=limit,
        )


def used_by(tx: Tx, agent_id: str, env: str) -> int:
    row = tx.get(RoomRow, agent_id, env)
    return 0 if row is None else row.used


def _is_first_party(tx: Tx, agent_id: str) -> bool:
    row = tx.get(AgentRow, agent_id)
    return row is not None and row.first_party
