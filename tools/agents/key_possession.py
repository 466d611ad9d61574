"""Possession of a root key: proven by a signature; a key that its agent never proved can be taken over."""

from storage.agents import agent_by_public_key
from storage.tables import AgentRow, FormerKeyRow
from storage.vocabulary import AgentStatus
from tools.agents.errors import PublicKeyInUse
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.kernel.keys import did_of, did_of_hex, public_key_of, registration_message, verify_ed25519

PROOF_SECONDS = 300
TAKEN = "Another agent proved that it holds this key, so it is that agent's now. You keep your API keys. Nobody knows your new root key."
IN_USE = "an agent has, or had, this public key"


def proven_did(agent: AgentRow) -> str | None:
    """Return the agent's did:key; None while the agent has not proven its key."""
    return did_of_hex(agent.public_key) if agent.key_proven else None


def check_possession(ctx: TxContext, public_key: str, proof: str | None, signed_at: int | None) -> bool:
    """Check the proof of a registration's key; return False if there is no proof.

    Raises InvalidRequest if the proof is invalid.
    """
    if proof is None and signed_at is None:
        return False
    if proof is None or signed_at is None:
        missing = "proof" if proof is None else "signed_at"
        raise InvalidRequest(f"{missing}: proof and signed_at go together", param=missing)
    text = registration_message(ctx.config.brand, public_key, signed_at)
    if abs(ctx.now.timestamp() - signed_at) > PROOF_SECONDS:
        hint = f"Sign details.text with the present time in it; a proof is good for {PROOF_SECONDS} seconds."
        fresh = registration_message(ctx.config.brand, public_key, int(ctx.now.timestamp()))
        raise InvalidRequest("signed_at: is too far from the market's clock", param="signed_at", hint=hint, text=fresh)
    check_signature(
        public_key, text, proof, "proof: the key did not sign the registration", "the secret key of public_key"
    )
    return True


def check_signature(public_key: str, text: str, proof: str | None, message: str, key: str) -> None:
    """Raise InvalidRequest with this message unless the key signed the text.

    `key` is its name in the hint.
    """
    if proof is None or not verify_ed25519(bytes.fromhex(public_key), text.encode(), proof):
        hint = f"Sign details.text with {key}; send the signature as 128 hex characters."
        raise InvalidRequest(message, param="proof", hint=hint, text=text)


def claim_key(ctx: TxContext, public_key: str, param: str, *, proven: bool) -> None:
    """Free a public key for another agent; raise PublicKeyInUse if that is not possible.

    An agent that never proved its key loses it if the new agent proves it or if the old agent is deleted. A key that an
    agent used before can never be taken.
    """
    if ctx.tx.get(FormerKeyRow, public_key) is not None:
        raise PublicKeyInUse(IN_USE, param=param)
    found = ctx.tx.one(agent_by_public_key, public_key=public_key)
    holder = found and ctx.tx.get(AgentRow, found.id, lock=True)
    if holder is None or holder.public_key != public_key:
        return
    if holder.key_proven or not (proven or holder.status is AgentStatus.DELETED):
        raise PublicKeyInUse(IN_USE, param=param)
    _displace(ctx, holder)


def _displace(ctx: TxContext, holder: AgentRow) -> None:
    """Replace the agent's key by a random unknown one, which ends the tokens of the old key."""
    unknown = public_key_of(ctx.world.dice.random_bytes(32))
    ctx.tx.change(holder, public_key=unknown.hex(), auth_epoch=holder.auth_epoch + 1)
    ctx.tx.invalidate(f"seller:{holder.id}", f"holder:{holder.id}")
    if holder.status is AgentStatus.DELETED:
        return
    dids = {"old_did": did_of_hex(holder.public_key), "new_did": did_of(unknown)}
    ctx.emit_in_both(holder.id, "agent.key_rotated", {**dids, "hint": TAKEN})
