"""Authentication and authorisation: identifies a caller by API key, access token or signed request.

An API key is looked up by its keyed hash, in the cache first, and is valid only while its rows say so. If a key is
sent, a signature beside it is not read.
"""

from hmac import compare_digest

from storage.agents import key_by_hash
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tools.engine.access_tokens import facts_of, holder_of, is_token
from tools.engine.caches import KeyFacts
from tools.engine.caller import Caller, CallRequest, anonymous, opens
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


def known_caller(request: CallRequest, services: Services) -> Caller | None:
    """Return the caller if a cached API key is all there is to check, otherwise None."""
    if request.credential is None or request.http is not None or request.argument_key not in (None, request.credential):
        return None
    facts = services.caches.keys.get(request.credential)
    if facts is None or not facts.is_usable(services.world.clock.now()):
        return None
    return Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, request)


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
    if known := known_caller(request, services):
        return known
    caller = await holder_of_credential(request, services)
    fault = None if caller.proof is not None or request.http is None else digest_fault(request.http)
    if fault is not None:  # a body must match its Content-Digest, whatever the caller (RFC 9530)
        raise InvalidRequest(
            fault, param="Content-Digest", hint="Send the body as it was digested, or no Content-Digest."
        )
    return caller


async def holder_of_credential(request: CallRequest, services: Services, *, former: bool = False) -> Caller:
    """Return the caller whose key, token or signature the request has; anonymous without one.

    With `former`, also the caller of a credential that is no longer valid. Raises Unauthenticated.
    """
    secret = request.credential or request.argument_key
    if secret is None and not request.is_anonymous:
        return await signer_of(request, services, former=former)
    if secret is None:
        return anonymous(request)
    if is_token(secret):
        return await holder_of(secret, request, services, former=former)
    facts = await key_facts(secret, services)
    if facts is None or not (former or facts.is_usable(services.world.clock.now())):
        raise Unauthenticated(BAD_KEY)
    return Caller(facts.agent_id, facts.key_id, facts.env, facts.scopes, request)


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
    return await services.caches.keys.fetch(secret, lambda: services.store.read(lambda tx: _read(tx, hashed)))


def _read(tx: Tx, hashed: str) -> KeyFacts | None:
    key = tx.one(key_by_hash, hash=hashed)
    agent = key and tx.get(AgentRow, key.agent_id)
    return facts_of(key, agent) if key and agent else None
