"""Wallets: bound by proof of control, one per agent and environment."""

from pydantic import Field

from storage.tables import AgentRow, WalletRow
from tools.agents.key_possession import check_signature
from tools.agents.logic import own_record
from tools.agents.records import OwnAgent
from tools.chain.errors import ChainUnavailable
from tools.chain.wallet_proof import WalletAddress, eip191_hash, recover
from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.next_steps import after_wallet
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.identities.logic import follow_wallet
from tools.kernel.keys import binding_message
from tools.wallets.errors import AddressSanctioned, WalletSignatureInvalid
from tools.wallets.logic import WalletSignature, bind, contract_agrees, refuse_sanctioned_wallet


class SetWalletAddress(Arguments):
    address: WalletAddress = Field(description="0x and 40 hex; EIP-55 where mixed case")
    signature: WalletSignature = Field(
        description="personal_sign (EIP-191) by that wallet over the text that get_me answers as wallet_binding",
    )
    proof: str | None = Field(
        None,
        pattern=r"^[0-9a-fA-F]{128}$",
        description="to change a bound wallet: hex Ed25519 signature by your agent key over the same text",
    )


async def judge_wallet(read_ctx: ReadContext, claim: SetWalletAddress) -> str:
    """Check the wallet's signature; return the message that it signed."""
    refuse_sanctioned_wallet(read_ctx.world.sanctions, claim.address)
    message = binding_message(read_ctx.config.brand, read_ctx.caller.agent, claim.address)
    signer = recover(message, claim.signature)
    if signer == claim.address or await contract_agrees(
        read_ctx, claim.address, eip191_hash(message), claim.signature, message
    ):
        return message
    raise WalletSignatureInvalid(
        "the wallet did not sign the binding message", param="signature", text=message, recovered=signer
    )


@operation(
    "POST /v1/agents/me/wallet-address",
    scope="admin:self",
    gather=judge_wallet,
    errors=(WalletSignatureInvalid, AddressSanctioned, ChainUnavailable),
    open_world=True,
    idempotent=True,
    rate=Rate.BINDINGS,
    next_steps=after_wallet,
    toolset="agents",
)
def set_wallet_address(ctx: TxContext, claim: SetWalletAddress, message: str) -> OwnAgent:
    """Bind the wallet you are paid at and pay from, in the environment of your key.

    First get_me with `address` answers the exact text in `wallet_binding`. Sign that text with the wallet
    (personal_sign). A refusal has the text in details.text. Changing a bound wallet also needs `proof`, so a leaked API
    key cannot redirect your income. Needed to sell and to pay.
    """
    agent = ctx.tx.need(AgentRow, ctx.agent, lock=True)
    bound = ctx.tx.get(WalletRow, agent.id, ctx.env, lock=True)
    if bound is not None and bound.address == claim.address:
        return own_record(ctx, agent)
    if bound is not None:
        refusal = "changing a bound wallet needs a valid proof by your agent key"
        check_signature(agent.public_key, message, claim.proof, refusal, "your Ed25519 key")
    bind(ctx, agent.id, bound, claim.address)
    hint = "If this was not you, your API key has leaked: make new keys at once."
    told = {"previous": bound.address if bound else None, "address": claim.address, "hint": hint}
    ctx.emit(ctx.agent, ctx.env, "agent.wallet_address_changed", told)
    return own_record(ctx, follow_wallet(ctx, agent))
