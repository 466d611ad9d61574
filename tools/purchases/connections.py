"""The chain and the facilitator that a purchase needs, and the errors if they are missing or silent."""

from tools.chain.errors import ChainUnavailable
from tools.chain.transfer_proof import no_chain
from tools.chain.transfer_verification import ChainDown
from tools.engine.context import ReadContext
from tools.engine.ports import Chain, Facilitator, SettleNotSent
from tools.purchases.errors import SAME_AGAIN


def silent_chain() -> ChainUnavailable:
    """Return the error for a payment whose outcome the chain does not show."""
    return ChainUnavailable(
        "the chain does not answer, so whether the payment was taken is not known yet",
        hint=SAME_AGAIN,
        retry_after_seconds=5,
    )


async def head_of(read_ctx: ReadContext) -> int:
    """Return the newest block number, where the search for a payment begins."""
    try:
        return await chain_of(read_ctx).head()
    except ChainDown:
        raise ChainUnavailable(
            "the chain does not answer; nothing was charged",
            hint="Send the same request with the same payment again.",
            retry_after_seconds=5,
        ) from None


def chain_of(read_ctx: ReadContext) -> Chain:
    """Return the environment's chain; raises ChainUnavailable if none is configured."""
    chain = read_ctx.world.chains.get(read_ctx.env)
    if chain is None:
        raise no_chain(read_ctx.env, SAME_AGAIN)
    return chain


def facilitator_of(read_ctx: ReadContext) -> Facilitator:
    """Return the environment's facilitator.

    Raises SettleNotSent if none is configured. It may have been removed from the settings since; submitted payments
    are still followed up.
    """
    facilitator = read_ctx.world.facilitators.get(read_ctx.env)
    if facilitator is None:
        raise SettleNotSent("none is configured")
    return facilitator
