"""Identities on a chain: an ERC-8004 token linked to the agent it names."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from storage.tables import IdentityRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.logic import own_record
from tools.agents.records import OwnAgent
from tools.chain.erc8004 import MAX_TOKEN_ID, Identity, NoIdentity, registration_url
from tools.chain.errors import ChainUnavailable
from tools.chain.transfer_verification import ChainDown
from tools.credentials.logic import acting_agent, keep_live
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.caller import Caller
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import NotFound
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.identities.errors import Erc8004LiveLinkExists, Erc8004UriMismatch
from tools.identities.logic import link, names, read_identity, unlink

DIGITS = r"^(0|[1-9][0-9]{0,77})$"


def _as_text(given: object) -> object:
    whole = type(given) is int or (isinstance(given, float) and given.is_integer())  # JSON has one kind of number
    return str(int(given)) if whole else given  # type: ignore[call-overload]


def _token(text: str) -> str:
    if int(text) > MAX_TOKEN_ID:
        raise ValueError("a token's number is at most 2^256-1")
    return text


class LinkErc8004(Arguments):
    agent_id: Annotated[
        str,
        BeforeValidator(_as_text),
        Field(pattern=DIGITS),
        AfterValidator(_token),
        WithJsonSchema({"anyOf": [{"type": "string", "pattern": DIGITS}, {"type": "integer", "minimum": 0}]}),
    ] = Field(description="the token's number in the registry (its agentId), decimal; from 2^53 on as text")


async def read_token(read_ctx: ReadContext, asked: LinkErc8004) -> Identity:
    """Read the token from the registry; refuse one that does not name the caller."""
    agent_id, network = read_ctx.caller.agent, read_ctx.network
    await read_ctx.store.read(lambda tx: _may_link(tx, read_ctx.caller, read_ctx.env))
    try:
        found = await read_identity(read_ctx.world, read_ctx.config, read_ctx.env, asked.agent_id)
    except ChainDown:
        raise ChainUnavailable(
            "the chain does not answer, or not as an identity registry does",
            hint="Nothing was changed: send the same call again in a few seconds.",
            retry_after_seconds=5,
        ) from None
    except NoIdentity:
        raise NotFound(
            "the registry has no such token",
            param="agent_id",
            hint=f"Register one at {network.identity_registry} on {network.name}; details hold the URI to register it with.",
            expected_uri=registration_url(read_ctx.config.base_url, agent_id),
        ) from None
    if not names(read_ctx.config, agent_id, found):
        raise Erc8004UriMismatch(
            "the token's URI is not your registration file",
            param="agent_id",
            agent_id=found.token,
            expected_uri=registration_url(read_ctx.config.base_url, agent_id),
            token_uri=found.uri,
            owner=found.owner,
        )
    return found


@operation(
    "POST /v1/agents/me/erc8004",
    scope="admin:self",
    gather=read_token,
    errors=(NotFound, Erc8004UriMismatch, Erc8004LiveLinkExists, ChainUnavailable),
    open_world=True,
    idempotent=True,
    rate=Rate.IDENTITIES,
    toolset="agents",
    examples=({"agent_id": "22"},),
)
def link_erc8004(ctx: TxContext, _: LinkErc8004, found: Identity) -> OwnAgent:
    """Link your identity in the ERC-8004 registry of your key's network.

    The market reads ownerOf and tokenURI there. The URI must be your registration file,
    `<base_url>/agents/<agent_id>/erc8004.json`: register with it, or let the token's owner call setAgentURI. owner_verified
    is true while your bound wallet owns the token. One token for one agent; linking again reads it again, and so does the
    market every day: a token that no longer names you is unlinked.
    """
    agent = acting_agent(ctx)
    _may_link(ctx.tx, ctx.caller, ctx.env)
    return own_record(ctx, link(ctx, agent, found))


@operation(
    "DELETE /v1/agents/me/erc8004",
    scope="admin:self",
    errors=(Erc8004LiveLinkExists,),
    destructive=True,
    toolset="agents",
)
def unlink_erc8004(ctx: TxContext, _: NoArguments) -> OwnAgent:
    """Remove the link to your ERC-8004 identity, if there is one.

    The token itself stays where it is. link_erc8004 links it again.
    """
    agent = acting_agent(ctx)
    _may_link(ctx.tx, ctx.caller, ctx.env)
    unlink(ctx.tx, agent.id)
    return own_record(ctx, acting_agent(ctx))


def _may_link(tx: Tx, caller: Caller, env: Env) -> None:
    """Refuse a test key if the agent is on live, and a test call if a live identity is linked."""
    keep_live(tx, caller, "change the ERC-8004 link")
    row = tx.get(IdentityRow, caller.agent)
    if row is not None and row.env == Env.LIVE and env is Env.TEST:
        raise Erc8004LiveLinkExists("your profile is linked to a live identity", agent_id=row.token)
