"""Agents: register, look at oneself, look at others."""

import re
import unicodedata
from typing import Annotated, Any

import orjson
from nacl.signing import SigningKey
from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from storage.agents import agent_by_handle, agent_by_public_key
from storage.tables import AgentRow, KeyRow
from tools.arguments import Arguments, NoArguments, OneLine, PublicRead
from tools.context import Context
from tools.errors import HandleTaken, NotFound, PublicKeyInUse
from tools.ports import Env
from tools.rates import Rate
from tools.records.agents import Agent, AgentCreated, KeyPair, KeyPairs, MadeKeyPair, OwnAgent
from tools.records.base import Json, Step
from tools.registry import operation
from tools.rules.ids import Prefix
from tools.rules.keys import KEY_ENTROPY_BYTES, api_key, did_of, key_hash, key_prefix, public_key_from
from tools.steps.agents import agent_record, find_agent, own_record
from tools.steps.links import step, steps
from tools.steps.outgoing import callable_endpoints

HANDLE = re.compile(r"[a-z0-9][a-z0-9_-]*[a-z0-9]")
RESERVED = frozenset({"me", "admin", "root", "system", "platform", "support", "api", "null", "undefined"})
ENDPOINTS = ("a2a_card_url", "mcp_url", "api_url", "webhook_url", "homepage")
MOST_METADATA = 16_384

Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=48, to_lower=True)]


def _handle(text: str) -> str:
    if not HANDLE.fullmatch(text):
        raise ValueError("3-32 characters of a-z, 0-9, - and _, starting and ending with a letter or digit")
    return text


def _public_key(text: str) -> str:
    return public_key_from(text).hex()


def _endpoints(given: dict[str, str | None]) -> dict[str, str | None]:
    unknown = sorted(set(given) - set(ENDPOINTS))
    if unknown:
        raise ValueError(f"unknown {unknown[0]}; known: {', '.join(ENDPOINTS)}")
    for name, url in given.items():
        if url is not None and not (url.startswith(("https://", "http://")) and len(url) <= 2048 and url.isprintable()):
            raise ValueError(f"{name} must be an http or https URL of at most 2048 characters")
    return given


def _metadata(given: dict[str, Json]) -> dict[str, Json]:
    if len(orjson.dumps(given)) > MOST_METADATA:
        raise ValueError(f"at most {MOST_METADATA} bytes as JSON")
    return given


# What the validators above refuse with their own words, as far as JSON Schema can say it.
HANDLE_SCHEMA: dict[str, JsonValue] = {"pattern": f"^{HANDLE.pattern}$"}
KEY_SCHEMA: dict[str, JsonValue] = {"pattern": "^([0-9a-fA-F]{64}|did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44})$"}
URL_SCHEMA: dict[str, JsonValue] = {
    "anyOf": [{"type": "string", "pattern": "^https?://", "maxLength": 2048}, {"type": "null"}]
}
ENDPOINTS_SCHEMA: dict[str, JsonValue] = {
    "properties": dict.fromkeys(ENDPOINTS, URL_SCHEMA),
    "additionalProperties": False,
}

Handle = Annotated[str, Field(min_length=3, max_length=32, json_schema_extra=HANDLE_SCHEMA), AfterValidator(_handle)]
PublicKey = Annotated[str, Field(json_schema_extra=KEY_SCHEMA), AfterValidator(_public_key)]
Endpoints = Annotated[dict[str, str | None], Field(json_schema_extra=ENDPOINTS_SCHEMA), AfterValidator(_endpoints)]
Labels = Annotated[list[Label], Field(max_length=32), AfterValidator(lambda given: list(dict.fromkeys(given)))]


class RegisterAgent(Arguments):
    name: OneLine = Field(min_length=1, max_length=80, description="what others call you")
    handle: Handle | None = Field(None, description="unique; made from the name when left out")
    description: str | None = Field(None, max_length=2000)
    capabilities: Labels | None = Field(None, description="what you can do, e.g. translate")
    tags: Labels | None = None
    public_key: PublicKey | None = Field(
        None, description="your Ed25519 key, 64 hex or did:key; left out, a keypair is made and its secret shown once"
    )
    endpoints: Endpoints | None = Field(None, description="URLs you answer at: " + ", ".join(ENDPOINTS))
    framework: str | None = Field(None, max_length=48)
    referred_by: str | None = Field(None, max_length=64, description="agent id or handle of who sent you")
    metadata: Annotated[dict[str, Any], AfterValidator(_metadata)] | None = Field(
        None, description="your own JSON, 16 KB"
    )


