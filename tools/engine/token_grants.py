"""OAuth client credentials (RFC 6749, 4.4): an API key or a signed assertion is exchanged for an access token."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256

from storage.tables import AgentRow
from storage.transaction import StorageError, Tx
from storage.vocabulary import AgentStatus, Env
from tools.engine.access_tokens import LIFE_SECONDS, Token, token_key, write_token
from tools.engine.authentication import key_facts
from tools.engine.caller import EVERYTHING, Caller, CallRequest
from tools.engine.client_assertions import (
    MAX_ID_LENGTH,
    BadAssertion,
    asserted_by,
    check_assertion,
    read_assertion,
)
from tools.engine.dispatch import Market
from tools.engine.idempotency import busy
from tools.engine.oauth import OAuthRefusal, audiences, check_resources, granted
from tools.engine.rate_limits import ALLOWANCES, Rate, RateLimitStatus, exceeded_error, take_shared
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
    """An issued access token and its scope."""

    token: str = field(repr=False)
    seconds: int
    scope: str
    agent_id: str
    quota: RateLimitStatus | None


@dataclass(frozen=True, slots=True)
class Client:
    """An authenticated OAuth client."""

    agent_id: str
    key_id: str | None
    env: Env | None  # the API key's; None: the agent's own key is valid in both
    scopes: tuple[str, ...]
    ends_at: datetime | None  # when the API key expires
    public_key: str | None  # of the agent, if it signed an assertion
    use: str | None  # hash of the assertion's jti, which may be used once


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """The result of a login's unit of work: the count, and the agent's auth epoch or None.

    Without an epoch the login is refused because of `why`.
    """

    quota: RateLimitStatus | None
    epoch: int | None
    why: str = INVALID_CLIENT


async def grant(market: Market, login: TokenRequest, request: CallRequest) -> TokenResponse:
    """Issue an access token.

    Raises OAuthRefusal, TooBusy, and RateLimited over the rate limit.
    """
    try:
        return await _grant(market, login, request)
    except StorageError as error:
        raise busy(error) from None


async def _grant(market: Market, login: TokenRequest, request: CallRequest) -> TokenResponse:
    client = await (_by_key(market, login) if login.assertion is None else _by_assertion(market, login))
    env, scopes = granted(login.scope, client.env, client.scopes)
    check_resources(login.resources, market.config.urls)
    now = market.world.clock.now()
    enter = partial(_enter, client=client, now=now, counted=market.config.limits.enforced)
    entry = await market.store.write(enter, "log in")
    refused = entry.quota and exceeded_error(entry.quota)
    if refused:
        raise refused
    if entry.epoch is None:
        raise OAuthRefusal("invalid_client", entry.why)
    ends = int(now.timestamp()) + LIFE_SECONDS
    if client.ends_at is not None:
        ends = min(ends, int(client.ends_at.timestamp()))
    token = Token(client.agent_id, env, scopes, client.key_id, entry.epoch, ends)
    await market.services.last_seen.note_call(
        market.store, Caller(client.agent_id, client.key_id, Env(env), scopes, request), now
    )
    return TokenResponse(
        token=write_token(token_key(market.config.pepper), token),
        seconds=ends - int(now.timestamp()),
        scope=" ".join((f"env:{env}", *scopes)),
        agent_id=client.agent_id,
        quota=entry.quota,
    )


async def _by_key(market: Market, login: TokenRequest) -> Client:
    if login.client_id is None or login.secret is None:
        raise OAuthRefusal(
            "invalid_client",
            "send client_id and an API key as client_secret, or an assertion signed with the agent's key",
        )
    facts = await key_facts(login.secret, market.services)
    agent_id = await _agent_of(market, login.client_id)
    if facts is None or facts.agent_id != agent_id or not facts.is_usable(market.world.clock.now()):
        raise OAuthRefusal("invalid_client", INVALID_CLIENT)
    return Client(facts.agent_id, facts.key_id, facts.env, facts.scopes, facts.expires_at, None, None)


async def _by_assertion(market: Market, login: TokenRequest) -> Client:
    try:
        assertion = read_assertion(login.assertion or "")
        check_assertion(assertion, audiences(market.config.urls), market.world.clock.now().timestamp())
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
    return Client(row.id, None, None, (EVERYTHING,), None, row.public_key, use)


async def _agent_of(market: Market, client_id: str) -> str | None:
    if len(client_id) > MAX_ID_LENGTH or not (client_id.isascii() and client_id.isprintable()):
        return None
    row = await market.store.read(partial(agent_named, keyid=client_id))
    return None if row is None else row.id


def _enter(tx: Tx, client: Client, now: datetime, *, counted: bool) -> LoginCheck:
    """Count the login and use up the assertion.

    It raises nothing, because the count must be committed even if the login is refused.
    """
    bucket = client.key_id or client.agent_id
    allowance = ALLOWANCES[Rate.OAUTH]
    quota = take_shared(tx, Rate.OAUTH, allowance, bucket, now) if counted else None
    if quota is not None and quota.remaining >= 0:
        together = take_shared(tx, Rate.OAUTH, allowance.of_agent, f"{client.agent_id} logins", now)
        quota = min(quota, together, key=lambda one: one.remaining)
    if quota is not None and quota.remaining < 0:
        return LoginCheck(quota, None)
    row = tx.get(AgentRow, client.agent_id)
    if row is None or row.status is not AgentStatus.ACTIVE or client.public_key not in (None, row.public_key):
        return LoginCheck(quota, None)
    if client.use is not None and not insert_use(tx, client.agent_id, client.use, now):
        return LoginCheck(quota, None, "this jti was used before: make another assertion")
    return LoginCheck(quota, row.auth_epoch)
