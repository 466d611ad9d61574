"""Memory: what an agent keeps for itself under keys, durably, in each environment apart."""

from collections.abc import Sequence
from datetime import timedelta
from operator import itemgetter
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from storage.quotas import forget_key, keys_between, keys_kept
from storage.tables import AgentRow, MemoryRow
from tools.engine.arguments import Arguments, Listed
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import json_text
from tools.engine.errors import InvalidCursor, NotFound, PayloadTooLarge, StorageFull
from tools.engine.next_steps import after_memory
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.engine.storage_quotas import count_bytes
from tools.kernel.records import EPOCH, Json, record_from, spliced
from tools.memory.errors import MemoryLimit, VersionConflict
from tools.memory.records import Memory, MemoryDeleted, MemoryKey, MemoryPage

MAX_VALUE, MAX_KEYS = 65_536, 1_000
NONE = 0  # the version of what is not there
LISTED = ("key", "size", "version", "expires_at", "created_at", "updated_at")
FIRST, END = "-", "{"  # the least character of a key; the one behind the greatest

Key = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_.:/-]{1,128}$",
        description="1-128 of A-Z a-z 0-9 _ . : / -; slashes may be sent as they are or as %2F",
    ),
]


class MemoryRef(Arguments):
    """One key."""

    key: Key


class PutMemory(MemoryRef):
    nulls: ClassVar[frozenset[str]] = frozenset({"value"})

    value: Json = Field(description="any JSON, at most 64 KB")
    ttl_seconds: int | None = Field(None, ge=1, le=31_536_000, description="forget it after so long; left out: never")
    if_version: int | None = Field(
        None, ge=0, le=2**53 - 1, description="write only over this version; 0: only where there is nothing yet"
    )


async def value_text(read_ctx: ReadContext, put: PutMemory) -> str:
    return json_text(put.value, "value", MAX_VALUE)


@operation(
    "PUT /v1/memory/{key}",
    scope=("buy", "sell", "message"),
    gather=value_text,
    errors=(MemoryLimit, VersionConflict, PayloadTooLarge, StorageFull),
    next_steps=after_memory,
    toolset="memory",
    examples=({"key": "notes/today", "value": {"done": ["invoices"]}},),
)
def put_memory(ctx: TxContext, put: PutMemory, text: str) -> Memory:
    """Store any JSON under a key, for yourself alone, in the environment of your API key.

    It replaces the old value and its ttl. With if_version only that version is replaced (compare-and-set), so several
    of your processes can share a key; over HTTP the header If-Match does the same. At most 1000 keys in each environment.
    """
    row = ctx.tx.get(MemoryRow, ctx.agent, ctx.env, put.key, lock=True)
    alive = _alive(ctx, row)
    found = NONE if alive is None else alive.version
    if put.if_version is not None and put.if_version != found:
        raise VersionConflict(
            f"the value under this key is version {found}" if alive else "there is nothing under this key",
            param="if_version",
            hint=None if alive else "Write with if_version 0, which means that it does not exist yet, or without it.",
            version=found,
        )
    if alive is None:
        _check_room(ctx)
    size = len(text.encode())
    count_bytes(ctx, size - (row.size if row else 0))
    version = (ctx.now - EPOCH) // timedelta(microseconds=1)  # later than that of a deleted value
    written = ctx.tx.add_or_change(
        MemoryRow,
        row,
        {"agent_id": ctx.agent, "env": ctx.env, "key": put.key, "version": version},
        size=size,
        expires_at=None if put.ttl_seconds is None else ctx.now + timedelta(seconds=put.ttl_seconds),
        created_at=ctx.now if alive is None else alive.created_at,
        updated_at=ctx.now,
        value=text,
    )
    return _record(written)


@operation("GET /v1/memory/{key}", errors=(NotFound,), toolset="memory")
def get_memory(ctx: TxContext, ref: MemoryRef) -> Memory:
    """Read what you keep under a key, with the version to write over.

    Pass that version as if_version to put_memory, and nothing another process wrote is lost.
    """
    row = _alive(ctx, ctx.tx.get(MemoryRow, ctx.agent, ctx.env, ref.key))
    if row is None:
        raise NotFound("you keep nothing under this key", param="key", hint="list_memory shows the keys you have.")
    return _record(row)


class ListMemory(Listed):
    prefix: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.:/-]{1,128}$", description="only keys that begin so, e.g. notes/"
    )


@operation("GET /v1/memory", errors=(InvalidCursor,), toolset="memory", may_lag=True)
def list_memory(ctx: TxContext, asked: ListMemory) -> MemoryPage:
    """List your keys, all or those with a prefix, sorted by their characters, without values.

    get_memory reads one. Expired keys (ttl_seconds) are left out.
    """
    prefix = asked.prefix or ""
    here = {"agent_id": ctx.agent, "env": ctx.env, "end": prefix + END, "now": ctx.now}

    def rows_of(last: str | None, most: int) -> Sequence[Any]:
        return ctx.tx.all(keys_between, **here, first=prefix if last is None else last + FIRST, limit=most)

    found = page(ctx, asked, rows_of, _keys, key=itemgetter(0))
    return MemoryPage(**found)


def _keys(rows: Sequence[Any]) -> list[MemoryKey]:
    return [record_from(MemoryKey, SimpleNamespace(**dict(zip(LISTED, row, strict=True)))) for row in rows]


@operation(
    "DELETE /v1/memory/{key}", scope=("buy", "sell", "message"), destructive=True, ends_work=True, toolset="memory"
)
def delete_memory(ctx: TxContext, ref: MemoryRef) -> MemoryDeleted:
    """Delete the value under a key permanently.

    Nobody can bring it back. If there is no value under the key, deleted is false.
    """
    row = ctx.tx.get(MemoryRow, ctx.agent, ctx.env, ref.key, lock=True)
    if row is not None:
        ctx.tx.run(forget_key, agent_id=ctx.agent, env=ctx.env, key=ref.key)
        ctx.tx.count_bytes(ctx.agent, ctx.env, -row.size)
    return MemoryDeleted(key=ref.key, deleted=_alive(ctx, row) is not None)


def _alive(ctx: TxContext, row: MemoryRow | None) -> MemoryRow | None:
    """Return the row, or None if it has expired, even before the sweep deletes it."""
    gone = row is None or (row.expires_at is not None and row.expires_at <= ctx.now)
    return None if gone else row


def _check_room(ctx: TxContext) -> None:
    ctx.tx.get(AgentRow, ctx.agent, lock=True)  # an agent's keys are counted one write at a time
    kept = ctx.tx.one(keys_kept, agent_id=ctx.agent, env=ctx.env, now=ctx.now) or 0
    if kept >= MAX_KEYS:
        raise MemoryLimit(f"you keep {kept} keys, at most {MAX_KEYS} are allowed", limit=MAX_KEYS)


def _record(row: MemoryRow) -> Memory:
    return record_from(Memory, row, value=spliced(row.value))
