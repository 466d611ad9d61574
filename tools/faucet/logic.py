"""Claims of test USDC: one per UTC day for each agent, and a few per day for each client address."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from storage.tables import FaucetClaimRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.config import MarketConfig
from tools.engine.context import ReadContext
from tools.engine.errors import NotImplementedHere
from tools.engine.ports import Faucet, World
from tools.engine.rate_limits import (
    ALLOWANCES,
    Rate,
    RateLimit,
    bucket_of,
    give_back_shared,
    raise_if_exceeded,
    take_shared,
)
from tools.faucet.errors import FaucetClaimedToday, FaucetTestOnly
from tools.kernel.records import stamp
from tools.wallets.errors import WalletAddressRequired

ELSEWHERE = "Take test USDC from the page that get_payments_info names as faucet."


def faucet_of(world: World, env: Env) -> Faucet:
    """Return the faucet; raise NotImplementedHere if there is none, and FaucetTestOnly on live."""
    if world.faucet is None:
        raise NotImplementedHere("this market has no faucet", hint=ELSEWHERE)
    if env is not Env.TEST:
        raise FaucetTestOnly("the faucet gives test money only")
    return world.faucet


def next_claim(row: FaucetClaimRow | None, now: datetime) -> datetime | None:
    """Return the next midnight if the agent has claimed today; None if it may claim now."""
    claimed = row.claimed_at if row else None
    is_today = claimed is not None and claimed.astimezone(UTC).date() == now.astimezone(UTC).date()
    return midnight_after(now) if is_today else None


def midnight_after(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def check_claim(tx: Tx, agent_id: str, now: datetime) -> str:
    """Return the wallet to fund, which is bound on test.

    Raises WalletAddressRequired if there is none, or FaucetClaimedToday if the agent has claimed today.
    """
    wallet = tx.get(WalletRow, agent_id, Env.TEST)
    if wallet is None:
        raise WalletAddressRequired("bind a wallet first: the money is sent to it")
    again = next_claim(tx.get(FaucetClaimRow, agent_id), now)
    if again is not None:
        raise FaucetClaimedToday("you were given test money today", next_claim_at=stamp(again))
    return wallet.address


def begin_claim(tx: Tx, read_ctx: ReadContext) -> str:
    """Store the claim and return the wallet to fund.

    This comes before the call to the faucet, so that two requests cannot both claim.
    """
    agent_id, now = read_ctx.caller.agent, read_ctx.now
    row = tx.get(FaucetClaimRow, agent_id, lock=True)
    address = check_claim(tx, agent_id, now)
    if read_ctx.config.limits.enforced:
        bucket = bucket_of(read_ctx.caller.request.ip)
        raise_if_exceeded(take_shared(tx, Rate.FAUCET, allowance(read_ctx.config), bucket, now))
    if row is None:
        tx.add(FaucetClaimRow(agent_id=agent_id, claimed_at=now, address=address))
    else:
        tx.change(row, claimed_at=now, address=address, tx_hash=None)
    return address


def undo_claim(tx: Tx, read_ctx: ReadContext) -> None:
    """Undo a claim for which the faucet sent nothing."""
    row = tx.get(FaucetClaimRow, read_ctx.caller.agent, lock=True)
    if row is not None and row.claimed_at == read_ctx.now:
        tx.change(row, claimed_at=None)
        give_back_shared(tx, Rate.FAUCET, bucket_of(read_ctx.caller.request.ip))


def allowance(config: MarketConfig) -> RateLimit:
    return replace(ALLOWANCES[Rate.FAUCET], calls=config.limits.faucet_claims_per_address)
