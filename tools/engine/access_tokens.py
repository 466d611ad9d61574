"""Access tokens: signed claims as text, checked against the agent, its auth epoch and its API key."""

import hmac
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256

import orjson

from storage.tables import AgentRow, KeyRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, KeyStatus
from tools.engine.caches import KeyFacts, TokenSubject
from tools.engine.caller import Caller, CallRequest, beyond
from tools.engine.errors import Unauthenticated
from tools.engine.oauth import TOKEN_PATH
from tools.engine.services import Services
from tools.kernel.base64url import base64url, from_base64url

PREFIX = "oat_"
LIFE_SECONDS = 3600
MAX_LENGTH = 1024  # characters
BAD_TOKEN = "the access token was changed, has expired, or what it was given for no longer stands"  # noqa: S105 - a sentence
NEW_TOKEN = f"Get a new one: POST {TOKEN_PATH}."


def is_token(credential: str | None) -> bool:
    """Check whether a credential has the prefix of an access token."""
    return credential is not None and credential.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class Token:
    """The claims of an access token.

    It is valid only while the agent, its epoch and its key are.
    """

    agent_id: str
    env: str
    scopes: tuple[str, ...]
    key_id: str | None  # the API key used to log in; None: the agent's own key signed
    epoch: int
    expires_at: int  # Unix seconds


@lru_cache(maxsize=8)
def token_key(pepper: bytes) -> bytes:
    """Return the signing key of access tokens, derived from the pepper."""
    return hmac.digest(pepper, b"emporion:access-token", sha256)


def write_token(key: bytes, token: Token) -> str:
    """Write a token: `oat_`, the claims, a dot and an HMAC-SHA256 over all before it."""
    told = [token.agent_id, token.env, token.scopes, token.key_id, token.epoch, token.expires_at]
    signed = PREFIX + base64url(orjson.dumps(told))
    return f"{signed}.{_tag(key, signed)}"


def read_token(key: bytes, text: str) -> Token | None:
    """Return the claims of a token, or None for any other text.

    Whether the token is still valid is not checked here. The tag is compared as text, so another encoding of the same
    bytes is refused.
    """
    if not text.startswith(PREFIX) or len(text) > MAX_LENGTH or not text.isascii():
        return None
    signed, _, tag = text.rpartition(".")
    if not hmac.compare_digest(tag, _tag(key, signed)):
        return None
    told = orjson.loads(from_base64url(signed.removeprefix(PREFIX)))
    agent_id, env, scopes, key_id, epoch, expires_at = told
    return Token(agent_id, env, tuple(scopes), key_id, epoch, expires_at)


def _tag(key: bytes, signed: str) -> str:
    return base64url(hmac.digest(key, signed.encode(), sha256))


async def holder_of(text: str, request: CallRequest, services: Services, *, former: bool = False) -> Caller:
    """Return the caller of this token; with `former`, also if it is no longer valid.

    Raises Unauthenticated.
    """
    token = read_token(token_key(services.config.pepper), text)
    if token is None or not (former or await _is_valid(token, services)):
        raise Unauthenticated(BAD_TOKEN, hint=NEW_TOKEN, code="invalid_token")
    return Caller(token.agent_id, token.key_id, Env(token.env), token.scopes, request, epoch=token.epoch)


async def _is_valid(token: Token, services: Services) -> bool:
    """Check whether an issued token has not expired and still grants what it says."""
    now = services.world.clock.now()
    if token.expires_at <= now.timestamp():
        return False
    name, holders = f"token:{token.agent_id}:{token.key_id or ''}", services.caches.holders
    read = partial(_read, agent_id=token.agent_id, key_id=token.key_id)
    facts = holders.get(name) or await holders.fetch(name, lambda: services.store.read(read))
    if facts is None or not facts.active or facts.epoch != token.epoch:
        return False
    if token.key_id is None:
        return True
    key = facts.key
    return key is not None and key.is_usable(now) and key.env == token.env and not beyond(key.scopes, token.scopes)


def facts_of(key: KeyRow, agent: AgentRow) -> KeyFacts:
    """Return what an API key grants according to its rows."""
    active = key.status is KeyStatus.ACTIVE and agent.status is AgentStatus.ACTIVE
    return KeyFacts(key.hash, key.id, agent.id, Env(key.env), tuple(key.scopes), active, key.expires_at)


def _read(tx: Tx, agent_id: str, key_id: str | None) -> TokenSubject | None:
    agent = tx.get(AgentRow, agent_id)
    if agent is None:
        return None
    key = None if key_id is None else tx.get(KeyRow, key_id)
    facts = facts_of(key, agent) if key is not None and key.agent_id == agent.id else None
    return TokenSubject(agent.id, agent.status is AgentStatus.ACTIVE, agent.auth_epoch, facts)
