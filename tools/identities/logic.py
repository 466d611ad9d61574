"""ERC-8004 identities: read from the registry on a chain, linked to one agent each, and checked again every day."""

from datetime import timedelta

import structlog

from storage.agents import forget_identity, identity_of_token
from storage.tables import AgentRow, IdentityRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.logic import change_agent
from tools.chain.erc8004 import (
    OWNER_OF,
    TOKEN_URI,
    Identity,
    NoIdentity,
    Unreadable,
    caip10,
    call_data,
    identity,
    registration_url,
)
from tools.chain.transfer_verification import ChainDown
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.engine.ports import World
from tools.kernel.records import stamp

DAILY, SOON = timedelta(hours=24), timedelta(hours=1)
LINKED = "It is read again every day; it counts while its URI is your registration file."

log = structlog.get_logger("emporion.identities")


async def read_identity(world: World, config: MarketConfig, env: Env, token: str) -> Identity:
    """Read the owner and the URI of a token.

    Raises NoIdentity if the token does not exist, and ChainDown if the node gave no valid answer.
    """
    chain, registry = world.chains.get(env), config.networks[env].identity_registry
    if chain is None:
        raise ChainDown("no node is set")
    owner = await chain.call(registry, call_data(OWNER_OF, token))
    uri = None if owner is None else await chain.call(registry, call_data(TOKEN_URI, token))
    try:
        return identity(token, owner, uri)
    except Unreadable as nonsense:
        raise ChainDown(f"identity registry: {nonsense}") from None


def names(config: MarketConfig, agent_id: str, found: Identity) -> bool:
    """Check whether the token's URI is this agent's registration file."""
    return found.uri == registration_url(config.base_url, agent_id)


def link(ctx: TxContext, agent: AgentRow, found: Identity) -> AgentRow:
    """Link a token that names this agent, and unlink it from the agent that had it before."""
    held = ctx.tx.one(identity_of_token, env=ctx.env, token=found.token)
    if held is not None and held.agent_id != agent.id:
        unlink(ctx.tx, held.agent_id)
    known, before = ctx.tx.get(IdentityRow, agent.id, lock=True), agent.erc8004 or {}
    row = ctx.tx.add_or_change(
        IdentityRow,
        known,
        {"agent_id": agent.id},
        env=ctx.env,
        token=found.token,
        owner=found.owner,
        verified_at=ctx.now,
        check_at=ctx.now + DAILY,
    )
    after = _show(ctx.tx, ctx.config, agent, row)
    shown = after.erc8004 or {}
    token = {name: shown[name] for name in ("agent_id", "chain_id", "registry")}
    if not token.items() <= before.items():
        told = {**token, "owner_verified": shown["owner_verified"], "hint": LINKED}
        ctx.emit(agent.id, row.env, "agent.erc8004_linked", told)
    return after


def unlink(tx: Tx, agent_id: str) -> None:
    """Remove the agent's linked token."""
    if tx.run(forget_identity, agent_id=agent_id):
        change_agent(tx, tx.need(AgentRow, agent_id, lock=True), erc8004=None)


def follow_wallet(ctx: TxContext, agent: AgentRow) -> AgentRow:
    """Update the link after a change of wallet, because the new wallet may not own the token."""
    row = ctx.tx.get(IdentityRow, agent.id)
    return agent if row is None or row.env != ctx.env else _show(ctx.tx, ctx.config, agent, row)


async def look_again(world: World, config: MarketConfig, due: IdentityRow) -> Identity | None:
    """Read a linked token from the chain; None if the chain gave no answer.

    A token that does not exist any more has neither owner nor URI.
    """
    try:
        return await read_identity(world, config, Env(due.env), due.token)
    except NoIdentity:
        return Identity(due.token, owner="", uri="")
    except ChainDown:
        return None


def finish_look(ctx: TxContext, due: IdentityRow, seen: Identity | None) -> None:
    """Store the result of the daily check, unless its lease was lost.

    A token that does not exist any more, or does not name its agent any more, is unlinked.
    """
    agent = ctx.tx.get(AgentRow, due.agent_id, lock=True)
    row = ctx.tx.get(IdentityRow, due.agent_id, lock=True)
    if agent is None or row is None or row.check_at != due.check_at:
        return
    if seen is None:
        ctx.tx.change(row, check_at=ctx.now + SOON)
    elif not names(ctx.config, due.agent_id, seen):
        log.info("a token names its agent no longer", agent_id=due.agent_id, token=due.token)
        unlink(ctx.tx, due.agent_id)
    else:
        row = ctx.tx.change(row, owner=seen.owner, verified_at=ctx.now, check_at=ctx.now + DAILY)
        _show(ctx.tx, ctx.config, agent, row)


def _show(tx: Tx, config: MarketConfig, agent: AgentRow, row: IdentityRow) -> AgentRow:
    """Write the link into the profile."""
    network, wallet = config.networks[Env(row.env)], tx.get(WalletRow, agent.id, row.env)
    shown = {
        "agent_id": row.token,
        "chain_id": network.chain_id,
        "registry": caip10(network.id, network.identity_registry),
        "owner_verified": wallet is not None and wallet.address == row.owner,
        "verified_at": stamp(row.verified_at),
    }
    return agent if agent.erc8004 == shown else change_agent(tx, agent, erc8004=shown)
