"""Wallets of agents: bound, once their control is proven, and a contract's word on a signature."""

from typing import Any

from storage.tables import HeldWalletRow, WalletRow
from tools.context import Context, Outside
from tools.errors import ChainUnavailable
from tools.rules.transfers import ChainDown
from tools.rules.wallet import eip1271_call, eip1271_holds


def bind(ctx: Context, agent_id: str, bound: WalletRow | None, address: str) -> None:
    """Bind an address whose control was proven, in the place of the one that is bound."""
    if bound is None:
        ctx.tx.add(WalletRow(agent_id=agent_id, env=ctx.env, address=address, bound_at=ctx.now))
    else:
        ctx.tx.change(bound, address=address, bound_at=ctx.now)
    ctx.tx.add_once(HeldWalletRow(address=address, agent_id=agent_id, held_at=ctx.now))


async def contract_agrees(outside: Outside, address: str, digest: bytes, signature: str, text: str | None) -> bool:
    """EIP-1271: a contract wallet says itself whether the signature over these 32 bytes is its own. ChainUnavailable."""
    chain = outside.world.chains.get(outside.env)
    if chain is None:
        return False
    try:
        return eip1271_holds(await chain.call(address, eip1271_call(digest, signature)))
    except ChainDown:
        told: dict[str, Any] = {} if text is None else {"text": text}
        exactly = "." if text is None else ": sign details.text exactly."
        raise ChainUnavailable(
            "the chain does not answer, so a contract wallet's signature cannot be checked",
            hint=f"A plain wallet's own signature needs no chain{exactly} Else try again soon.",
            retry_after_seconds=5,
            **told,
        ) from None
