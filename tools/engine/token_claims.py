"""Access tokens: signed claims (agent, environment, scopes, expiry) encoded as text."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import orjson

PREFIX = "oat_"
LIFE_SECONDS = 3600
MAX_LENGTH = 1024  # characters


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
    signed = PREFIX + _base64url(orjson.dumps(told))
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
    raw = signed.removeprefix(PREFIX)
    agent_id, env, scopes, key_id, epoch, expires_at = orjson.loads(urlsafe_b64decode(raw + "=" * (-len(raw) % 4)))
    return Token(agent_id, env, tuple(scopes), key_id, epoch, expires_at)


def _tag(key: bytes, signed: str) -> str:
    return _base64url(hmac.digest(key, signed.encode(), sha256))


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
