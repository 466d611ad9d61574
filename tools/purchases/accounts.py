"""The accounts of paying wallets: made by a purchase, without keys, and handed over to a wallet that proves itself.

A payment is no such proof, because it is signed for an amount and a recipient, not for a market or an order, and other
sites can ask for it too.
"""

from storage.agents import wallets_ever_held
from storage.purchases import owners_of_wallet, unclaimed_account
from storage.tables import AgentRow, FormerKeyRow, ListingRow, X402AccountRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env
from tools.agents.handles import first_handle
from tools.agents.key_possession import claim_key
from tools.agents.logic import change_agent
from tools.agents.profiles import Profile
from tools.agents.records import KeyPair
from tools.agents.registration import enrol, keypair
from tools.chain.wallet_proof import claim_message
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.engine.registry import CATALOGUE
from tools.purchases.errors import BuyerNotActive
from tools.purchases.records import X402Account, X402Claim
from tools.wallets.logic import bind

OWNERS = 20
UNSAID = Profile.model_validate({})  # an empty profile


def buyer_of(ctx: TxContext, payer: str, listing: ListingRow) -> AgentRow:
    """Return the agent that a purchase is booked on; make the wallet's account if there is none.

    An agent that has bound the wallet is preferred, the caller first. Raises InvalidRequest if the seller ever had the
    wallet, and BuyerNotActive.
    """
    if payer in ctx.tx.all(wallets_ever_held, agent_id=listing.seller_id):
        raise InvalidRequest("buyer and seller are, or were, bound to the same wallet", param="listing_id")
    owners = ctx.tx.all(owners_of_wallet, env=ctx.env, address=payer, limit=OWNERS)
    asking = ctx.caller.agent_id
    active = [one for one in owners if one.status is AgentStatus.ACTIVE]
    if active:
        return min(active, key=lambda one: one.id != asking)
    if any(one.status is AgentStatus.SUSPENDED for one in owners):
        raise BuyerNotActive("the agent this wallet is bound to is suspended")
    account = ctx.tx.one(unclaimed_account, env=ctx.env, address=payer)
    if account is None:
        return _made(ctx, payer)
    agent = ctx.tx.need(AgentRow, account.agent_id)
    if agent.status is not AgentStatus.UNCLAIMED:
        raise BuyerNotActive("the operator has closed the account of this wallet")
    return agent


def _made(ctx: TxContext, payer: str) -> AgentRow:
    """Add an agent without API keys for a wallet; its root key is random and unknown."""
    name = f"Wallet {payer[:6]}…{payer[-4:]}"
    nobodys = keypair(ctx).public_key
    made = enrol(ctx, UNSAID, name, first_handle(ctx, None, name), nobodys, status=AgentStatus.UNCLAIMED)
    ctx.tx.add(X402AccountRow(agent_id=made.id, env=ctx.env, address=payer, made_at=ctx.now))
    return made


def is_unclaimed(tx: Tx, agent_id: str) -> bool:
    """Check whether a purchase made this agent and its wallet has not claimed it."""
    account = tx.get(X402AccountRow, agent_id)
    return account is not None and account.claimed_at is None


def account_of(tx: Tx, config: MarketConfig, agent_id: str) -> X402Account:
    """Return the agent that a purchase was booked on, and how its wallet claims it."""
    account = tx.get(X402AccountRow, agent_id)
    if account is None or account.claimed_at is not None:
        return X402Account(agent_id=agent_id, claimed=True, claim=None)
    op = CATALOGUE["claim_x402_account"]
    text = claim_message(
        config.brand, config.base_url, agent_id, account.address, "<public_key_hex or ->", "<unix seconds>"
    )
    body = {
        "agent_id": agent_id,
        "address": account.address,
        "signed_at": "<the unix seconds in message>",
        "signature": "<0x and 130 hex digits: personal_sign of message by the wallet>",
        "public_key": "<the public key in message; left out if that is ->",
    }
    claim = X402Claim(method="POST", path=op.path, message=text, body=body)
    return X402Account(agent_id=agent_id, claimed=False, claim=claim)


def hand_over(
    ctx: TxContext, account: X402AccountRow, agent: AgentRow, public_key: str | None
) -> tuple[AgentRow, KeyPair]:
    """Hand an account over to its wallet: activate it with a root key, and bind the wallet."""
    if public_key:
        claim_key(ctx, public_key, "public_key", proven=False)
    identity = keypair(ctx, public_key)
    ctx.tx.add(FormerKeyRow(public_key=agent.public_key, agent_id=agent.id, retired_at=ctx.now))
    claimed = change_agent(
        ctx.tx,
        agent,
        status=AgentStatus.ACTIVE,
        public_key=identity.public_key,
        key_proven=public_key is None,
        live_since=ctx.now if account.env == Env.LIVE else None,
    )
    bind(ctx, agent.id, None, account.address)
    ctx.tx.change(account, claimed_at=ctx.now)
    return claimed, identity
