"""The platform's signatures: its identity, signing a document, and how to verify one."""

from storage.tables import RetiredKeyRow
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import TooBusy
from tools.engine.ports import Signer
from tools.kernel.canonical_json import canonical
from tools.kernel.errors import Json
from tools.kernel.keys import did_of, jwk_of
from tools.kernel.signed_records import Signature


def signer_in_force(ctx: TxContext) -> Signer:
    """Return the platform's key.

    Raises TooBusy if the key was replaced and this process has not been restarted with the new one.
    """
    signer = ctx.world.signer
    if ctx.tx.get(RetiredKeyRow, jwk_of(signer.public_key)["kid"]) is not None:
        raise TooBusy("the platform's key was just replaced", retry_after_seconds=5)
    return signer


def sign(ctx: TxContext, document: dict[str, Json]) -> Signature:
    """Sign the canonical form of a document with the platform's key."""
    signer = signer_in_force(ctx)
    public, sig = signer.public_key, signer.sign(canonical(document)).hex()
    return Signature(kid=jwk_of(public)["kid"], did=did_of(public), sig=sig)


def platform(ctx: TxContext | ReadContext) -> dict[str, Json]:
    """Return the identity of the signer: its name, URL and DID."""
    return {"service": ctx.config.brand, "url": ctx.config.base_url, "did": did_of(ctx.world.signer.public_key)}


def how_to_verify(ctx: TxContext) -> dict[str, Json]:
    return {
        "jwks": f"{ctx.config.base_url}/.well-known/jwks.json",
        "endpoint": f"{ctx.config.base_url}/v1/receipts/verify",
        "alg": "EdDSA",
        "canonical": "json-sorted-keys",
    }
