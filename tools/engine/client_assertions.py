"""Client assertions: JWTs that agents sign to log in (RFC 7523, 2.2; RFC 7515; EdDSA of RFC 8037 and RFC 9864)."""

from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tools.kernel.base64url import base64url, from_base64url
from tools.kernel.keys import jwk_of, signed_by
from tools.kernel.strict_json import BadJson, parse

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ALGORITHMS = ("EdDSA", "Ed25519")  # two names of one algorithm; most clients send the older, EdDSA
AHEAD_SECONDS = 300
SKEW_SECONDS = 60  # by which the clocks of two machines may differ
MAX_LENGTH = 4096  # characters
MAX_ID_LENGTH = 255
MAX_HEADER_LENGTH = 512  # bytes; the limit of joserfc
DEPTH = 4

if TYPE_CHECKING:
    from joserfc.jws import JWSRegistry


class BadAssertion(ValueError):
    """A client assertion that is malformed or not valid here; the message says why."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion that is valid here and now, but whose signature is not verified yet."""

    text: str
    client: str  # iss and sub, which are the same
    jti: str


@cache
def _registry() -> "JWSRegistry":
    """Return a registry of Ed25519 only, whatever a header names or the library adds later.

    joserfc is loaded at the first login with an assertion, because most markets see none.
    """
    from joserfc.jws import JWSRegistry

    class Ed25519Only(JWSRegistry):
        max_header_length = MAX_HEADER_LENGTH
        max_payload_length = MAX_LENGTH

        def get_alg(self, name: str) -> Any:
            return super().get_alg("Ed25519" if name in ALGORITHMS else name)

    return Ed25519Only(algorithms=["Ed25519"], strict_check_header=False)


def read_assertion(text: str, audiences: Container[str], now_seconds: float) -> Assertion:
    """Parse and check the claims of an assertion, without verifying its signature.

    Keys that the header names are ignored. Raises BadAssertion, also for another audience or another time.
    """
    parts = text.split(".")
    if len(text) > MAX_LENGTH or len(parts) != 3:
        raise BadAssertion(f"client_assertion is a compact JWS of at most {MAX_LENGTH} characters")
    header, claims = _object(parts[0], "header"), _object(parts[1], "claims")
    if header.get("alg") not in ALGORITHMS:
        raise BadAssertion("alg must be EdDSA")
    if "crit" in header:
        raise BadAssertion("crit names an extension that is not understood here")
    client = _text(claims, "iss")
    if _text(claims, "sub") != client:
        raise BadAssertion("iss and sub must both name the agent that logs in")
    expires_at = _seconds(claims, "exp")
    if expires_at is None:
        raise BadAssertion("the assertion has no exp")
    audience, jti = _audience(claims.get("aud")), _text(claims, "jti")
    starts = {name: _seconds(claims, name) for name in ("nbf", "iat")}
    if audience not in audiences:
        raise BadAssertion("aud must be this server's issuer, with or without a final slash, or its token endpoint")
    _check_times(expires_at, starts, now_seconds)
    return Assertion(text, client, jti)


def _check_times(expires_at: float, starts: dict[str, float | None], now_seconds: float) -> None:
    clock = f"this server's clock says {int(now_seconds)}"
    if expires_at <= now_seconds:
        raise BadAssertion(f"exp has passed: {clock}")
    if expires_at > now_seconds + AHEAD_SECONDS + SKEW_SECONDS:
        raise BadAssertion(f"exp is more than {AHEAD_SECONDS} seconds ahead: {clock}")
    for name, at in starts.items():
        if at is not None and at > now_seconds + SKEW_SECONDS:
            raise BadAssertion(f"{name} lies ahead: {clock}")


def asserted_by(public: bytes, text: str) -> bool:
    """Check whether the key signed the assertion.

    libsodium verifies it too, because it accepts only one encoding of a signature.
    """
    from joserfc.errors import JoseError
    from joserfc.jwk import OKPKey
    from joserfc.jws import deserialize_compact

    signing_input, _, signature = text.rpartition(".")
    jwk = jwk_of(public)
    key = OKPKey.import_key({"kty": jwk["kty"], "crv": jwk["crv"], "x": jwk["x"]})
    try:
        deserialize_compact(text, key, registry=_registry())
        return signed_by(public, signing_input.encode(), _decoded(signature, "signature"))
    except (JoseError, BadAssertion, ValueError):
        return False


def _object(part: str, name: str) -> dict[str, Any]:
    try:
        value = parse(_decoded(part, name), DEPTH)
    except BadJson as bad:
        raise BadAssertion(f"the {name} of client_assertion: {bad.message}") from None
    if not isinstance(value, dict):
        raise BadAssertion(f"the {name} of client_assertion must be a JSON object")
    return value


def _decoded(part: str, name: str) -> bytes:
    """Decode base64url in its only valid form: no padding, spare bits zero (RFC 7515, 2)."""
    try:
        raw = from_base64url(part)
    except ValueError:
        raw = b""
    if not part or base64url(raw) != part:
        raise BadAssertion(f"the {name} of client_assertion is not base64url")
    return raw


def _audience(given: Any) -> str:
    """Return the only audience.

    If an assertion had several, each of them could use it to log in at the others.
    """
    only = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not isinstance(only, str) or not only:
        raise BadAssertion("aud must be one text: this server's issuer")
    return only


def _text(claims: dict[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_LENGTH:
        raise BadAssertion(f"{name} must be a text of 1-{MAX_ID_LENGTH} characters")
    return value


def _seconds(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise BadAssertion(f"{name} must be a number of seconds since 1970")
    return value
