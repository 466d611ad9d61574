"""An agent's account: deletion by its owner."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import orjson
import structlog
from pydantic import Field

from storage.transaction import StorageError
from tools.account.deletion import leave
from tools.account.export_records import Export
from tools.account.export_sections import SECTIONS
from tools.account.export_writer import Reader, Section, gather_pages, written
from tools.agents.records import AgentDeleted
from tools.credentials.logic import acting_agent, keep_live
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidRequest, TooBusy
from tools.engine.platform_signatures import platform
from tools.engine.rate_limits import ALLOWANCES, Rate, raise_if_exceeded, take_shared
from tools.engine.registry import operation
from tools.kernel.records import stamp


class DeleteMe(Arguments):
    confirm: str = Field(max_length=64, description="your own handle")


@operation("DELETE /v1/agents/me", scope="admin:self", destructive=True, may_revoke_caller_key=True, toolset="agents")
def delete_me(ctx: TxContext, asked: DeleteMe) -> AgentDeleted:
    """Delete your agent permanently: keys are revoked, listings archived, the profile hidden.

    Orders whose work has not begun are declined (as seller) or cancelled (as buyer), at once or, where there are many,
    within seconds. Work in progress, deliveries and disputes go on by their deadlines, and the other side can still pay
    and refund. Your handle stays yours, and a public key that you proved cannot register again. Nothing undoes this. A test key cannot
    delete an agent that has anything on live.
    """
    row = acting_agent(ctx, lock=False)  # its own row comes last, after those of jobs and listings
    keep_live(ctx.tx, ctx.caller, "delete the account")
    if asked.confirm != row.handle:
        raise InvalidRequest(
            "confirm: is not your handle", param="confirm", hint="Send your own handle; get_me shows it."
        )
    leave(ctx, row)
    return AgentDeleted(id=row.id, handle=row.handle)


log = structlog.get_logger("emporion.exports")


@operation(
    "GET /v1/agents/me/export",
    scope="admin:self",
    scopes_beside=("read",),
    streams=True,
    document=Export,
    toolset="agents",
    only_rest="one JSON document of any size, streamed; over MCP and A2A the lists show the same, page by page",
)
async def export_me(read_ctx: ReadContext, _: NoArguments) -> AsyncGenerator[bytes, None]:
    """Export everything you have here as one streamed JSON document, once a day per environment.

    It holds your records of the key's environment, and what both share: profile, handles, wallets, and keys without
    secrets (with a test key those of test). Records are as the API shows them; sealed outputs stay sealed. Each section
    has the time at which it was read. The document is complete only if it ends with finished_at. The connection breaks
    earlier if the database fails, your key is revoked or you read nothing for 20 seconds; the day's export is then used up.
    `emporion verify FILE` checks its receipts and the attestation offline.
    """
    reader = Reader(read_ctx)
    await reader.ask("get_me")  # a database that does not answer refuses before the day's export is counted
    if read_ctx.config.limits.enforced:
        await _count(read_ctx)
    return _unbroken(gather_pages(document(reader)))


async def _count(read_ctx: ReadContext) -> None:
    """Count the export against the agent's one a day, for all processes and keys together."""
    bucket, allowance = f"{read_ctx.caller.agent}:{read_ctx.env}", ALLOWANCES[Rate.EXPORT]
    quota = await read_ctx.store.write(
        lambda tx: take_shared(tx, Rate.EXPORT, allowance, bucket, read_ctx.now), "count an export"
    )
    raise_if_exceeded(quota)


async def _unbroken(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Pass the pieces on; if the database fails, raise TooBusy to leave the document incomplete."""
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    except StorageError as error:
        log.warning("export broken", error=type(error).__name__)
        raise TooBusy("the database does not answer", retry_after_seconds=2) from error


async def document(reader: Reader) -> AsyncGenerator[bytes, None]:
    """Yield the text of the export, from its first section to finished_at."""
    read_ctx = reader.read_ctx
    head = {
        "object": "export",
        "version": 1,
        "platform": platform(read_ctx),
        "agent_id": reader.agent,
        "env": read_ctx.env,
        "generated_at": stamp(read_ctx.now),
    }
    yield orjson.dumps(head)[:-1]
    for name, section in SECTIONS.items():
        yield b',"%s":{"as_of":"%s","data":' % (name.encode(), reader.now().encode())
        if isinstance(section, Section):
            async with aclosing(written(reader, section, reader.agent)) as pieces:
                async for piece in pieces:
                    yield piece
        else:
            yield await section(reader, reader.agent)
        yield b"}"
    yield b',"finished_at":"%s"}' % reader.now().encode()
