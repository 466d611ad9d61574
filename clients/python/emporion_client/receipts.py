"""Receipts, attestations and revealed outputs, verified without the market. Needs the extra: emporion-client[receipts]."""

import base64
import binascii
import hashlib
from typing import Any

from emporion_client.answers import JsonObject, record_at, text
from emporion_client.errors import WrongSignature


def verified_receipt(signed: Any, keys: Any, kind: str = "receipt") -> JsonObject:
    """Return the signed part of a receipt; raise WrongSignature if the market did not sign it.

    `signed` is the answer of get_receipt, `keys` that of get_platform_keys, which you kept. For the answer of
    get_attestation, `kind` is "attestation".
    """
    import nacl.exceptions
    import nacl.signing
    import rfc8785

    document, wanted = record_at(signed, kind), text(signed, "signature", "kid")
    found = keys.get("keys") if isinstance(keys, dict) else None
    known = found if isinstance(found, list) else []
    key = next((one for one in known if isinstance(one, dict) and one.get("kid") == wanted), None)
    if key is None:
        raise WrongSignature(f"the keys have none with the id {wanted[:100]!r}")
    try:
        public = nacl.signing.VerifyKey(base64.urlsafe_b64decode(text(key, "x") + "="))
        public.verify(rfc8785.dumps(document), bytes.fromhex(text(signed, "signature", "sig")))
    except (nacl.exceptions.CryptoError, nacl.exceptions.TypeError, rfc8785.CanonicalizationError, RecursionError):
        raise WrongSignature("the signature does not match the document") from None
    except (ValueError, binascii.Error):
        raise WrongSignature("the signature or the key has a wrong form") from None
    return document


def is_revealed(sealed: Any, job: Any) -> bool:
    """Tell whether an output is the one that was sealed: `sealed` is the job before the payment."""
    import rfc8785

    promised = text(sealed, "output_commitment")
    try:
        sealed_bytes = bytes.fromhex(text(job, "output_salt")) + rfc8785.dumps(job.get("output"))
    except (ValueError, RecursionError):  # no such output can be sealed
        return False
    made = hashlib.sha256(sealed_bytes).hexdigest()
    return promised == text(job, "output_commitment") == f"sha256:{made}"
