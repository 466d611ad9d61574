"""What the platform signs: who it says it is, how to verify it, and the signature."""

from tools.context import Context, Outside
from tools.errors.base import Json
from tools.records.receipts import Signature
from tools.rules.canonical import canonical
from tools.rules.keys import did_of, jwk_of


def sign(ctx: Context, document: dict[str, Json]) -> Signature:
    """The platform's signature over the canonical form of a document."""
    public = ctx.world.signer.public_key
    sig = ctx.world.signer.sign(canonical(document)).hex()
    return Signature(kid=jwk_of(public)["kid"], did=did_of(public), sig=sig)


def platform(ctx: Context | Outside) -> dict[str, Json]:
    """Who signs."""
    return {"service": ctx.house.brand, "url": ctx.house.base_url, "did": did_of(ctx.world.signer.public_key)}


def how_to_verify(ctx: Context) -> dict[str, Json]:
    return {
        "jwks": f"{ctx.house.base_url}/.well-known/jwks.json",
        "endpoint": f"{ctx.house.base_url}/v1/receipts/verify",
        "alg": "EdDSA",
        "canonical": "json-sorted-keys",
    }
