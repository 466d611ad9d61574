"""Wallets of agents: binding one that is proven, and checking a contract wallet's signature (EIP-1271)."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from storage.tables import HeldWalletRow, WalletRow
from tools.chain.errors import ChainUnavailable
from tools.chain.transfer_verification import ChainDown
from tools.chain.wallet_proof import SIGNATURE_LENGTH, eip1271_call, eip1271_holds, is_precompile, signature_of
from tools.engine.context import ReadContext, TxContext
from tools.engine.ports import Sanctions
from tools.wallets.errors import AddressSanctioned

WalletSignature = Annotated[
    str,
    Field(max_length=SIGNATURE_LENGTH, json_schema_extra={"pattern": "^0x[0-9a-fA-F]{130}$"}),
    AfterValidator(signature_of),
]


def bind(ctx: TxContext, agent_id: str, bound: WalletRow | None, address: str) -> None:
    """Bind an address whose control was proven, in place of the one bound before."""
    key = {"agent_id": agent_id, "env": ctx.env}
    ctx.tx.add_or_change(WalletRow, bound, key, address=address, bound_at=ctx.now)
    ctx.tx.insert_if_absent(HeldWalletRow(address=address, agent_id=agent_id, held_at=ctx.now))


async def contract_agrees(read_ctx: ReadContext, address: str, digest: bytes, signature: str, text: str | None) -> bool:
    """Ask a contract wallet whether the signature of a 32-byte digest is its own (EIP-1271).

    Raises ChainUnavailable.
    """
    chain = read_ctx.world.chains.get(read_ctx.env)
    if chain is None or is_precompile(address):
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


def refuse_sanctioned_wallet(sanctions: Sanctions, address: str) -> None:
    """Raise AddressSanctioned if the wallet in the argument `address` is on a sanctions list."""
    if sanctions.names(address):
        raise AddressSanctioned("this wallet stands on a sanctions list", param="address", address=address.lower())


def refuse_sanctioned(sanctions: Sanctions, addresses: set[str]) -> None:
    for address in sorted(addresses):
        if sanctions.names(address):
            raise AddressSanctioned("a wallet of this payment stands on a sanctions list", address=address.lower())
