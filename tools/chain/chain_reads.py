"""Reads from chain nodes what a payment verdict needs, so that answers of different nodes cannot be mixed up."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

from tools.chain.transfer_verification import ChainAnswers, ChainDown, check_receipt, mined_in
from tools.engine.context import ReadContext
from tools.engine.ports import Chain

FRESH_HEAD_SECONDS = 30.0
CURRENT_SECONDS = 2.0
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class NewestBlock:
    """The newest block and the chain's time; None if no node has reported one recently."""

    number: int | None = None
    time: datetime | None = None


async def newest_block(read_ctx: ReadContext) -> NewestBlock:
    """Find the newest block when an obligation begins, so that no earlier transfer can pay it.

    At most one request every two seconds, and at most one second of waiting, because an order does not need a chain.
    """
    chain = read_ctx.world.chains.get(read_ctx.env)
    if chain is None:
        return NewestBlock()
    chains = read_ctx.services.health.chains
    if _age(read_ctx, chain.last_head) > CURRENT_SECONDS and chains.get(read_ctx.env) != "down":
        with suppress(ChainDown, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await chain.block(await chain.head())
    seen = chain.last_head
    if seen is None or _age(read_ctx, seen) > FRESH_HEAD_SECONDS:
        return NewestBlock()
    return NewestBlock(seen[0], _chain_time(read_ctx, chain))


def _chain_time(read_ctx: ReadContext, chain: Chain) -> datetime | None:
    """Return the chain's time now: the newest block's time, plus the seconds since it was read.

    It is never later than the host's time, so a node that lies can make an honest transfer look too old only
    briefly.
    """
    read = chain.last_block_time
    age = _age(read_ctx, read)
    if read is None or age > FRESH_HEAD_SECONDS:
        return None
    return datetime.fromtimestamp(min(read[0] + int(age), int(read_ctx.now.timestamp())), UTC)


def _age(read_ctx: ReadContext, seen: tuple[int, float] | None) -> float:
    return inf if seen is None else read_ctx.world.clock.monotonic() - seen[1]


async def look_up(chain: Chain, transaction: str, confirmations: int) -> ChainAnswers:
    """Read the receipt, the head, and the block with those that confirm it.

    The confirming blocks are read only if the head shows enough confirmations. A transaction that is in no block costs
    one read, and one without its confirmations three. Raises ChainDown, and InvalidNodeAnswer if the receipt names no
    valid block.
    """
    receipt = await chain.receipt(transaction)
    number = mined_in(receipt)
    if number is None:
        return ChainAnswers(receipt, None, None)
    head, block = await chain.head(), await chain.block(number)
    enough = head - number + 1 >= confirmations
    return ChainAnswers(receipt, head, block, await blocks_after(chain, number, confirmations - 1) if enough else ())


async def blocks_after(chain: Chain, number: int, count: int) -> list[object]:
    """Read the blocks that follow a block, as `followers` takes them. Raises ChainDown."""
    return [await chain.block(number + place) for place in range(1, count + 1)]


async def receipt_of(chain: Chain, transaction: str, asset: str) -> object:
    """Return the receipt of a transaction that a block has.

    Raises ChainDown, and InvalidNodeAnswer if the node does not show this receipt as a whole.
    """
    receipt = await chain.receipt(transaction)
    check_receipt(transaction, receipt, asset)
    return receipt
