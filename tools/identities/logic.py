"""ERC-8004 identities: read from the registry on a chain, linked to one agent each, and checked again every day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog

from storage.agents import due_identities, forget_identity, identity_of_token
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
from tools.engine.ports import Chain, World
from tools.events.identity_payloads import Erc8004Linked
from tools.kernel.records import Json, stamp

DAILY, SOON = timedelta(hours=24), timedelta(hours=1)
LEASE = timedelta(minutes=5)  # two reads take at most half a minute
BATCH = 25

log = structlog.get_logger("emporion.identities")


class Due(NamedTuple):
    """A linked token that was claimed for its daily check."""

    agent_id: str
    env: Env
    token: str
    until: datetime  # the end of the lease


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a daily check; `identity` is None if the token does not exist any more."""

    identity: Identity | None


async def read_identity(chain: Chain, registry: str, token: str) -> Identity:
    """Read the owner and the URI of a token.

    Raises NoIdentity if the token does not exist, and ChainDown if the node gave no valid answer.
    """
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
    row, before = ctx.tx.get(IdentityRow, agent.id, lock=True), agent.erc8004
    said: dict[str, Json] = {"env": ctx.env, "token": found.token, "owner": found.owner, "verified_at": ctx.now}
    if row is None:
        row = ctx.tx.add(IdentityRow(agent_id=agent.id, check_at=ctx.now + DAILY, **said))
    else:
        row = ctx.tx.change(row, check_at=ctx.now + DAILY, **said)
    after = _show(ctx.tx, ctx.config, agent, row)
    if before is None or _token_of(before) != _token_of(after.erc8004 or {}):
        _tell(ctx, row, after)
    return after


def unlink(tx: Tx, agent_id: str) -> None:
    """Remove the agent's linked token."""
    if tx.run(forget_identity, agent_id=agent_id):
        change_agent(tx, tx.need(AgentRow, agent_id, lock=True), erc8004=None)


def follow_wallet(ctx: TxContext, agent: AgentRow) -> AgentRow:
    """Update the link after a change of wallet, because the new wallet may not own the token."""
    row = ctx.tx.get(IdentityRow, agent.id)
    return agent if row is None or row.env != ctx.env else _show(ctx.tx, ctx.config, agent, row)


def claim_due(ctx: TxContext) -> list[Due]:
    """Claim the linked tokens that are due for their daily check, with a lease."""
    until = ctx.now + LEASE
    rows = ctx.tx.all(due_identities, now=ctx.now, limit=BATCH)
    return [Due(row.agent_id, Env(row.env), row.token, until) for row in rows if ctx.tx.change(row, check_at=until)]


async def look_again(world: World, config: MarketConfig, due: Due) -> CheckResult | None:
    """Read a linked token from the chain; None if the chain gave no answer."""
    chain = world.chains.get(due.env)
    if chain is None:
        return None
    try:
        return CheckResult(await read_identity(chain, config.networks[due.env].identity_registry, due.token))
    except NoIdentity:
        return CheckResult(None)
    except ChainDown:
        return None


def finish_look(ctx: TxContext, due: Due, seen: CheckResult | None) -> None:
    """Store the result of the daily check, unless its lease was lost.

    A token that does not exist any more, or does not name its agent any more, is unlinked.
    """
    agent = ctx.tx.get(AgentRow, due.agent_id, lock=True)
    row = ctx.tx.get(IdentityRow, due.agent_id, lock=True)
    if agent is None or row is None or row.check_at != due.until:
        return
    if seen is None:
        ctx.tx.change(row, check_at=ctx.now + SOON)
    elif seen.identity is None or not names(ctx.config, due.agent_id, seen.identity):
        log.info("a token names its agent no longer", agent_id=due.agent_id, token=due.token)
        unlink(ctx.tx, due.agent_id)
    else:
        looked = {"verified_at": ctx.now, "check_at": ctx.now + DAILY}
        _show(ctx.tx, ctx.config, agent, ctx.tx.change(row, owner=seen.identity.owner, **looked))


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


def _token_of(shown: dict[str, Json]) -> Json:
    return {name: value for name, value in shown.items() if name in ("agent_id", "chain_id", "registry")}


def _tell(ctx: TxContext, row: IdentityRow, agent: AgentRow) -> None:
    shown = agent.erc8004 or {}
    told: Erc8004Linked = {
        "agent_id": row.token,
        "chain_id": shown["chain_id"],
        "registry": shown["registry"],
        "owner_verified": shown["owner_verified"],
        "hint": "It is read again every day; it counts while its URI is your registration file.",
    }
    ctx.emit(agent.id, row.env, "agent.erc8004_linked", told)
