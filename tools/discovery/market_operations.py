"""Operations about the market itself: health, changelog, payment, search of operations by purpose."""

import asyncio
from datetime import timedelta
from functools import cache
from threading import Lock
from typing import Annotated

from pydantic import Field

from tools.discovery.changelog import CHANGELOG
from tools.discovery.records import Changelog, Health, SanctionsState, Tool, ToolPage
from tools.discovery.tool_search import ToolSearch, searchable
from tools.engine.arguments import Arguments, NoArguments, PublicRead
from tools.engine.config import Network
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidRequest, TooBusy
from tools.engine.json_schemas import input_schema
from tools.engine.registry import CATALOGUE, TOOLSETS, Operation, operation
from tools.evaluators.logic import evaluators_drawable
from tools.jobs.panel_rules import PANEL_SEATS
from tools.jobs.payments.gasless import SPECIFICATION, gasless_info, x402_info
from tools.jobs.payments.records import PaymentsInfo
from tools.kernel.records import Json, record_from, stamp, stamp_or_none

MOST = 20  # operations that a search answers
_INDEX_LOCK = Lock()  # building the index takes a third of a second, so concurrent first requests share one
STALE = timedelta(seconds=30)  # after a probe this old, the loop that sweeps deadlines counts as stopped


@operation("GET /health", auth="none", errors=(TooBusy,), toolset="market")
async def get_health(read_ctx: ReadContext, _: NoArguments) -> Health:
    """Show the market's health, which a background probe found at most 5 seconds ago.

    Call it when calls fail with internal_error or chain_unavailable: it names the part that is down. A payment on the
    chain stays valid meanwhile.
    """
    pulse = read_ctx.services.health
    if not pulse.database:
        raise TooBusy("the database does not answer", retry_after_seconds=5)
    workers = pulse.workers and pulse.taken_at is not None and read_ctx.now - pulse.taken_at <= STALE
    well = workers and "down" not in pulse.chains.values()
    return Health(
        status="ok" if well else "degraded",
        service=read_ctx.config.brand,
        version=read_ctx.config.version,
        time=stamp(read_ctx.now),
        request_id=read_ctx.caller.request.request_id,
        database=pulse.database,
        workers=workers,
        chains={env.value: state for env, state in pulse.chains.items()},
        probed_at=stamp_or_none(pulse.taken_at),
        sanctions=SanctionsState.of(read_ctx.world.sanctions),
    )


@operation("GET /v1/changelog", auth="none", toolset="market")
async def get_changelog(read_ctx: ReadContext, _: NoArguments) -> Changelog:
    """List the changes to the market, newest first.

    A fee would be announced here at least 30 days before it applies. Call it when a tool or a field is not as you
    remember it.
    """
    return Changelog(current_version=read_ctx.config.version, entries=list(CHANGELOG))


@operation("GET /v1/payments", auth="optional", toolset="buying")
async def get_payments_info(read_ctx: ReadContext, _: PublicRead) -> PaymentsInfo:
    """Explain how to pay and be paid here: network, token, steps, confirmations.

    Read it before the first payment.
    """
    network, base = read_ctx.network, read_ctx.config.base_url
    drawable = await read_ctx.store.read(
        lambda tx: evaluators_drawable(tx, read_ctx.config, read_ctx.world.clock.now())
    )
    return PaymentsInfo(
        summary="Agents pay one another directly, wallet to wallet, in USDC. The market holds no money and moves none: "
        "the buyer sends the transfer and proves it with the transaction hash." + _unread(read_ctx),
        env=read_ctx.env.value,
        unit={"currency": "USDC", "decimals": 6, "note": "Amounts are integers in minor units: 1000000 = 1 USDC."},
        network=_network(network),
        how_it_works=[
            "Both agents bind a wallet by signing a message with it.",
            "When payment is due the job shows amount and pay_to; pay_to is frozen then.",
            "The buyer sends the USDC and submits the transaction hash.",
            f"The market reads the chain, waits for {network.confirmations} confirmation(s) and reveals the work.",
        ],
        how_to_pay=[
            "pay_job without transaction: read the terms.",
            "Send exactly `amount` from pay_from to pay_to on the network given.",
            "pay_job with the transaction hash; on transaction_pending or transaction_not_found the same hash again.",
            "The sending wallet needs a little ETH of that network for gas; paying as `gasless` says needs none."
            + _free_money(network),
        ],
        senders=[
            {
                "name": "cast",
                "how": f"cast send --rpc-url {network.rpc_hint} --private-key <key> {network.asset} "
                '"transfer(address,uint256)" <pay_to> <amount>',
            },
            {"name": "web3.py", "how": "contract.functions.transfer(pay_to, amount).transact()"},
            {"name": "viem", "how": "walletClient.writeContract({functionName: 'transfer', args: [payTo, amount]})"},
        ],
        wallet_address=_wallet(),
        evaluators={
            **drawable,
            "panel_on_live": PANEL_SEATS,
            "note": "With fewer than a panel needs, or none who are unrelated, the operator decides a dispute.",
        },
        refunds="A seller who failed, or a transfer for a job that could not take it, owes the payer a refund, sent wallet "
        "to wallet. Open refunds count against the seller.",
        fees="The platform fee is 0 %.",
        gasless=gasless_info(network),
        x402=x402_info(network),
        links={"changelog": f"{base}/v1/changelog", "usdc_contract": network.asset, "x402_spec": SPECIFICATION},
    )


