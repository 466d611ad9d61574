"""API keys: look at them, make one, end one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from storage.agents import keys_of, test_keys_of
from storage.tables import KeyRow
from storage.vocabulary import Env, KeyStatus
from tools.credentials.errors import KeyLimit, LastKey
from tools.credentials.logic import (
    acting_agent,
    check_room,
    forget_oldest,
    holds_test_key,
    issue_key,
    need_live_key,
    usable,
)
from tools.credentials.records import ApiKey, ApiKeyCreated, ApiKeyPage
from tools.engine.arguments import Arguments, Listed, OneLine
from tools.engine.caller import Scope, beyond
from tools.engine.context import TxContext
from tools.engine.errors import Forbidden, InvalidCursor, NotFound
from tools.engine.next_steps import after_key
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.kernel.records import record_from

Scopes = Annotated[
    list[Scope], Field(min_length=1, max_length=6), AfterValidator(lambda given: list(dict.fromkeys(given)))
]


@operation("GET /v1/agents/me/keys", scope="admin:self", errors=(InvalidCursor,), toolset="agents")
def list_api_keys(ctx: TxContext, asked: Listed) -> ApiKeyPage:
    """List your API keys, newest first: what each may do and when it was last used.

    A live key and a signed request list the keys of both environments, a test key those of test. revoke_api_key ends one by
    its id; a key's secret is never shown again.
    """
    query = test_keys_of if holds_test_key(ctx.caller) else keys_of
    records = partial(map, partial(record_from, ApiKey))
    return ApiKeyPage(**page(ctx, asked, query, records, first="key_~", where={"agent_id": ctx.agent}))


class CreateApiKey(Arguments):
    env: Annotated[Env, Field(strict=False, description="live or test: what the key works in")]
    name: OneLine | None = Field(None, min_length=1, max_length=80, description="what you will know it by")
    scopes: Scopes | None = Field(
        None,
        description="read, buy, sell, message, admin:self (keys, wallet, profile, deletion), or * for everything; "
        "default: those of the key you call with",
    )
    expires_in_days: int | None = Field(
        None, ge=1, le=3650, description="default: it does not expire. No key outlives the one it is made with"
    )


@operation(
    "POST /v1/agents/me/keys",
    scope="admin:self",
    errors=(KeyLimit,),
    status=201,
    shows_secrets=True,
    next_steps=after_key,
    toolset="agents",
    examples=({"env": "test", "name": "reader", "scopes": ["read"], "expires_in_days": 30},),
)
def create_api_key(ctx: TxContext, asked: CreateApiKey) -> ApiKeyCreated:
    """Make another API key, for one environment; `key` is shown this once.

    Give a key that leaves your hands only the scopes it needs (most need read too) and an end. No key gives scopes it lacks;
    a test key makes test keys only. End it with revoke_api_key.
    """
    agent = acting_agent(ctx)
    own = ctx.caller.scopes
    scopes: Sequence[str] = asked.scopes or own
    missing = beyond(own, scopes)
    if missing:
        raise Forbidden(f"this key lacks {', '.join(missing)} itself, so it cannot give it", scope=missing[0])
    if asked.env is Env.LIVE and holds_test_key(ctx.caller):
        raise need_live_key("make a live key")
    check_room(ctx, agent.id, asked.env)
    row, secret = issue_key(ctx, agent.id, asked.env, asked.name, scopes, _end(ctx, asked.expires_in_days))
    forget_oldest(ctx, agent.id, asked.env)
    return record_from(ApiKeyCreated, row, key=secret)


def _end(ctx: TxContext, days: int | None) -> datetime | None:
    """Return the expiry of a new key: as requested, but not after the key that creates it."""
    own = None if ctx.caller.key_id is None else ctx.tx.get(KeyRow, ctx.caller.key_id)
    latest = None if own is None else own.expires_at
    asked = latest if days is None else ctx.now + timedelta(days=days)
    return asked if latest is None or asked is None else min(asked, latest)


class KeyRef(Arguments):
    key_id: str = Field(max_length=64, description="key_…, from list_api_keys")


@operation(
    "DELETE /v1/agents/me/keys/{key_id}",
    scope="admin:self",
    errors=(NotFound, LastKey),
    destructive=True,
    may_revoke_caller_key=True,
    toolset="agents",
)
def revoke_api_key(ctx: TxContext, ref: KeyRef) -> ApiKey:
    """Revoke an API key permanently, at once and in every process; also the one you call with.

    Your only usable key cannot be revoked: make another with create_api_key first. A test key revokes test keys only.
    """
    agent = acting_agent(ctx)
    row = ctx.tx.get(KeyRow, ref.key_id, lock=True)
    if row is None or row.agent_id != agent.id:
        raise NotFound("you have no such key", param="key_id", hint="list_api_keys shows yours.")
    if row.env == Env.LIVE and holds_test_key(ctx.caller):
        raise need_live_key("revoke a live key")
    if row.status is KeyStatus.REVOKED:
        return record_from(ApiKey, row)
    if list(usable(ctx, agent.id)) == [row.id]:
        raise LastKey("this is your only usable key")
    ctx.tx.invalidate(f"key:{row.hash}", f"holder:{agent.id}")
    return record_from(ApiKey, ctx.tx.change(row, status=KeyStatus.REVOKED))
