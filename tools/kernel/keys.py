"""Keys: an agent's Ed25519 identity (hex, did:key, JWK), and API keys."""

import re
from hashlib import sha256
from hmac import digest

import base58
from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from tools.kernel.base64url import base64url

KEY_ENTROPY_BYTES = 40
API_KEY = re.compile(r"as_(live|test)_[0-9A-Za-z]{40}")

_DID = "did:key:z"
_DID_LENGTH = 80  # decoding base58 takes quadratic time, so the length is bounded
_ED25519_PUB = b"\xed\x01"  # multicodec ed25519-pub
_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
_HEX_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH = 40


class BadKey(ValueError):
    """Text that is not a usable Ed25519 public key."""


def public_key_from(text: str) -> bytes:
    """Return the 32 bytes of a key given as 64 hex digits or as did:key; raises BadKey.

    Weak points (of small order, off the curve, not canonical) are refused, because some verifiers accept forged
    signatures for them.
    """
    public = bytes.fromhex(text) if _HEX_KEY.fullmatch(text) else _from_did(text)
    if not crypto_core_ed25519_is_valid_point(public):
        raise BadKey("The public key is not a safe point of Ed25519.")
    return public


def public_key_of(seed: bytes) -> bytes:
    """Return the public key of a 32-byte Ed25519 seed (RFC 8032)."""
    return bytes(SigningKey(seed).verify_key)


def did_of(public: bytes) -> str:
    """Return the did:key (ed25519-pub in base58btc): always `did:key:z6Mk…`, 56 characters."""
    return _DID + base58.b58encode(_ED25519_PUB + public).decode()


def did_of_hex(public_hex: str) -> str:
    """Return the did:key of a public key in hex, as it is stored."""
    return did_of(bytes.fromhex(public_hex))


def verify_ed25519(public: bytes, message: bytes, signature_hex: str) -> bool:
    """Check whether `signature_hex` is the key's signature over `message`; never raises.

    A signature is 128 hex digits of any case.
    """
    return _HEX_SIGNATURE.fullmatch(signature_hex) is not None and signed_by(
        public, message, bytes.fromhex(signature_hex)
    )


def signed_by(public: bytes, message: bytes, signature: bytes) -> bool:
    """Check whether the key signed the message; never raises.

    libsodium refuses keys of small order and other encodings of a signature.
    """
    try:
        VerifyKey(public).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def rotation_message(brand: str, agent_id: str, old_hex: str, new_hex: str) -> str:
    """Return the text that the new key signs to replace the old one."""
    return f"{brand}:rotate:{agent_id}:{old_hex}:{new_hex}"


def registration_message(brand: str, public_hex: str, signed_at: int) -> str:
    """Return the text that an agent's own key signs to register; `signed_at` is in Unix seconds."""
    return f"{brand}:register:{public_hex}:{signed_at}"


def binding_message(brand: str, agent_id: str, address: str) -> str:
    """Return the text that a wallet signs to be bound to an agent.

    The agent's key signs it to change a binding.
    """
    return f"{brand}:wallet:{agent_id}:{address.lower()}"


def jwk_of(public: bytes) -> dict[str, str]:
    """Return the key as a JWK (RFC 7517, RFC 8037); `kid` is its RFC 7638 thumbprint."""
    x = base64url(public)
    thumbprint = base64url(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": thumbprint, "use": "sig", "alg": "EdDSA"}


def api_key(env: str, entropy: bytes) -> str:
    """Make an API key: `as_live_` or `as_test_`, and 40 base62 characters (238 bits).

    Of the 40 bytes of entropy, the 82 surplus bits make the remainder uniform to within 2^-82 (FIPS 186-5, A.2.1, asks
    for 64).
    """
    if env not in ("live", "test"):
        raise ValueError("An API key is for live or for test.")
    if len(entropy) != KEY_ENTROPY_BYTES:
        raise ValueError(f"An API key takes {KEY_ENTROPY_BYTES} bytes of entropy.")
    number = int.from_bytes(entropy)
    digits = [_BASE62[number // 62**place % 62] for place in reversed(range(_SECRET_LENGTH))]
    return f"as_{env}_{''.join(digits)}"


def key_hash(pepper: bytes, key: str) -> str:
    """Return the HMAC-SHA256 of an API key under the pepper, in hex, as it is stored.

    A fast hash is enough, because the key is random.
    """
    return digest(pepper, key.encode(), "sha256").hex()


def key_prefix(key: str) -> str:
    """Return the first 12 characters of an API key, by which its owner recognises it."""
    return key[:12]


def _from_did(text: str) -> bytes:
    if not text.startswith(_DID) or len(text) > _DID_LENGTH:
        raise BadKey("A public key is 64 hex digits or a did:key of Ed25519 (did:key:z6Mk...).")
    try:
        raw = base58.b58decode(text.removeprefix(_DID))
    except ValueError:
        raise BadKey("The did:key is not base58.") from None
    if len(raw) != 34 or not raw.startswith(_ED25519_PUB) or did_of(raw[2:]) != text:
        raise BadKey("The did:key does not hold an Ed25519 public key in its one canonical spelling.")
    return raw[2:]