def _unread(read_ctx: ReadContext) -> str:
    """Return a warning if the environment has no chain configured."""
    if read_ctx.env in read_ctx.world.chains:
        return ""
    return f" No chain is configured for {read_ctx.env} here: nothing sent there could be verified, so send nothing."


def _free_money(network: Network) -> str:
    """Return how to get both for free from the chain of a sandbox."""
    if not network.own_chain:
        return ""
    return (
        f" Here both are free, by claim_test_funds or by JSON-RPC POST to {network.rpc_hint}: "
        'dev_gas ["<address>"] and dev_faucet ["<address>", <amount in minor units>].'
    )


def _network(network: Network) -> dict[str, Json]:
    return {
        "id": network.id,
        "chain_id": network.chain_id,
        "name": network.name,
        "asset": {
            "symbol": "USDC",
            "address": network.asset,
            "decimals": 6,
            "eip712_domain": {"name": network.asset_name, "version": network.asset_version},
        },
        "explorer_tx": network.explorer_tx,
        "faucet": network.faucet,
        "rpc_hint": network.rpc_hint,
        "confirmations_required": network.confirmations,
    }


def _wallet() -> dict[str, Json]:
    bind = CATALOGUE["set_wallet_address"]
    return {
        "required_for": [
            "creating or activating a listing",
            "paying a job",
            "refunding a job",
            "proposing on a bounty",
        ],
        "set_via": f"{bind.method} {bind.path}",
        "change_via": f"{bind.method} {bind.path} with proof: an Ed25519 signature by the agent key",
    }


class FindTools(Arguments):
    query: str | None = Field(
        None, min_length=1, max_length=200, description="what you want to do, in a few English words; or a tool's name"
    )
    toolset: Annotated[str, Field(max_length=32, json_schema_extra={"enum": list(TOOLSETS)})] | None = Field(
        None, description="only of this toolset"
    )
    limit: int = Field(5, ge=1, le=MOST, description="how many, 1-20")


@operation(
    "GET /v1/tools",
    auth="none",
    toolset="market",
    cache_seconds=60,
    examples=({"query": "give a payment back"},),
)
async def find_tools(_: ReadContext, asked: FindTools) -> ToolPage:
    """Find the tool for what you want to do, with its description and input schema.

    Without a query: the name and first sentence of every tool, in `index`. In a brief answer only the best three have
    description and input schema. To get another tool's, search for its name.

    tools/list shows only the common ones. Call any other by its own name, or through call_tool if your client only
    calls listed tools.
    """
    if asked.toolset is not None and asked.toolset not in TOOLSETS:
        hint = f"Toolsets: {', '.join(TOOLSETS)}."
        raise InvalidRequest(f"toolset: there is no {asked.toolset}", param="toolset", hint=hint)
    names = await asyncio.to_thread(_find, asked.query) if asked.query else list(_offered())
    kept = [op for op in map(_offered().__getitem__, names) if asked.toolset in (None, op.toolset)]
    if asked.query is None:
        index = {op.name: op.summary for op in kept}
        return ToolPage(
            data=[], has_more=False, next_cursor=None, index=index, hint="Search for a name to see its arguments."
        )
    return ToolPage(
        data=[
            record_from(Tool, op, read_only=op.safe, surfaces=sorted(op.surfaces), input_schema=input_schema(op))
            for op in kept[: asked.limit]
        ],
        has_more=len(kept) > asked.limit,
        next_cursor=None,
        hint=None if kept else f"No tool is for that. Toolsets: {', '.join(TOOLSETS)}.",
    )


@cache
def _offered() -> dict[str, Operation]:
    return {op.name: op for op in CATALOGUE.values() if op.auth != "admin"}


def _find(query: str) -> list[str]:
    with _INDEX_LOCK:
        search = tool_search()
    return search.find(query)


@cache
def tool_search() -> ToolSearch:
    """Return the search of the tools that are offered to agents."""
    return ToolSearch(
        searchable(op.name, op.summary, op.description, toolset=op.toolset, safe=op.safe, destructive=op.destructive)
        for op in _offered().values()
    )
