"""Signed requests: a signature is verified with the key of the agent it names, and is valid for one call.

Its use is recorded in the call's own unit of work. The agent is read for every request, so that a changed key or a
suspended agent is refused at once in every process.
"""

from datetime import datetime, timedelta
from functools import partial

from storage.agents import agent_by_handle, agent_by_public_key
from storage.tables import AgentRow, SignatureUseRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env
from tools.engine.caller import EVERYTHING, Caller, CallRequest, Proof
from tools.engine.config import MarketConfig
from tools.engine.errors import InvalidRequest, Unauthenticated
from tools.engine.services import Services
from tools.kernel.errors import Json
from tools.kernel.http_signatures import (
    WINDOW_SECONDS,
    BadSignature,
    Claim,
    HttpRequest,
    bases,
    check_cover,
    check_time,
    read_claim,
    shown_base,
)
from tools.kernel.ids import is_id
from tools.kernel.keys import BadKey, public_key_from, signed_by

USES_KEPT = timedelta(seconds=2 * WINDOW_SECONDS)  # created at most one window ahead, valid until one window after
NOT_SIGNED = "keyid names no active agent here, or its key did not sign this request"
NEEDS_SIGNATURE = "this call needs a signed request: an API key does not do it"
FORM = (
    'Send Signature-Input: sig1=("@method" "@target-uri" "content-digest");created=<unix seconds>;'
    'keyid="<agent id, handle or did:key>";alg="ed25519", Signature: sig1=:<base64>:, and with a body Content-Digest: '
    "sha-256=:<base64>:, and X-Env: test or live (live without it). skill.md has it as a program."
)
AGAIN = "Sign the request anew: another created, or a nonce. With the same Idempotency-Key the answer of the first is given again."


async def signer_of(request: CallRequest, services: Services, *, former: bool = False) -> Caller:
    """Return the caller whose key signed the request.

    With `former`, also an agent that is no longer active. Raises Unauthenticated if the signature is invalid.
    """
    http, config = request.http, services.config
    assert http is not None
    try:
        claim = read_claim(http)
        check_cover(claim, http)
        row = await services.store.read(partial(agent_named, keyid=claim.keyid))
        if not (row and (former or row.status is AgentStatus.ACTIVE) and _signed(row, claim, http, config)):
            raise _mismatch(claim, http, config)
        check_time(claim, services.world.clock.now().timestamp())
    except BadSignature as bad:
        raise _refused(bad.message, bad.reason, FORM) from None
    use = None if http.repeatable or request.is_continuation else claim.use
    return Caller(row.id, None, _env(http), (EVERYTHING,), request, Proof(row.public_key, use))


async def reject_replayed(caller: Caller, services: Services) -> None:
    """Refuse a used signature before any other work is done."""
    use = caller.signature_use
    if use is None:
        return
    row = await services.store.read(lambda tx: tx.get(SignatureUseRow, caller.agent, use))
    if row is not None and services.world.clock.now() - row.used_at <= USES_KEPT:
        raise _replayed()


async def consume_alone(caller: Caller, services: Services) -> None:
    """Record that the signature of a call without a unit of work was used."""
    if caller.signature_use is not None:
        use = partial(consume, caller=caller, now=services.world.clock.now())
        await services.store.write(use, "use a signature")


def consume(tx: Tx, caller: Caller, now: datetime) -> None:
    """Record that the caller's signature was used.

    Raises Unauthenticated if it was used before, or if its key is no longer the agent's.
    """
    proof = caller.proof
    if proof is None:
        return
    agent = tx.get(AgentRow, caller.agent)
    if agent is None or agent.status is not AgentStatus.ACTIVE or agent.public_key != proof.public_key:
        raise _refused(NOT_SIGNED, "signature", FORM)
    record_use(tx, caller, now)


def record_use(tx: Tx, caller: Caller, now: datetime) -> None:
    """Record the use of a signature, even if the agent's key or status has changed since."""
    use = caller.signature_use
    if use is not None and not insert_use(tx, caller.agent, use, now):
        raise _replayed()


def insert_use(tx: Tx, agent_id: str, use: str, now: datetime) -> bool:
    """Record a use by its name; return False if it was used before."""
    old = tx.get(SignatureUseRow, agent_id, use)
    if old is None:
        tx.add(SignatureUseRow(agent_id=agent_id, use=use, used_at=now))
        return True
    if now - old.used_at <= USES_KEPT:
        return False
    tx.change(old, used_at=now)
    return True


def agent_named(tx: Tx, keyid: str) -> AgentRow | None:
    """Return the agent with this id, handle or did:key."""
    if is_id("agt_", keyid):
        return tx.get(AgentRow, keyid)
    if not keyid.startswith("did:"):
        return tx.one(agent_by_handle, handle=keyid)
    try:
        return tx.one(agent_by_public_key, public_key=public_key_from(keyid).hex())
    except BadKey:
        return None


def _signed(row: AgentRow, claim: Claim, request: HttpRequest, config: MarketConfig) -> bool:
    public = bytes.fromhex(row.public_key)
    return any(signed_by(public, base, claim.signature) for base in bases(claim, request, config.urls))


def _mismatch(claim: Claim, request: HttpRequest, config: MarketConfig) -> Unauthenticated:
    """Return the error of a wrong signature.

    It is the same for known and unknown keyids, because the base needs no agent.
    """
    base = shown_base(claim, request, config.base_url)
    hint = f"Sign exactly these lines, with the key of the agent keyid names; nothing follows the last one:\n{base}"
    return _refused(NOT_SIGNED, "signature", hint, signature_base=base)


def _replayed() -> Unauthenticated:
    return _refused("this signature was used before", "replay", AGAIN)


def _refused(message: str, reason: str, hint: str, **more: Json) -> Unauthenticated:
    return Unauthenticated(message, hint=hint, code="invalid_signature", reason=reason, **more)


def _env(request: HttpRequest) -> Env:
    given = request.header(b"x-env")
    try:
        return Env.LIVE if given is None else Env(given.decode("latin-1"))
    except ValueError:
        raise InvalidRequest("X-Env: live or test", param="X-Env") from None
