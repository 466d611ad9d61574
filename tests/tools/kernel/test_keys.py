"""Identities and API keys: the official did:key and JWK vectors, forged and weak keys, the format of a secret."""

import json
from collections import Counter
from hashlib import sha256
from hmac import new as hmac
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import OKPKey
from nacl.signing import SigningKey

from tools.kernel.keys import (
    API_KEY,
    BadKey,
    api_key,
    did_of,
    jwk_of,
    key_hash,
    key_prefix,
    public_key_from,
    public_key_of,
    verify_ed25519,
)

VECTORS = Path(__file__).parents[2] / "vectors"
DIDS = json.loads((VECTORS / "did_key_ed25519.json").read_text())
RFC8037 = json.loads((VECTORS / "jwks_rfc8037.json").read_text())
RFC8032_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
RFC8032_DID = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"


@pytest.mark.parametrize("vector", DIDS["valid"], ids=lambda vector: vector["did"][-6:])
def test_the_official_dids_hold_their_keys(vector: dict[str, str]) -> None:
    public = bytes.fromhex(vector["public_key_hex"])
    assert public_key_of(bytes.fromhex(vector["seed_hex"])) == public
    assert did_of(public) == vector["did"]
    assert public_key_from(vector["did"]) == public
    assert public_key_from(vector["public_key_hex"]) == public_key_from(vector["public_key_hex"].upper()) == public


def test_the_first_key_of_rfc_8032_is_spelled_alike_as_hex_and_did() -> None:
    assert did_of(bytes.fromhex(RFC8032_KEY)) == RFC8032_DID
    assert public_key_from(RFC8032_DID).hex() == RFC8032_KEY


@pytest.mark.parametrize(
    "text",
    [
        *DIDS["must_reject"],
        "",
        "00",
        RFC8032_KEY + "\n",
        " " + RFC8032_KEY,
        "0x" + RFC8032_KEY,
        RFC8032_KEY[:-1] + "g",
        RFC8032_KEY[:-2],
        "٣" * 64,
        RFC8032_DID + "\n",
        RFC8032_DID.upper(),
        RFC8032_DID.replace("z6Mk", "z16Mk"),
        RFC8032_DID[:-1] + "0",
        "did:key:z" + "z" * 100_000,
        "did:key:z\ud800",
    ],
)
def test_what_is_no_ed25519_key_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        public_key_from(text)


@pytest.mark.parametrize("weak", DIDS["weak_public_keys_must_reject"])
def test_a_weak_key_is_refused_in_every_spelling(weak: str) -> None:
    for text in (weak, weak.upper(), did_of(bytes.fromhex(weak))):
        with pytest.raises(BadKey):
            public_key_from(text)


def test_a_forged_signature_of_the_identity_point_is_refused() -> None:
    identity = b"\x01" + bytes(31)
    assert not verify_ed25519(identity, b"any message", (identity + bytes(32)).hex())


def test_only_the_keys_own_signature_over_the_very_message_holds() -> None:
    signer = SigningKey(bytes(range(32)))
    public, signature = bytes(signer.verify_key), signer.sign(b"message").signature.hex()
    order = 2**252 + 27742317777372353535851937790883648493
    s_plus_order = (int.from_bytes(bytes.fromhex(signature[64:]), "little") + order).to_bytes(32, "little").hex()
    assert verify_ed25519(public, b"message", signature)
    assert verify_ed25519(public, b"message", signature.upper())
    refused = [signature[:-2], signature + "00", "0x" + signature[2:], signature + "\n", "", "zz" * 64, "00" * 64]
    refused += [signature[:64] + s_plus_order, signature[64:] + signature[:64]]
    assert not any(verify_ed25519(public, b"message", text) for text in refused)
    assert not verify_ed25519(public, b"Message", signature)
    assert not verify_ed25519(public_key_of(bytes(32)), b"message", signature)
    assert not verify_ed25519(public[:-1], b"message", signature)


def test_the_jwk_of_rfc_8037_gets_its_thumbprint() -> None:
    expected = {"kty": "OKP", "crv": "Ed25519", "x": RFC8037["jwk"]["x"], "kid": RFC8037["thumbprint"], "use": "sig", "alg": "EdDSA"}  # fmt: skip
    assert jwk_of(bytes.fromhex(RFC8032_KEY)) == expected


def test_a_standard_library_reads_the_jwk() -> None:
    jwk = jwk_of(bytes.fromhex(RFC8032_KEY))
    assert OKPKey.import_key(dict(jwk)).thumbprint() == jwk["kid"]


@settings(deadline=None)
@given(st.binary(min_size=40, max_size=40), st.sampled_from(["live", "test"]))
def test_an_api_key_names_its_environment_and_holds_40_letters(entropy: bytes, env: str) -> None:
    key = api_key(env, entropy)
    match = API_KEY.fullmatch(key)
    assert match is not None
    assert match[1] == env
    assert key_prefix(key) == f"as_{env}_{key[8:12]}"
    assert API_KEY.fullmatch(key + "\n") is None


def test_every_letter_of_an_api_key_is_equally_likely() -> None:
    keys = [api_key("live", sha256(b"a%d" % n).digest() + sha256(b"b%d" % n).digest()[:8]) for n in range(3000)]
    expected = 3000 * 40 / 62
    counted = Counter("".join(key[8:] for key in keys))
    chi_squared = sum((count - expected) ** 2 / expected for count in counted.values())
    first = Counter(key[8] for key in keys)
    print(f"chi squared {chi_squared:.1f} at 61 degrees of freedom; {len(first)} different first letters")
    assert len(set(keys)) == 3000
    assert (len(counted), len(first)) == (62, 62)
    assert chi_squared < 110  # p < 0.0001 if the draw is fair; the seed is fixed


def test_an_api_key_is_a_function_of_its_entropy_alone() -> None:
    assert api_key("live", bytes(40)) == "as_live_" + "0" * 40
    assert api_key("test", bytes(39) + b"\x3e") == "as_test_" + "0" * 38 + "10"


@pytest.mark.parametrize("env, length", [("prod", 40), ("", 40), ("live", 39), ("live", 41)])
def test_an_unknown_environment_or_too_little_entropy_is_refused(env: str, length: int) -> None:
    with pytest.raises(ValueError):
        api_key(env, bytes(length))


def test_what_is_stored_of_a_key_depends_on_the_pepper() -> None:
    key = api_key("live", bytes(40))
    assert key_hash(b"pepper", key) == hmac(b"pepper", key.encode(), "sha256").hexdigest()
    assert key_hash(b"pepper", key) != key_hash(b"peppes", key)
