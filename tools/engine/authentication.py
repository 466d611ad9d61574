"""Authentication and authorisation: identifies a caller by API key, access token or signed request.

An API key is looked up by its keyed hash, in the cache first, and is valid only while its rows say so. If a key is
sent, a signature beside it is not read.
"""

from hmac import compare_digest

from storage.agents import key_by_hash
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tools.engine.access_tokens import facts_of, former_holder_of, holder_of, is_token
from tools.engine.caches import KeyFacts
from tools.engine.caller import Caller, CallRequest, opens
from tools.engine.config import MarketConfig
from tools.engine.errors import Forbidden, InvalidRequest, Unauthenticated
from tools.engine.registry import Operation
from tools.engine.request_signatures import FORM, NEEDS_SIGNATURE, signer_of
from tools.engine.services import Services
from tools.kernel.http_signatures import digest_fault
from tools.kernel.keys import API_KEY, key_hash

NO_KEY = "this call needs an API key, or a signed request"
NO_OPERATOR = "this route is the operator's"
OPERATOR_HINT = "Send the operator's secret as X-Admin-Token."
BAD_KEY = "the API key is unknown, revoked, expired, or its agent is not active"


async def identify(request: CallRequest, services: Services) -> Caller:
    """Identify the caller of a request.

    Bad credentials are refused even if the operation needs none. Raises InvalidRequest and Unauthenticated.
    """
    if request.credential and request.argument_key and request.credential != request.argument_key:
        raise InvalidRequest(
            "this connection carries a key already",
            param="api_key",
            hint="Leave the api_key argument out, or connect without a key.",
        )
    secret = request.credential or request.argument_key
    if secret is None and not request.is_anonymous:
        return await signer_of(request, services)
    caller = Caller(None, None, None, (), request) if secret is None else await _keyholder(secret, request, services)
    _check_digest(request)
    return caller


async def _keyholder(secret: str, request: CallRequest, services: Services) -> Caller:
    if is_token(secret):
        return await holder_of(secret, request, services)
    facts = await key_facts(secret, services)
    if facts is None or not facts.is_usable(services.world.clock.now()):
        raise Unauthenticated(BAD_KEY)
    return Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, request)


def _check_digest(request: CallRequest) -> None:
    """Refuse a body that does not match its Content-Digest, whatever the caller (RFC 9530)."""
    fault = None if request.http is None else digest_fault(request.http)
    if fault is not None:
        raise InvalidRequest(
            fault, param="Content-Digest", hint="Send the body as it was digested, or no Content-Digest."
        )


async def still_opens(caller: Caller, services: Services) -> bool:
    """Check whether the credential is still valid, for work that goes on after admission."""
    if caller.proof is not None:
        row = await services.store.read(lambda tx: tx.get(AgentRow, caller.agent))
        return row is not None and row.status is AgentStatus.ACTIVE and row.public_key == caller.proof.public_key
    try:
        await identify(caller.request, services)
    except Unauthenticated:
        return False
    return True


async def former_caller(request: CallRequest, services: Services) -> Caller | None:
    """Return the caller of a key, token or signature, even if it is no longer valid.

    None without a key or with an unknown one.
    """
    secret = request.credential or request.argument_key
    if secret is None and not request.is_anonymous:
        return await signer_of(request, services, former=True)
    if secret is not None and is_token(secret):
        return former_holder_of(secret, request, services)
    facts = None if secret is None else await key_facts(secret, services)
    return None if facts is None else Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, request)


def authorise(op: Operation, caller: Caller, config: MarketConfig) -> None:
    """Refuse a caller that may not call the operation.

    Raises Unauthenticated and Forbidden.
    """
    if op.auth == "admin":
        need_operator(caller.request, config)
    if op.auth == "key" and caller.agent_id is None:
        raise Unauthenticated(NO_KEY)
    if op.auth == "signed" and caller.proof is None:
        raise Unauthenticated(NEEDS_SIGNATURE, hint=FORM)
    if caller.agent_id is not None:
        need_scope(caller, *op.scopes)
        for scope in op.scopes_beside:
            need_scope(caller, scope)


def need_scope(caller: Caller, *scopes: str) -> None:
    """Refuse a key that has none of these scopes."""
    if not opens(caller.scopes, scopes):
        needed = " or ".join(scopes)
        raise Forbidden(f"this key lacks the scope {needed}", scope=needed)


def need_operator(request: CallRequest, config: MarketConfig) -> None:
    """Refuse a caller without the operator's secret; refuse every caller if no secret is set."""
    if config.operator_secret is None:
        raise Forbidden(f"{NO_OPERATOR}, and this market has none", hint="The operator sets EMPORION_OPERATOR_SECRET.")
    given = (request.admin_token or "").encode()
    if not compare_digest(given, config.operator_secret.encode()):
        raise Unauthenticated(NO_OPERATOR, hint=OPERATOR_HINT)


async def key_facts(secret: str, services: Services) -> KeyFacts | None:
    """Return what an API key may do, or could do before; None if it never existed."""
    if not API_KEY.fullmatch(secret):
        return None
    hashed = key_hash(services.config.pepper, secret)
    name, keys = f"key:{hashed}", services.caches.keys
    return keys.get(name) or await keys.fetch(name, lambda: services.store.read(lambda tx: _read(tx, hashed)))


def _read(tx: Tx, hashed: str) -> KeyFacts | None:
    key = tx.one(key_by_hash, hash=hashed)
    agent = key and tx.get(AgentRow, key.agent_id)
    if not key or not agent:
        return None
    return facts_of(key, agent)
