"""Operations on signed receipts of jobs, which anybody can verify offline."""

from pydantic import Field

from storage.requests import retired_keys
from storage.tables import RetiredKeyRow
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import canonical_document
from tools.engine.errors import InvalidRequest, NotFound, PayloadTooLarge
from tools.engine.platform_signatures import signer_in_force
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.jobs.logic import JobRef
from tools.jobs.receipts import signed_receipt
from tools.jobs.records import SignedReceipt, Verification
from tools.jobs.snapshot import find_mine
from tools.kernel.errors import Json
from tools.kernel.keys import did_of, jwk_of, verify_ed25519
from tools.kernel.records import stamp
from tools.kernel.signed_records import KeySet, PublicKey, RetiredKeySet, RetiredPlatformKey

MAX_SIGNED = 65_536  # bytes; a receipt is a few KB


@operation("GET /v1/jobs/{job_id}/receipt", errors=(NotFound,), toolset="jobs")
def get_receipt(ctx: TxContext, ref: JobRef) -> SignedReceipt:
    """Fetch a job's signed receipt at any stage: parties, price, output, on-chain settlements.

    It identifies the output by output_commitment and, once revealed, by output_hash and output_salt too.

    Check it with verify_receipt, or offline with the keys at /.well-known/jwks.json.
    """
    return signed_receipt(ctx, find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env))


class VerifyReceipt(Arguments):
    object: str | None = Field(None, max_length=64, description="as in the signed document")
    receipt: dict[str, Json] | None = Field(None, description="the field receipt of get_receipt")
    attestation: dict[str, Json] | None = Field(None, description="the field attestation of get_attestation")
    signature: dict[str, Json] = Field(
        description="kid and sig; optional alg, did, canonical",
        json_schema_extra={
            "properties": {"kid": {"type": "string"}, "sig": {"type": "string"}},
            "required": ["kid", "sig"],
        },
    )


async def measure_document(read_ctx: ReadContext, arguments: VerifyReceipt) -> bytes:
    """Return the canonical form of the receipt or the attestation.

    Exactly one of the two must be given, and it must not be larger than MAX_SIGNED.
    """
    if (arguments.receipt is None) == (arguments.attestation is None):
        raise InvalidRequest("send either receipt or attestation", param="receipt")
    param = "receipt" if arguments.receipt is not None else "attestation"
    return (await canonical_document(getattr(arguments, param), param, MAX_SIGNED)).text


@operation(
    "POST /v1/receipts/verify",
    auth="none",
    safe=True,
    gather=measure_document,
    errors=(PayloadTooLarge,),
    rate=Rate.VERIFY,
    toolset="jobs",
)
def verify_receipt(ctx: TxContext, arguments: VerifyReceipt, document: bytes) -> Verification:
    """Check a receipt or attestation that this market signed.

    Send the whole signed document, as you got it. An attestation is valid for 7 days; then valid is false, and reason
    says so. If its key was replaced, valid is false too, and retired names that key: fetch the document again.
    """
    kid, sig = arguments.signature.get("kid"), arguments.signature.get("sig")
    if not isinstance(kid, str) or not isinstance(sig, str):
        raise InvalidRequest("signature needs the texts kid and sig", param="signature")
    public, retired = signer_in_force(ctx).public_key, _retired(ctx, document, kid, sig)
    reason = (
        _claim_fault(ctx, arguments.signature)
        or (f"signed by a key that was replaced at {retired.retired_at}; fetch the document again" if retired else None)
        or _fault(ctx, document, kid, sig)
        or _expiry(ctx, arguments)
    )
    return Verification(
        valid=reason is None,
        reason=reason,
        kid=jwk_of(public)["kid"],
        did=did_of(public),
        retired=retired,
        checked_at=stamp(ctx.now),
    )


@operation(
    "GET /.well-known/jwks.json", auth="none", toolset="market", only_rest="a well-known document, fetched by its path"
)
def get_platform_keys(ctx: TxContext, _: NoArguments) -> KeySet:
    """Return the platform's public keys, which verify receipts, webhooks and the agent card."""
    return KeySet(keys=[PublicKey(**jwk_of(signer_in_force(ctx).public_key))])


@operation(
    "GET /.well-known/retired-keys.json",
    auth="none",
    toolset="market",
    only_rest="a well-known document, fetched by its path",
)
def get_retired_keys(ctx: TxContext, _: NoArguments) -> RetiredKeySet:
    """Return the keys that the platform signed with before the one in jwks.json.

    Each has the time of its replacement. What it signed is no longer valid.
    """
    rows = sorted(ctx.tx.all(retired_keys), key=lambda row: (row.retired_at, row.kid), reverse=True)
    return RetiredKeySet(keys=[_retired_record(row) for row in rows])


def _retired(ctx: TxContext, document: bytes, kid: str, sig: str) -> RetiredPlatformKey | None:
    """Return the replaced key that made this signature, or None."""
    row = ctx.tx.get(RetiredKeyRow, kid)
    signed = row is not None and verify_ed25519(bytes.fromhex(row.public_key), document, sig)
    return _retired_record(row) if row and signed else None


def _retired_record(row: RetiredKeyRow) -> RetiredPlatformKey:
    public = bytes.fromhex(row.public_key)
    return RetiredPlatformKey(**jwk_of(public), did=did_of(public), retired_at=stamp(row.retired_at))


def _fault(ctx: TxContext, document: bytes, kid: str, sig: str) -> str | None:
    if kid != jwk_of(ctx.world.signer.public_key)["kid"]:
        return "signed with another key; it may still verify through the did inside the signature"
    return None if verify_ed25519(ctx.world.signer.public_key, document, sig) else "the signature does not match"


def _expiry(ctx: TxContext, arguments: VerifyReceipt) -> str | None:
    """Return the reason why an attestation has expired, or None.

    Both names are checked, because an attestation may be sent as `receipt`.
    """
    ends = (arguments.receipt or arguments.attestation or {}).get("expires_at")
    expired = isinstance(ends, str) and ends <= stamp(ctx.now)
    return f"the attestation expired at {ends}; fetch a new one" if expired else None


def _claim_fault(ctx: TxContext, signature: dict[str, Json]) -> str | None:
    """Return the fault of a signature whose optional members are not true, or None."""
    ours = {"alg": "EdDSA", "did": did_of(ctx.world.signer.public_key), "canonical": "json-sorted-keys"}
    wrong = [name for name, value in ours.items() if name in signature and signature[name] != value]
    if not wrong or signature.get("kid") != jwk_of(ctx.world.signer.public_key)["kid"]:
        return None
    return f"the signature's {wrong[0]} is not ours"
