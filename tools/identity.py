"""Who calls: an API key is looked up by its keyed hash, in memory first, and believed only while its rows say so."""

import orjson

from storage.agents import key_by_hash
from storage.store import Store
from storage.tables import AgentRow, AgentStatus, KeyStatus
from storage.unit import Tx
from tools.context import Approach, Caller
from tools.errors import Forbidden, InvalidRequest, Unauthenticated
from tools.house import House
from tools.ports import Clock, Env
from tools.registry import Operation
from tools.rules.keys import API_KEY, key_hash
from tools.rules.scopes import opens
from tools.shelf import KeyFacts, Shelf

NO_KEY = "this call needs an API key"
BAD_KEY = "the API key is unknown, revoked, expired, or its agent is not active"


async def identify(approach: Approach, store: Store, shelf: Shelf, house: House, clock: Clock) -> Caller:
    """The caller behind an approach. Bad credentials are refused everywhere, also where none are needed."""
    if approach.credential and approach.argument_key and approach.credential != approach.argument_key:
        raise InvalidRequest(
            "this connection carries a key already",
            param="api_key",
            hint="Leave the api_key argument out, or connect without a key.",
        )
    secret = approach.credential or approach.argument_key
    if secret is None:
        return Caller(None, None, None, (), approach)
    facts = await _facts(secret, store, shelf, house.pepper)
    if facts is None or not facts.usable or (facts.expires_at and facts.expires_at <= clock.now()):
        raise Unauthenticated(BAD_KEY)
    return Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, approach)


async def still_opens(approach: Approach, store: Store, shelf: Shelf, house: House, clock: Clock) -> bool:
    """Whether the credential still lets its caller in: for what goes on after its call was admitted."""
    try:
        await identify(approach, store, shelf, house, clock)
    except Unauthenticated:
        return False
    return True


async def former_caller(approach: Approach, store: Store, shelf: Shelf, house: House) -> Caller | None:
    """Whose key this is or was, whether or not it still opens anything; None for no key or an unknown one."""
    secret = approach.credential or approach.argument_key
    facts = None if secret is None else await _facts(secret, store, shelf, house.pepper)
    return None if facts is None else Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, approach)


def authorise(op: Operation, caller: Caller) -> None:
    """Refuse callers the operation is not for."""
    if op.auth == "key" and caller.agent_id is None:
        raise Unauthenticated(NO_KEY)
    if caller.agent_id is not None:
        need_scope(caller, *op.scopes)


def need_scope(caller: Caller, *scopes: str) -> None:
    """Refuse a key that has none of these scopes."""
    if not opens(caller.scopes, scopes):
        needed = " or ".join(scopes)
        raise Forbidden(f"this key lacks the scope {needed}", scope=needed)


async def _facts(secret: str, store: Store, shelf: Shelf, pepper: bytes) -> KeyFacts | None:
    if not API_KEY.fullmatch(secret):
        return None
    hashed = key_hash(pepper, secret)
    name = f"key:{hashed}"
    return shelf.keys.get(name) or await shelf.keys.fetch(name, lambda: store.look(lambda tx: _read(tx, hashed)))


def _read(tx: Tx, hashed: str) -> KeyFacts | None:
    key = tx.one(key_by_hash, hash=hashed)
    agent = key and tx.get(AgentRow, key.agent_id)
    if not key or not agent:
        return None
    usable = key.status is KeyStatus.ACTIVE and agent.status is AgentStatus.ACTIVE
    return KeyFacts(key.id, agent.id, Env(key.env), tuple(orjson.loads(key.scopes)), usable, key.expires_at)
