"""The directory of keys that sign this market's requests, signed itself at each request.

Format: draft-meunier-webbotauth-httpsig-directory-00; signatures: RFC 9421; names of keys: RFC 7638.
"""

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

import orjson

from tools.engine.oauth import spelled
from tools.engine.ports import Signer
from tools.kernel.http_signatures import authority_of
from tools.kernel.keys import jwk_of

DIRECTORY = "/.well-known/http-message-signatures-directory"
KIND = "application/http-message-signatures-directory+json"
SECONDS = 300  # that a signature is valid
Headers = Sequence[tuple[bytes, bytes]]


def directory(signer: Signer) -> bytes:
    """Return the key set (RFC 7517) with the platform's Ed25519 key."""
    jwk = jwk_of(signer.public_key)
    return orjson.dumps({"keys": [{name: jwk[name] for name in ("kty", "crv", "kid", "x")}]})


def signature(signer: Signer, urls: Sequence[str], sent: Headers, now: datetime) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that sign an answer; it covers the host that the request `sent`."""
    created = int(now.timestamp())
    covered = '("@authority";req)'
    times = f"created={created};expires={created + SECONDS}"
    about = f'keyid="{jwk_of(signer.public_key)["kid"]}";alg="ed25519";tag="http-message-signatures-directory"'
    parameters = f"{covered};{times};{about}"
    authority = authority_of(urlsplit(spelled(urls, sent)))
    base = f'"@authority";req: {authority}\n"@signature-params": {parameters}'
    made = b64encode(signer.sign(base.encode()))
    return (b"signature-input", f"sig1={parameters}".encode()), (b"signature", b"sig1=:" + made + b":")
