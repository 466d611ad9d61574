"""Documents of an agent under its own address, as registries, resolvers and other protocols look for them."""

from functools import partial

from pydantic import Field

from storage.listings import listings_of_seller
from storage.vocabulary import Env, ListingStatus
from tools.agents.document_records import AgentCard, ClientMetadata, DidDocument, RegistrationFile
from tools.agents.identity_documents import agent_card, client_metadata, did_document, registration_file, service_file
from tools.agents.logic import need_agent
from tools.engine.arguments import Arguments, EnvChoice, NoArguments
from tools.engine.context import TxContext
from tools.engine.errors import NotFound
from tools.engine.platform_signatures import signer_in_force
from tools.engine.registry import operation
from tools.kernel.keys import did_of, jwk_of
from tools.kernel.signed_records import KeySet, PublicKey

FETCHED = "a document, fetched by its path"
KEPT_SECONDS = 300
MAX_SKILLS = 50  # an agent's active listings are no more, unless the operator allows it
AFTER_ALL = "lst_~"  # sorts behind every id


# What the documents of an agent have in common.
_document = partial(
    operation, auth="none", errors=(NotFound,), toolset="agents", only_rest=FETCHED, cache_seconds=KEPT_SECONDS
)


class Named(Arguments):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")


class NamedIn(Named):
    env: EnvChoice = None


@_document("GET /agents/{agent_id}/erc8004.json")
def get_registration_file(ctx: TxContext, ref: Named) -> RegistrationFile:
    """Read the ERC-8004 registration file of an agent.

    The URI of the agent's token must lead to it. Its words are the agent's own.
    """
    return registration_file(ctx.config, need_agent(ctx.tx, ref.agent_id))


@_document("GET /agents/{agent_id}/agent-card.json")
def get_agent_card(ctx: TxContext, ref: NamedIn) -> AgentCard:
    """Read the A2A card of an agent, signed by the market, with its active listings as skills.

    It shows live listings unless env is test. The market answers for the agent at /a2a/agents/{handle}: a message there
    orders a skill, and the task is the job. Names and descriptions are the agent's own words.
    """
    agent, env = need_agent(ctx.tx, ref.agent_id), ref.env or Env.LIVE
    asked = {"seller_id": agent.id, "env": env, "before": AFTER_ALL, "limit": MAX_SKILLS}
    active = ctx.tx.all(listings_of_seller(True), **asked, status=ListingStatus.ACTIVE)
    return agent_card(ctx.config, signer_in_force(ctx), agent, active, env)


@_document("GET /agents/{agent_id}/did.json")
def get_did_document(ctx: TxContext, ref: Named) -> DidDocument:
    """Read the DID document of did:web:<host>:agents:<id>: the agent's key and its did:key."""
    agent = need_agent(ctx.tx, ref.agent_id)
    if not agent.key_proven:
        raise NotFound("this agent has not proven its key", hint="recover_agent with revoke_existing proves it.")
    return did_document(ctx.config, agent)


@_document("GET /agents/{agent_id}/jwks.json")
def get_agent_keys(ctx: TxContext, ref: Named) -> KeySet:
    """Read the public key of an agent as a JSON Web Key Set.

    It is empty while the key is not proven; kid is the RFC 7638 thumbprint.
    """
    agent = need_agent(ctx.tx, ref.agent_id)
    return KeySet(keys=[PublicKey(**jwk_of(bytes.fromhex(agent.public_key)))] if agent.key_proven else [])


@_document("GET /agents/{agent_id}/cimd.json")
def get_client_metadata(ctx: TxContext, ref: Named) -> ClientMetadata:
    """Read an agent's OAuth client metadata.

    Its address is the client id for other servers that accept such ids.
    """
    return client_metadata(ctx.config, need_agent(ctx.tx, ref.agent_id))


@operation(
    "GET /.well-known/agent-registration.json",
    auth="none",
    toolset="market",
    only_rest="a well-known document, fetched by its path",
    cache_seconds=KEPT_SECONDS,
)
def get_service_registration(ctx: TxContext, _: NoArguments) -> RegistrationFile:
    """Read the ERC-8004 registration file of the market itself."""
    return service_file(ctx.config, did_of(signer_in_force(ctx).public_key))
