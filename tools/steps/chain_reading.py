"""Asks a chain node for what a payment verdict needs, in the order that makes the answers safe to join."""

from tools.context import Outside
from tools.ports import Chain
from tools.rules.transfers import Seen, mined_in

FRESH_HEAD_SECONDS = 30.0


def known_head(outside: Outside) -> int | None:
    """The newest block number, if one was seen in the last 30 seconds; no chain is asked while a job is made."""
    chain = outside.world.chains.get(outside.env)
    seen = chain.last_head if chain else None
    if seen is None or outside.world.clock.monotonic() - seen[1] > FRESH_HEAD_SECONDS:
        return None
    return seen[0]


async def look_up(chain: Chain, transaction: str) -> Seen:
    """Receipt, then head, then block, as `judge` takes them; a transaction without a block costs one read.

    The block is read last: that its hash is still the receipt's says all three were true of one chain at that moment.
    Raises ChainDown, and Nonsense when the receipt's block cannot be asked for.
    """
    receipt = await chain.receipt(transaction)
    number = mined_in(receipt)
    if number is None:
        return Seen(receipt, None, None)
    head = await chain.head()
    return Seen(receipt, head, await chain.block(number))
