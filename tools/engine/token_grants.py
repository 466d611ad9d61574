"""OAuth client credentials (RFC 6749, 4.4): an API key or a signed assertion is exchanged for an access token."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from storage.tables import AgentRow
from storage.transaction import StorageError, Tx
from storage.vocabulary import AgentStatus, Env
from tools.engine.access_tokens import LIFE_SECONDS, Token, token_key, write_token
from tools.engine.authentication import key_facts
from tools.engine.caller import EVERYTHING, Caller, CallRequest, Proof
from tools.engine.client_assertions import MAX_ID_LENGTH, BadAssertion, asserted_by, read_assertion
from tools.engine.dispatch import Market
from tools.engine.idempotency import busy
from tools.engine.oauth import OAuthRefusal, audiences, check_resources, granted
from tools.engine.rate_limits import ALLOWANCES, Rate, RateLimitStatus, raise_if_exceeded, take_shared
from tools.engine.request_signatures import agent_named, insert_use

INVALID_CLIENT = "client_id names no active agent here, or the credential is not this agent's"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A parsed token request. It has a secret or an assertion, never both."""

    client_id: str | None
    secret: str | None = field(repr=False)
    assertion: str | None = field(repr=False)
    scope: str | None
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """An issued access token, as RFC 6749, 5.1, has it."""

    access_token: str = field(repr=False)
    token_type: str = field(default="Bearer", init=False)
    expires_in: int
    scope: str
    agent_id: str


async def grant(
    market: Market, login: TokenRequest, request: CallRequest
) -> tuple[TokenResponse, RateLimitStatus | None]:
    """Issue an access token; return it with the state of the rate limit.

    Raises OAuthRefusal, TooBusy, and RateLimited over the rate limit.
    """
    try:
        identify = _by_key if login.assertion is None else _by_assertion
        client, key_expires_at = await identify(market, login, request)
        env, scopes = granted(login.scope, client.env, client.scopes)
        check_resources(login.resources, market.config.urls)
        now = market.world.clock.now()
        enter = partial(_enter, client=client, now=now, counted=market.config.limits.enforced)
        quota, epoch = await market.store.write(enter, "log in")
        raise_if_exceeded(quota)
        if isinstance(epoch, OAuthRefusal):
            raise epoch
        ends = int(now.timestamp()) + LIFE_SECONDS
        if key_expires_at is not None:
            ends = min(ends, int(key_expires_at.timestamp()))
        token = Token(client.agent, env, scopes, client.key_id, epoch, ends)
        seen, client_in_env = market.services.last_seen, replace(client, env=Env(env))
        if seen.note_call(client_in_env, now):
            await seen.begin_live(market.store, client_in_env, now)
        text = write_token(token_key(market.config.pepper), token)
        scope = " ".join((f"env:{env}", *scopes))
        return TokenResponse(text, ends - int(now.timestamp()), scope, client.agent), quota
    except StorageError as error:
        raise busy(error) from None


async def _by_key(market: Market, login: TokenRequest, request: CallRequest) -> tuple[Caller, datetime | None]:
    """Return the agent that an API key is of, and when the key expires."""
    if login.client_id is None or login.secret is None:
        raise OAuthRefusal(
            "invalid_client",
            "send client_id and an API key as client_secret, or an assertion signed with the agent's key",
        )
    facts = await key_facts(login.secret, market.services)
    agent_id = await _agent_of(market, login.client_id)
    if facts is None or facts.agent_id != agent_id or not facts.is_usable(market.world.clock.now()):
        raise OAuthRefusal("invalid_client", INVALID_CLIENT)
    return Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, request), facts.expires_at


async def _by_assertion(market: Market, login: TokenRequest, request: CallRequest) -> tuple[Caller, None]:
    """Return the agent whose key signed an assertion; the key is valid in both environments."""
    try:
        now_seconds = market.world.clock.now().timestamp()
        assertion = read_assertion(login.assertion or "", audiences(market.config.urls), now_seconds)
    except BadAssertion as bad:
        raise OAuthRefusal("invalid_client", str(bad)) from None
    row = await market.store.read(partial(agent_named, keyid=assertion.client))
    if (
        row is None
        or row.status is not AgentStatus.ACTIVE
        or not asserted_by(bytes.fromhex(row.public_key), assertion.text)
    ):
        raise OAuthRefusal("invalid_client", "iss names no active agent here, or its key did not sign the assertion")
    if login.client_id is not None and await _agent_of(market, login.client_id) != row.id:
        raise OAuthRefusal("invalid_client", "client_id is another than the assertion's iss")
    use = sha256(b"jti:" + assertion.jti.encode()).hexdigest()
    return Caller(row.id, None, None, (EVERYTHING,), request, Proof(row.public_key, use)), None


async def _agent_of(market: Market, client_id: str) -> str | None:
    if len(client_id) > MAX_ID_LENGTH or not (client_id.isascii() and client_id.isprintable()):
        return None
    row = await market.store.read(partial(agent_named, keyid=client_id))
    return None if row is None else row.id


def _enter(
    tx: Tx, client: Caller, now: datetime, *, counted: bool
) -> tuple[RateLimitStatus | None, int | OAuthRefusal]:
    """Count the login and use up the assertion.

    Returns the count, and the agent's auth epoch or why the login is refused. It raises nothing, because the count must
    be committed even if the login is refused.
    """
    quota, refused = None, OAuthRefusal("invalid_client", INVALID_CLIENT)
    if counted:
        allowance = ALLOWANCES[Rate.OAUTH]
        quota = take_shared(tx, Rate.OAUTH, allowance, client.key_id or client.agent, now)
        if quota.remaining >= 0:
            together = take_shared(tx, Rate.OAUTH, allowance.of_agent, f"{client.agent} logins", now)
            quota = min(quota, together, key=lambda one: one.remaining)
        if quota.remaining < 0:
            return quota, refused
    row, proof = tx.get(AgentRow, client.agent), client.proof
    if row is None or row.status is not AgentStatus.ACTIVE or (proof and proof.public_key != row.public_key):
        return quota, refused
    if proof and proof.use and not insert_use(tx, client.agent, proof.use, now):
        return quota, OAuthRefusal("invalid_client", "this jti was used before: make another assertion")
    return quota, row.auth_epoch
