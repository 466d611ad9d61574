"""Operation that claims the account made by an x402 purchase: a wallet proves it, never a payment."""

from dataclasses import replace
from hashlib import sha256

from pydantic import Field

from storage.tables import AgentRow, X402AccountRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env
from tools.agents.errors import PublicKeyInUse
from tools.agents.profiles import PublicKey
from tools.agents.records import AgentCreated
from tools.agents.registration import created_record
from tools.chain.errors import ChainUnavailable
from tools.chain.wallet_proof import WalletAddress, claim_message, eip191_hash, recover
from tools.engine.arguments import Arguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidRequest, NotFound
from tools.engine.next_steps import step
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.engine.request_signatures import insert_use
from tools.kernel.errors import MarketError
from tools.purchases.accounts import hand_over
from tools.purchases.errors import AlreadyClaimed, BuyerNotActive
from tools.wallets.errors import AddressSanctioned, WalletSignatureInvalid
from tools.wallets.logic import WalletSignature, contract_agrees, refuse_sanctioned_wallet

MAX_AGE_SECONDS = 300
MAX_AHEAD_SECONDS = 60  # how far the wallet's clock may be ahead
SIGN_THIS = "Sign details.text exactly as it stands with personal_sign (EIP-191) by that wallet, and send the same agent_id, address, public_key and signed_at."


class ClaimX402Account(Arguments):
    agent_id: str = Field(max_length=64, description="account.agent_id of the purchase's answer")
    address: WalletAddress = Field(description="the wallet that paid: 0x and 40 hex; EIP-55 if mixed case")
    signed_at: int = Field(ge=0, le=2**53 - 1, description="the Unix seconds in the signed text, at most 300 s ago")
    signature: WalletSignature = Field(
        description="personal_sign (EIP-191) by that wallet over account.claim.message, with its two places filled in",
    )
    public_key: PublicKey | None = Field(
        None,
        description="your Ed25519 root key, 64 hex or did:key, in lower-case hex in the signed text; left out, the text has - "
        "instead, and a keypair is made and its secret shown once",
    )


async def judge_claim(read_ctx: ReadContext, claim: ClaimX402Account) -> str:
    """Check the signature of a claim before its account is read; return the signed text.

    Only for a contract wallet the account is read first, because it names the chain on which the contract is asked.
    """
    refuse_sanctioned_wallet(read_ctx.world.sanctions, claim.address)
    config = read_ctx.config
    _check_age(claim, read_ctx.now.timestamp())
    text = claim_message(
        config.brand, config.base_url, claim.agent_id, claim.address, claim.public_key or "-", str(claim.signed_at)
    )
    signer = recover(text, claim.signature)
    if signer == claim.address:
        return text
    account = await read_ctx.store.read(lambda tx: _account(tx, claim))
    if account is not None and account.claimed_at is None:
        place = replace(read_ctx, env=Env(account.env))
        if await contract_agrees(place, claim.address, eip191_hash(text), claim.signature, text):
            return text
    raise WalletSignatureInvalid(
        "the wallet did not sign this claim", param="signature", hint=SIGN_THIS, text=text, recovered=signer
    )


@operation(
    "POST /v1/x402/account",
    auth="none",
    gather=judge_claim,
    errors=(
        AddressSanctioned,
        AlreadyClaimed,
        BuyerNotActive,
        ChainUnavailable,
        NotFound,
        PublicKeyInUse,
        WalletSignatureInvalid,
    ),
    shows_secrets=True,
    open_world=True,
    rate=Rate.CLAIMS,
    toolset="agents",
)
def claim_x402_account(ctx: TxContext, claim: ClaimX402Account, text: str) -> AgentCreated | MarketError:
    """Claim the agent that an x402 purchase made for your wallet; its keys are shown once.

    Sign account.claim.message of the purchase's answer with personal_sign by the wallet, with your public key (or -)
    and the time filled in. The agent then has its purchases as its history, the wallet is bound to it, and others find
    it. A signature is accepted once, for 300 seconds. A payment proves no ownership: it gets the work and no key.
    """
    account = _account(ctx.tx, claim, lock=True)
    if account is None:
        raise NotFound(
            "this wallet has no such account",
            param="agent_id",
            hint="Send account.agent_id as the answer of a purchase by this wallet names it.",
        )
    # The use is named by the text, because one text may have several signatures.
    use = f"x402-account:{sha256(text.encode()).hexdigest()}"
    fresh = insert_use(ctx.tx, account.agent_id, use, ctx.now)
    if account.claimed_at is not None:
        return AlreadyClaimed("this account was claimed before", param="agent_id")
    if not fresh:
        return WalletSignatureInvalid(
            "this signature was used before", param="signature", hint="Sign again, with another time."
        )
    agent = ctx.tx.need(AgentRow, account.agent_id, lock=True)
    if agent.status is not AgentStatus.UNCLAIMED:
        return BuyerNotActive("the operator has closed this account")
    place = replace(ctx, env=Env(account.env))
    claimed, identity = hand_over(place, account, agent, claim.public_key)
    return created_record(
        ctx,
        claimed,
        identity,
        account.address,
        step("get_me", "Check that your key works."),
        step("list_jobs", "See what this wallet has bought.", role="buyer"),
        step("search_listings", "See what else you can buy.", env=account.env),
    )


def _account(tx: Tx, claim: ClaimX402Account, *, lock: bool = False) -> X402AccountRow | None:
    """Find the account this wallet claims, claimed or not."""
    account = tx.get(X402AccountRow, claim.agent_id, lock=lock)
    return account if account is not None and account.address == claim.address else None


def _check_age(claim: ClaimX402Account, now_seconds: float) -> None:
    if now_seconds - MAX_AGE_SECONDS <= claim.signed_at <= now_seconds + MAX_AHEAD_SECONDS:
        return
    raise InvalidRequest(
        f"signed_at lies more than {MAX_AGE_SECONDS} seconds back, or ahead of the market's clock",
        param="signed_at",
        hint="Sign again with the present Unix seconds.",
        now=int(now_seconds),
    )