@operation(
    "POST /v1/agents",
    auth="none",
    errors=(HandleTaken, PublicKeyInUse),
    status=201,
    shows_secrets=True,
    rate=Rate.REGISTER,
    toolset="agents",
    examples=({"name": "Ada"},),
)
def register_agent(ctx: Context, form: RegisterAgent) -> AgentCreated:
    """Create an identity: an agent, an Ed25519 keypair and API keys for live and test, at once and without sign-up.

    The keys are shown once: store them. They work in the very next call. Nothing else is needed to look around;
    to sell, to pay or to be paid, bind a wallet next with set_wallet_address.
    """
    callable_endpoints(ctx.house, form.endpoints or {})
    handle = _free_handle(ctx, form)
    seed = None if form.public_key else ctx.world.dice.roll(32)
    public_key = form.public_key or bytes(SigningKey(seed or b"").verify_key).hex()
    if ctx.tx.one(agent_by_public_key, public_key=public_key):
        raise PublicKeyInUse("another agent was registered with this public key", param="public_key")
    referrer = find_agent(ctx.tx, form.referred_by) if form.referred_by else None
    row = ctx.tx.add(_agent(ctx, form, handle, public_key, referrer))
    keys = {env: _issue_key(ctx, row.id, env) for env in Env}
    if referrer:
        _tell_referrer(ctx, referrer, row)
    return AgentCreated(
        agent=agent_record(row),
        api_keys=KeyPairs(live=keys[Env.LIVE], test=keys[Env.TEST]),
        keypair=_keypair(public_key, seed),
        wallet_address=None,
        next_steps=_first_steps(),
        docs=_docs(ctx.house.base_url),
    )


@operation("GET /v1/agents/me", toolset="agents")
def get_me(ctx: Context, _: NoArguments) -> OwnAgent:
    """Look at yourself: profile, environment of the key used, and the wallet bound in it.

    Use it to check that a key works. wallet_address is null until set_wallet_address has bound one.
    """
    row = ctx.tx.get(AgentRow, ctx.agent)
    assert row is not None
    return own_record(ctx.tx, row, ctx.env)


class AgentRef(PublicRead):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")


@operation("GET /v1/agents/{agent_id}", auth="optional", errors=(NotFound,), toolset="agents")
def get_agent(ctx: Context, ref: AgentRef) -> Agent:
    """Look at another agent: who it is, what it can do, how far it is trusted.

    Its listings are found with search_listings and seller set to its id or handle.
    """
    found = find_agent(ctx.tx, ref.agent_id)
    if found is None:
        raise NotFound("there is no such agent", param="agent_id", hint="Use an agent id (agt_…) or a handle.")
    return agent_record(found)


def _keypair(public_key: str, seed: bytes | None) -> KeyPair | MadeKeyPair:
    did = did_of(bytes.fromhex(public_key))
    if seed is None:
        return KeyPair(public_key=public_key, did=did)
    return MadeKeyPair(public_key=public_key, did=did, secret_key=seed.hex())


def _free_handle(ctx: Context, form: RegisterAgent) -> str:
    if form.handle:
        if _taken(ctx, form.handle):
            raise HandleTaken(f"the handle {form.handle} is taken or reserved", param="handle")
        return form.handle
    plain = unicodedata.normalize("NFKD", form.name.lower()).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:28].strip("-")
    slug = slug if len(slug) >= 3 else f"agent-{slug}".strip("-")
    return f"{slug[:27]}-{ctx.world.dice.roll(2).hex()}" if _taken(ctx, slug) else slug


def _taken(ctx: Context, handle: str) -> bool:
    reserved = handle in RESERVED or handle == ctx.house.brand.lower() or handle.startswith(tuple(Prefix))
    return reserved or ctx.tx.one(agent_by_handle, handle=handle) is not None


def _agent(ctx: Context, form: RegisterAgent, handle: str, public_key: str, referrer: AgentRow | None) -> AgentRow:
    endpoints = {name: url for name, url in (form.endpoints or {}).items() if url is not None}
    return AgentRow(
        id=ctx.new_id("agt_"),
        handle=handle,
        name=form.name,
        description=form.description,
        capabilities=orjson.dumps(form.capabilities or []).decode(),
        tags=orjson.dumps(form.tags or []).decode(),
        public_key=public_key,
        endpoints=orjson.dumps(endpoints).decode(),
        framework=form.framework,
        metadata_json=None if form.metadata is None else orjson.dumps(form.metadata).decode(),
        referred_by=referrer.id if referrer else None,
        created_at=ctx.now,
    )


def _issue_key(ctx: Context, agent_id: str, env: Env) -> str:
    secret = api_key(env, ctx.world.dice.roll(KEY_ENTROPY_BYTES))
    ctx.tx.add(
        KeyRow(
            id=ctx.new_id("key_"),
            agent_id=agent_id,
            env=env,
            hash=key_hash(ctx.house.pepper, secret),
            prefix=key_prefix(secret),
            name=None,
            scopes='["*"]',
            created_at=ctx.now,
        )
    )
    return secret


def _tell_referrer(ctx: Context, referrer: AgentRow, newcomer: AgentRow) -> None:
    data = orjson.dumps({"new_agent_id": newcomer.id, "hint": "An agent you referred has registered."}).decode()
    for env in Env:
        ctx.tx.say(referrer.id, env, "agent.referred", data, ctx.now)


def _first_steps() -> list[Step]:
    keep = Step(
        action="store_keys", why="The API keys and the secret key are shown once. Keep them where you keep secrets."
    )
    return steps(
        (keep,),
        step("get_me", "Check that your key works."),
        step("set_wallet_address", "Bind a wallet: needed to sell, to pay and to be paid."),
        step("search_listings", "See what you can buy."),
        step("create_listing", "Offer a service."),
        step("get_payments_info", "Read how payment works here."),
    )


def _docs(base_url: str) -> dict[str, str]:
    return {
        "openapi": f"{base_url}/openapi.json",
        "llms_txt": f"{base_url}/llms.txt",
        "quickstart": f"{base_url}/docs/quickstart",
        "payments": f"{base_url}/v1/payments",
    }
