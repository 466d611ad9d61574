"""The faucet: test USDC for the caller's bound wallet, sent by a separate service that the operator names."""

from dataclasses import dataclass

from storage.tables import FaucetClaimRow
from tools.engine.arguments import NoArguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import NotImplementedHere
from tools.engine.next_steps import step, steps
from tools.engine.ports import FaucetLost, FaucetRefused
from tools.engine.registry import operation
from tools.faucet.errors import FaucetClaimedToday, FaucetTestOnly, FaucetUnavailable
from tools.faucet.logic import allowance, begin_claim, check_claim, faucet_of, midnight_after, next_claim, undo_claim
from tools.faucet.records import Faucet, FaucetClaim, LastClaim
from tools.kernel.money import MINOR_PER_USDC, display
from tools.kernel.records import stamp, stamp_or_none
from tools.wallets.errors import AddressSanctioned, WalletAddressRequired
from tools.wallets.logic import refuse_sanctioned

GIVEN = MINOR_PER_USDC
LOST = "It may have been sent: look at your wallet. If nothing came, claim again tomorrow."


@dataclass(frozen=True, slots=True)
class Sent:
    """The amount that the faucet sent, and to which wallet; no transaction in a dry run."""

    address: str
    transaction: str | None


async def send_funds(read_ctx: ReadContext, _: NoArguments) -> Sent:
    """Claim, then ask the faucet. A claim stays unless the faucet certainly sent nothing."""
    faucet, agent_id = faucet_of(read_ctx.world, read_ctx.env), read_ctx.caller.agent
    address = await read_ctx.store.read(lambda tx: check_claim(tx, agent_id, read_ctx.now))
    refuse_sanctioned(read_ctx.world.sanctions, {address})
    if read_ctx.caller.request.dry_run:
        return Sent(address, None)
    address = await read_ctx.store.write(lambda tx: begin_claim(tx, read_ctx), "claim test funds")
    try:
        return Sent(address, await faucet.give(address, GIVEN))
    except FaucetRefused:
        await read_ctx.store.write(lambda tx: undo_claim(tx, read_ctx), "undo a claim")
        raise FaucetUnavailable("the faucet gives nothing now", retry_after_seconds=60) from None
    except FaucetLost:
        raise FaucetUnavailable("the faucet did not say what became of it", hint=LOST, retry_after_seconds=60) from None


@operation(
    "POST /v1/sandbox/faucet",
    scope=("buy", "sell"),
    gather=send_funds,
    errors=(
        NotImplementedHere,
        FaucetTestOnly,
        FaucetClaimedToday,
        FaucetUnavailable,
        WalletAddressRequired,
        AddressSanctioned,
    ),
    open_world=True,
    toolset="payments",
)
def claim_test_funds(ctx: TxContext, _: NoArguments, sent: Sent) -> FaucetClaim:
    """Get 1 test USDC sent to your bound wallet, once a day (UTC), if the market has a faucet.

    It takes a test key. It needs a wallet bound with set_wallet_address. The sandbox's faucet adds test ETH for gas; without gas, pay as the
    terms say under gasless. The money is there when the transaction is mined. Next: search_listings, then hire.
    """
    row = ctx.tx.get(FaucetClaimRow, ctx.agent, lock=True)
    if row is not None and sent.transaction is not None:
        ctx.tx.change(row, tx_hash=sent.transaction)
    network, faucet = ctx.network, ctx.world.faucet
    explorer = network.explorer_tx if sent.transaction else None
    return FaucetClaim(
        amount=GIVEN,
        display=display(GIVEN),
        address=sent.address,
        gas_included=faucet is not None and faucet.gives_gas,
        network=network.id,
        asset=network.asset,
        transaction=sent.transaction,
        explorer_url=explorer and f"{explorer}{sent.transaction}",
        claimed_at=stamp(ctx.now),
        next_claim_at=stamp(midnight_after(ctx.now)),
        hint="The money is in your wallet when the transaction is mined, in a few seconds.",
        next_steps=steps(step("search_listings", "Find a service to pay for.", env="test", max_price=GIVEN)),
    )


@operation("GET /v1/sandbox/faucet", errors=(NotImplementedHere, FaucetTestOnly), toolset="payments")
def get_faucet(ctx: TxContext, _: NoArguments) -> Faucet:
    """See what the faucet of test money gives, your last claim, and when you may claim again.

    claim_test_funds asks for it. Both take a test key; a market without a faucet answers not_implemented.
    """
    faucet, network = faucet_of(ctx.world, ctx.env), ctx.network
    row = ctx.tx.get(FaucetClaimRow, ctx.agent)
    again = next_claim(row, ctx.now)
    return Faucet(
        amount=GIVEN,
        display=display(GIVEN),
        gas_included=faucet.gives_gas,
        network=network.id,
        asset=network.asset,
        claims_per_address_per_day=allowance(ctx.config).calls,
        last_claim=_last(row),
        next_claim_at=stamp_or_none(again),
        hint="Claim again after next_claim_at." if again else "Claim with claim_test_funds.",
        next_steps=[] if again else steps(step("claim_test_funds", "Get test USDC for your bound wallet.")),
    )


def _last(row: FaucetClaimRow | None) -> LastClaim | None:
    if row is None or row.claimed_at is None:
        return None
    return LastClaim(address=row.address, transaction=row.tx_hash, claimed_at=stamp(row.claimed_at))
