"""Identities on a chain: read from the registry, linked to one agent each, and looked at again every day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import orjson
import structlog

from storage.proofs import due_identities, forget_identity, identity_of_token
from storage.tables import AgentRow, IdentityRow, WalletRow
from storage.unit import Tx
from tools.context import Context
from tools.house import House
from tools.ports import Chain, Env, World
from tools.records.base import Json, stamp
from tools.records.identitydata import Erc8004Linked
from tools.rules.erc8004 import (
    OWNER_OF,
    TOKEN_URI,
    Identity,
    NoIdentity,
    Unreadable,
    ask,
    caip10,
    identity,
    registration_url,
)
from tools.rules.transfers import ChainDown
from tools.steps.agents import change_agent

DAILY, SOON = timedelta(hours=24), timedelta(hours=1)
LEASE = timedelta(minutes=5)  # two reads take half a minute at most
BATCH = 25

log = structlog.get_logger("emporion.identities")


class Due(NamedTuple):
    """A linked token whose daily look was claimed."""

    agent_id: str
    env: Env
    token: str
    until: datetime  # the end of the lease


@dataclass(frozen=True, slots=True)
class Seen:
    """What the daily look found; `identity` is None where there is no such token any more."""

    identity: Identity | None


async def read_identity(chain: Chain, registry: str, token: str) -> Identity:
    """Owner and URI of a token. NoIdentity where there is none; ChainDown where the node gave no answer, or nonsense."""
    owner = await chain.call(registry, ask(OWNER_OF, token))
    uri = None if owner is None else await chain.call(registry, ask(TOKEN_URI, token))
    try:
        return identity(token, owner, uri)
    except Unreadable as nonsense:
        raise ChainDown(f"identity registry: {nonsense}") from None


def names(house: House, agent_id: str, found: Identity) -> bool:
    """Whether the token says that it is this agent's."""
    return found.uri == registration_url(house.base_url, agent_id)


def link(ctx: Context, agent: AgentRow, found: Identity) -> AgentRow:
    """Link a token that names this agent; whoever had it linked before has it no longer."""
    held = ctx.tx.one(identity_of_token, env=ctx.env, token=found.token)
    if held is not None and held.agent_id != agent.id:
        unlink(ctx.tx, held.agent_id)
    row, before = ctx.tx.get(IdentityRow, agent.id, lock=True), agent.erc8004
    said: dict[str, Json] = {"env": ctx.env, "token": found.token, "owner": found.owner, "verified_at": ctx.now}
    if row is None:
        row = ctx.tx.add(IdentityRow(agent_id=agent.id, check_at=ctx.now + DAILY, **said))
    else:
        row = ctx.tx.change(row, check_at=ctx.now + DAILY, **said)
    after = _show(ctx.tx, ctx.house, agent, row)
    if before is None or _token_of(before) != _token_of(after.erc8004 or ""):
        _tell(ctx, row, after)
    return after


def unlink(tx: Tx, agent_id: str) -> None:
    """The agent has no linked token any more."""
    if tx.run(forget_identity, agent_id=agent_id):
        agent = tx.get(AgentRow, agent_id, lock=True)
        assert agent is not None
        change_agent(tx, agent, erc8004=None)


def follow_wallet(ctx: Context, agent: AgentRow) -> AgentRow:
    """After a change of wallet: whether it owns the linked token is another question now."""
    row = ctx.tx.get(IdentityRow, agent.id)
    return agent if row is None or row.env != ctx.env else _show(ctx.tx, ctx.house, agent, row)


def claim_due(ctx: Context) -> list[Due]:
    """The linked tokens that are due for their daily look, leased to the caller: others find them due later."""
    until = ctx.now + LEASE
    rows = ctx.tx.all(due_identities, now=ctx.now, limit=BATCH)
    return [Due(row.agent_id, Env(row.env), row.token, until) for row in rows if ctx.tx.change(row, check_at=until)]


async def look_again(world: World, house: House, due: Due) -> Seen | None:
    """What the chain says of a linked token now; None where it says nothing."""
    chain = world.chains.get(due.env)
    if chain is None:
        return None
    try:
        return Seen(await read_identity(chain, house.networks[due.env].identity_registry, due.token))
    except NoIdentity:
        return Seen(None)
    except ChainDown:
        return None


def finish_look(ctx: Context, due: Due, seen: Seen | None) -> None:
    """Write down what the daily look found, unless its lease was lost: a token that names another agent is linked no more."""
    agent = ctx.tx.get(AgentRow, due.agent_id, lock=True)
    row = ctx.tx.get(IdentityRow, due.agent_id, lock=True)
    if agent is None or row is None or row.check_at != due.until:
        return
    if seen is None:
        ctx.tx.change(row, check_at=ctx.now + SOON)
    elif seen.identity is None or not names(ctx.house, due.agent_id, seen.identity):
        log.info("a token names its agent no longer", agent_id=due.agent_id, token=due.token)
        unlink(ctx.tx, due.agent_id)
    else:
        looked = {"verified_at": ctx.now, "check_at": ctx.now + DAILY}
        _show(ctx.tx, ctx.house, agent, ctx.tx.change(row, owner=seen.identity.owner, **looked))


def _show(tx: Tx, house: House, agent: AgentRow, row: IdentityRow) -> AgentRow:
    """Write the link into the profile."""
    network, wallet = house.networks[Env(row.env)], tx.get(WalletRow, agent.id, row.env)
    shown = {
        "agent_id": row.token,
        "chain_id": network.chain_id,
        "registry": caip10(network.id, network.identity_registry),
        "owner_verified": wallet is not None and wallet.address == row.owner,
        "verified_at": stamp(row.verified_at),
    }
    text = orjson.dumps(shown).decode()
    return agent if agent.erc8004 == text else change_agent(tx, agent, erc8004=text)


def _token_of(shown: str) -> Json:
    return {name: value for name, value in orjson.loads(shown).items() if name in ("agent_id", "chain_id", "registry")}


def _tell(ctx: Context, row: IdentityRow, agent: AgentRow) -> None:
    shown = orjson.loads(agent.erc8004 or "{}")
    told: Erc8004Linked = {
        "agent_id": row.token,
        "chain_id": shown["chain_id"],
        "registry": shown["registry"],
        "owner_verified": shown["owner_verified"],
        "hint": "It is read again every day; it counts while its URI is your registration file.",
    }
    ctx.tx.say(agent.id, row.env, "agent.erc8004_linked", orjson.dumps(told).decode(), ctx.now)
