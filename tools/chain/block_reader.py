"""The reader of blocks with their transactions, which all searches for payments share."""

from dataclasses import dataclass
from functools import partial

from tools.chain.chain_reads import blocks_after
from tools.chain.node_answers import InvalidNodeAnswer, quantity
from tools.chain.transfer_verification import MAX_BLOCK_TIME, ChainDown, followers
from tools.chain.x402_payments import inputs_in
from tools.engine.context import ReadContext
from tools.engine.ports import Chain

BLOCKS_AT_ONCE = 60  # that one step of a search reads


@dataclass(frozen=True, slots=True)
class Block:
    """A block as searches need it."""

    time: int  # Unix seconds
    inputs: tuple[tuple[str, str], ...]  # hash and input of each transaction

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return sum(len(text) + 300 for _, text in self.inputs) + 300


async def read_block(read_ctx: ReadContext, chain: Chain, number: int, head: int) -> Block:
    """Read a block; a confirmed one is read once for all searches.

    Raises ChainDown, also if a node shows another block than those that follow it, and InvalidNodeAnswer.
    """
    if number > last_confirmed(read_ctx, head):
        return await _read(chain, number)
    later = read_ctx.network.confirmations - 1
    return await read_ctx.services.blocks.of(read_ctx.env, number, partial(_read, chain, number, later))


def last_confirmed(read_ctx: ReadContext, head: int) -> int:
    """Return the number of the newest block that has its confirmations."""
    return head - read_ctx.network.confirmations + 1


async def _read(chain: Chain, number: int, later: int = 0) -> Block:
    """Read a block that a number of later blocks must follow."""
    found = await chain.whole_block(number)
    if number_in(found, "number", number) != number:
        raise InvalidNodeAnswer("another block")
    if later and followers(_hash_in(found), number, await blocks_after(chain, number, later)) < later:
        raise ChainDown(f"no {later} blocks follow block {number}")
    return Block(number_in(found, "timestamp", MAX_BLOCK_TIME), inputs_in(found))


def _hash_in(block: object) -> str:
    """Return the hash of a block that a node reported; empty if there is none."""
    found = block.get("hash") if isinstance(block, dict) else None
    return found.lower() if isinstance(found, str) else ""


def number_in(block: object, name: str, most: int) -> int:
    """Return a number in a block that a node reported; raises InvalidNodeAnswer."""
    return quantity(block.get(name) if isinstance(block, dict) else None, f"block.{name}", most)
