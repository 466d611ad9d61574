"""Checks access tokens against the agent, its auth epoch and the API key they were issued for."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

import orjson

from storage.store import Store
from storage.tables import AgentRow, KeyRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, KeyStatus
from tools.engine.caches import Caches, KeyFacts, TokenSubject
from tools.engine.config import MarketConfig
from tools.engine.context import Caller, CallRequest
from tools.engine.errors import Unauthenticated
from tools.engine.oauth import TOKEN_PATH
from tools.engine.ports import Clock
from tools.engine.scopes import beyond
from tools.engine.token_claims import PREFIX, Token, read_token, token_key

BAD_TOKEN = "the access token was changed, has expired, or what it was given for no longer stands"  # noqa: S105 - a sentence
NEW_TOKEN = f"Get a new one: POST {TOKEN_PATH}."


def is_token(credential: str | None) -> bool:
    """Check whether a credential has the prefix of an access token."""
    return credential is not None and credential.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """Looks up the callers of access tokens."""

    store: Store
    caches: Caches
    config: MarketConfig
    clock: Clock

    async def holder(self, text: str, request: CallRequest) -> Caller:
        """Return the caller of this token. Raises Unauthenticated if it is invalid."""
        token, now = read_token(token_key(self.config.pepper), text), self.clock.now()
        if token is None or token.expires_at <= now.timestamp() or not is_valid(token, await self._facts(token), now):
            raise Unauthenticated(BAD_TOKEN, hint=NEW_TOKEN, code="invalid_token")
        return _caller(token, request)

    def former(self, text: str, request: CallRequest) -> Caller | None:
        """Return the caller of this token, even if it has expired; None if it never was valid."""
        token = read_token(token_key(self.config.pepper), text)
        return None if token is None else _caller(token, request)

    async def _facts(self, token: Token) -> TokenSubject | None:
        name = f"token:{token.agent_id}:{token.key_id or ''}"
        read = partial(_read, agent_id=token.agent_id, key_id=token.key_id)
        return self.caches.holders.get(name) or await self.caches.holders.fetch(name, lambda: self.store.read(read))


def is_valid(token: Token, facts: TokenSubject | None, now: datetime) -> bool:
    """Check whether an issued token still grants what it says."""
    if facts is None or not facts.active or facts.epoch != token.epoch:
        return False
    if token.key_id is None:
        return True
    key = facts.key
    if key is None or not key.usable or (key.expires_at and key.expires_at <= now):
        return False
    return key.env == token.env and not beyond(key.scopes, token.scopes)


def facts_of(key: KeyRow, agent: AgentRow) -> KeyFacts:
    """Return what an API key grants according to its rows."""
    usable = key.status is KeyStatus.ACTIVE and agent.status is AgentStatus.ACTIVE
    return KeyFacts(key.id, agent.id, Env(key.env), tuple(orjson.loads(key.scopes)), usable, key.expires_at)


def _read(tx: Tx, agent_id: str, key_id: str | None) -> TokenSubject | None:
    agent = tx.get(AgentRow, agent_id)
    key = None if key_id is None else tx.get(KeyRow, key_id)
    if agent is None:
        return None
    mine = key is not None and key.agent_id == agent.id
    facts = facts_of(key, agent) if key is not None and mine else None
    return TokenSubject(agent.id, agent.status is AgentStatus.ACTIVE, agent.auth_epoch, facts)


def _caller(token: Token, request: CallRequest) -> Caller:
    return Caller(token.agent_id, token.key_id, Env(token.env), token.scopes, request, epoch=token.epoch)
