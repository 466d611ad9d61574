"""RFC 9421: the official vectors, the contract's profile, the exact signature base, and every invalid signature."""

import json
from base64 import urlsafe_b64decode
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from tests.requirements import covers
from tests.support.signed_requests import Signing, digest_of
from tools.kernel.http_signatures import (
    MAX_FIELD_LENGTH,
    MAX_SHOWN_LENGTH,
    BadSignature,
    HttpRequest,
    bases,
    check_cover,
    check_time,
    digest_fault,
    read_claim,
    shown_base,
    signed_by,
)
from tools.kernel.keys import public_key_from

VECTORS = Path(__file__).parents[2] / "vectors"
CONTRACT: dict[str, Any] = json.loads((VECTORS / "signed_request_contract_form.json").read_text())
OFFICIAL: dict[str, Any] = json.loads((VECTORS / "rfc9421_ed25519.json").read_text())
WEAK: list[str] = json.loads((VECTORS / "did_key_ed25519.json").read_text())["weak_public_keys_must_reject"]
URL, SEED = "https://market.example", b"\x01" * 32
NOW = 1_795_229_757


def request(method: str, url: str, headers: dict[str, str], body: bytes = b"") -> HttpRequest:
    parts = urlsplit(url)
    told = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in headers.items())
    return HttpRequest(method, parts.path.encode(), parts.query.encode(), told, body)


def made(**more: Any) -> Signing:
    usual = {"method": "POST", "url": f"{URL}/v1/jobs", "body": b"{}", "keyid": "agt_1", "created": NOW}
    return Signing(**usual | more)


def came(signing: Signing, **bent: str) -> HttpRequest:
    headers = signing.headers(SEED) | bent
    return request(signing.method, signing.url, headers, signing.body)


def stands(sent: HttpRequest, *urls: str) -> bool:
    claim = read_claim(sent)
    check_cover(claim, sent)
    public = bytes(SigningKey(SEED).verify_key)
    return any(signed_by(public, base, claim.signature) for base in bases(claim, sent, urls or (URL,)))


def reason(sent: HttpRequest) -> str:
    with pytest.raises(BadSignature) as caught:
        stands(sent)
    assert caught.value.message
    return caught.value.reason


@pytest.mark.parametrize("vector", CONTRACT["requests"], ids=lambda one: one["method"])
@covers("auth.3.signature_input", "auth.3.signature", "auth.3.content_digest")
def test_the_form_of_the_contract_stands_byte_for_byte(vector: dict[str, Any]) -> None:
    headers = {"Signature-Input": vector["signature_input"], "Signature": vector["signature"], "X-Env": "test"}
    headers |= {"Content-Digest": vector["content_digest"]} if vector["content_digest"] else {}
    sent = request(vector["method"], vector["target_uri"], headers, vector["body"].encode())
    claim = read_claim(sent)
    check_cover(claim, sent)
    assert bases(claim, sent, ["http://127.0.0.1:8000"])[0].decode() == vector["signature_base"]
    assert shown_base(claim, sent, "http://127.0.0.1:8000") == vector["signature_base"]
    assert signed_by(public_key_from(CONTRACT["did"]), vector["signature_base"].encode(), claim.signature)
    assert (claim.keyid, claim.created, claim.expires, claim.nonce) == (CONTRACT["did"], NOW, None, None)
    again = Signing(vector["method"], vector["target_uri"], vector["body"].encode(), CONTRACT["did"], NOW)
    told = again.headers(bytes.fromhex(CONTRACT["seed_hex"]))
    assert (told["signature-input"], told["signature"]) == (vector["signature_input"], vector["signature"])


def test_the_official_vector_of_the_standard_verifies() -> None:
    """Prove how the base is built; the market itself refuses it, as no body or query is covered."""
    told = OFFICIAL["request"]
    signature = {"Signature-Input": OFFICIAL["signature_input"], "Signature": OFFICIAL["signature"]}
    sent = request(told["method"], told["target_uri"], told["headers"] | signature, told["body"].encode())
    claim = read_claim(sent)
    (base,) = bases(claim, sent, ["https://example.com"])
    assert base.decode() == OFFICIAL["signature_base"]
    public = urlsafe_b64decode(OFFICIAL["key"]["x"] + "=")
    assert signed_by(public, base, claim.signature)
    assert not signed_by(public, base + b"\n", claim.signature)
    assert digest_fault(sent, needed=True) is None
    with pytest.raises(BadSignature, match="must cover"):
        check_cover(claim, sent)


@pytest.mark.parametrize("body, digest", OFFICIAL["content_digest_sha256"].items())
def test_the_official_digests_are_those_of_their_bodies_and_of_no_other(body: str, digest: str) -> None:
    assert digest_fault(request("POST", URL, {"content-digest": digest}, body.encode())) is None
    assert digest_fault(request("POST", URL, {"content-digest": digest}, body.encode() + b" ")) is not None


@pytest.mark.parametrize(
    "digest", ["sha-256=:AAAA:", "sha-256=abc", "sha-256", "nonsense!", "sha-256=:" + "A" * 5_000 + ":", "sha-256=:AAAA:, sha-256=:AAAA:"]
)  # fmt: skip
def test_a_digest_that_is_none_or_wrong_is_a_fault(digest: str) -> None:
    assert digest_fault(request("POST", URL, {"content-digest": digest}, b"{}")) is not None


def test_a_digest_of_an_unknown_kind_is_ignored_but_binds_no_body() -> None:
    sent = request("POST", URL, {"content-digest": "md5=:AAAA:"}, b"{}")
    assert digest_fault(sent) is None
    assert digest_fault(sent, needed=True) is not None
    both = request("POST", URL, {"content-digest": f"md5=:AAAA:, {digest_of(b'{}')}"}, b"{}")
    assert digest_fault(both, needed=True) is None
    assert digest_fault(request("POST", URL, {}, b"{}"), needed=True) is not None


GOOD: dict[str, dict[str, Any]] = {
    "another label": {"label": "market"},
    "another order of parameters": {"parameters": f';alg="ed25519";keyid="agt_1";created={NOW}'},
    "no alg": {"parameters": f';created={NOW};keyid="agt_1"'},
    "every parameter": {"parameters": f';created={NOW};expires={NOW + 9};nonce="a b";alg="ed25519";keyid="agt_1";tag="x"'},
    "authority and path": {"covered": ["@authority", "@path", "@method", "content-digest"]},
    "the environment too": {"covered": ["@method", "@target-uri", "content-digest", "x-env"]},
    "a header too": {"covered": ["content-digest", "date", "@target-uri", "@method"], "sent": {"Date": "  today "}},
    "the scheme too": {"covered": ["@scheme", "@method", "@target-uri", "content-digest"]},
    "no body": {"body": b"", "method": "DELETE"},
    "a query": {"body": b"", "method": "GET", "url": f"{URL}/v1/jobs?a=1&b=%2F"},
    "a query by itself": {"body": b"", "url": f"{URL}/v1/jobs?a=1", "covered": ["@method", "@authority", "@path", "@query"]},
    "an empty query": {"body": b"", "covered": ["@method", "@authority", "@path", "@query"]},
    "escapes as they are": {"url": f"{URL}/v1/memory/a%2Fb%C3%A9"},
}  # fmt: skip


@pytest.mark.parametrize("more", GOOD.values(), ids=GOOD)
def test_it_stands_with(more: dict[str, Any]) -> None:
    sent = came(made(**more))
    if "Date" in str(more):
        sent = replace(sent, headers=tuple((n, b"today" if n == b"date" else v) for n, v in sent.headers))
        told = made(**more | {"sent": {"Date": "today"}})
        sent = came(told, date="  today ")
    assert stands(sent)


def test_an_empty_query_may_be_spelled_with_its_mark() -> None:
    sent = came(made(body=b"", url=f"{URL}/v1/jobs?"))
    assert sent.query == b""
    assert stands(sent)


def test_it_stands_for_every_address_the_market_is_published_under_and_for_no_other() -> None:
    sent = came(made(url="http://localhost:8000/v1/jobs"))
    assert stands(sent, URL, "http://localhost:8000")
    assert not stands(sent, URL)
    assert not stands(came(made(url="http://market.example/v1/jobs")), URL), "http is not https"
    prefixed = came(made(url=f"{URL}/market/v1/jobs"))
    behind = replace(prefixed, path=b"/v1/jobs")
    assert stands(behind, f"{URL}/market")
    default = came(made(url=f"{URL}/v1/jobs", covered=["@method", "@authority", "@path", "content-digest"]))
    assert stands(default, "https://Market.Example:443"), "an authority has one spelling"


BENT: dict[str, Any] = {
    "the method": lambda sent: replace(sent, method="PUT"),
    "the path": lambda sent: replace(sent, path=b"/v1/jobs/"),
    "an escape of the path": lambda sent: replace(sent, path=b"/v1/%6aobs"),
    "the query": lambda sent: replace(sent, query=b"a=1"),
    "the environment": lambda sent: replace(sent, headers=tuple((n, b"live" if n == b"x-env" else v) for n, v in sent.headers)),
    "created": lambda sent: replace(sent, headers=tuple((n, v.replace(b"57;", b"58;")) for n, v in sent.headers)),
    "the keyid": lambda sent: replace(sent, headers=tuple((n, v.replace(b"agt_1", b"agt_2")) for n, v in sent.headers)),
}  # fmt: skip


@pytest.mark.parametrize("bend", BENT.values(), ids=BENT)
def test_a3_it_does_not_stand_once_something_it_covers_is_changed(bend: Any) -> None:
    sent = came(made(covered=["@method", "@target-uri", "content-digest", "x-env"]))
    assert stands(sent)
    assert not stands(bend(sent))


def test_a3_the_body_is_held_to_its_digest_as_it_came() -> None:
    sent = came(made(body=b'{"a":1}'))
    assert reason(replace(sent, body=b'{"a": 1}')) == "digest"
    assert reason(replace(sent, body=b"")) == "digest"
    other = came(made(body=b'{"a":1}'), **{"content-digest": digest_of(b'{"a": 1}')})
    assert not stands(replace(other, body=b'{"a": 1}')), "a digest made anew is not the one that was signed"


def test_a_body_without_a_covered_digest_is_refused() -> None:
    assert reason(came(made(covered=["@method", "@target-uri"]))) == "uncovered"
    bare = came(made(body=b""))
    assert reason(replace(bare, body=b"{}")) == "uncovered", "a body put onto a request that had none"


UNCOVERED: dict[str, list[str]] = {
    "nothing": [],
    "no method": ["@target-uri"],
    "no target": ["@method"],
    "no authority": ["@method", "@path"],
    "no path": ["@method", "@authority"],
    "no query": ["@method", "@authority", "@path"],
    "a header that was not sent": ["@method", "@target-uri", "x-more"],
}


@pytest.mark.parametrize("covered", UNCOVERED.values(), ids=UNCOVERED)
def test_what_it_leaves_open_is_refused(covered: list[str]) -> None:
    assert reason(came(made(body=b"", url=f"{URL}/v1/jobs?a=1", covered=covered))) == "uncovered"


MEMBER = made(body=b"").input
SIGNED = made(body=b"").headers(SEED)["signature"].removeprefix("sig1=")
MALFORMED: dict[str, tuple[str, str]] = {
    "no structured field": ("sig1=(", f"sig1={SIGNED}"),
    "nothing": ("", f"sig1={SIGNED}"),
    "no list": ('sig1="x"', f"sig1={SIGNED}"),
    "two labels": (f"sig1={MEMBER}, sig2={MEMBER}", f"sig1={SIGNED}, sig2={SIGNED}"),
    "one label twice": (f"sig1={MEMBER}, sig1={MEMBER}", f"sig1={SIGNED}"),
    "other labels": (f"sig1={MEMBER}", f"sig2={SIGNED}"),
    "a parameter twice": (f"sig1={MEMBER};created={NOW}", f"sig1={SIGNED}"),
    "a component twice": (f"sig1={MEMBER.replace('(', '(' + chr(34) + '@method' + chr(34) + ' ')}", f"sig1={SIGNED}"),
    "a component with a parameter": (f"sig1={MEMBER.replace(' ', ';req ', 1)}", f"sig1={SIGNED}"),
    "a component that is a token": (f"sig1={MEMBER.replace(chr(34) + '@method' + chr(34), 'method')}", f"sig1={SIGNED}"),
    "an answer's component": (f"sig1={MEMBER.replace('@method', '@status')}", f"sig1={SIGNED}"),
    "itself": (f"sig1={MEMBER.replace('@method', '@signature-params')}", f"sig1={SIGNED}"),
    "a name in capitals": (f"sig1={MEMBER.replace('@method', 'X-Env')}", f"sig1={SIGNED}"),
    "too many components": (f"sig1=({' '.join(chr(34) + f'x{n}' + chr(34) for n in range(40))});created=1", f"sig1={SIGNED}"),
    "fractional created": (f"sig1={MEMBER.replace(f'={NOW}', f'={NOW}.5')}", f"sig1={SIGNED}"),
    "created in quotes": (f"sig1={MEMBER.replace(f'={NOW}', f'={chr(34)}{NOW}{chr(34)}')}", f"sig1={SIGNED}"),
    "created that is true": (f"sig1={MEMBER.replace(f'={NOW}', '')}", f"sig1={SIGNED}"),
    "created of sixteen digits": (f"sig1={MEMBER.replace(f'={NOW}', '=1795229757000000')}", f"sig1={SIGNED}"),
    "no created": (f"sig1={MEMBER.replace(f';created={NOW}', '')}", f"sig1={SIGNED}"),
    "no keyid": (f"sig1={MEMBER.replace(';keyid=' + chr(34) + 'agt_1' + chr(34), '')}", f"sig1={SIGNED}"),
    "an empty nonce": (f'sig1={MEMBER};nonce=""', f"sig1={SIGNED}"),
    "a long nonce": (f'sig1={MEMBER};nonce="{"n" * 256}"', f"sig1={SIGNED}"),
    "an unknown parameter": (f"sig1={MEMBER};x=1", f"sig1={SIGNED}"),
    "a tag that is none": (f"sig1={MEMBER};tag=1", f"sig1={SIGNED}"),
    "a short signature": (f"sig1={MEMBER}", "sig1=:AAAA:"),
    "a signature in quotes": (f"sig1={MEMBER}", 'sig1="AAAA"'),
    "no signature": (f"sig1={MEMBER}", ""),
    "a huge input": (f'sig1={MEMBER};tag="{"x" * MAX_FIELD_LENGTH}"', f"sig1={SIGNED}"),
    "a huge signature": (f"sig1={MEMBER}", f"sig1=:{'A' * MAX_FIELD_LENGTH}:"),
    "bytes that are no text": (f'sig1={MEMBER};tag="\xff"', f"sig1={SIGNED}"),
}  # fmt: skip


@pytest.mark.parametrize("pair", MALFORMED.values(), ids=MALFORMED)
def test_its_form_is_refused(pair: tuple[str, str]) -> None:
    headers = {"signature-input": pair[0], "signature": pair[1], "x-env": "test"}
    assert reason(request("POST", f"{URL}/v1/jobs", headers)) == "malformed"


@pytest.mark.parametrize("alone", ["signature", "signature-input"])
def test_half_of_a_signature_is_refused(alone: str) -> None:
    headers = {alone: made(body=b"").headers(SEED)[alone]}
    sent = request("POST", f"{URL}/v1/jobs", headers)
    assert (sent.signed, reason(sent)) == (True, "malformed")


@pytest.mark.parametrize("alg", ["rsa-v1_5-sha256", "hmac-sha256", "ED25519", ""])
def test_another_algorithm_is_refused(alg: str) -> None:
    assert reason(came(made(parameters=f';created={NOW};keyid="agt_1";alg="{alg}"'))) == "algorithm"


def test_a_header_sent_twice_is_one_value_and_a_signature_sent_twice_is_refused() -> None:
    signing = made(covered=["@method", "@target-uri", "content-digest", "x-more"], sent={"X-More": "a, b"})
    sent = came(signing)
    parted = [(n, v) for n, v in sent.headers if n != b"x-more"]
    assert stands(replace(sent, headers=(*parted, (b"x-more", b" a"), (b"x-more", b"b\t"))))
    assert not stands(replace(sent, headers=(*parted, (b"x-more", b"b"), (b"x-more", b"a"))))
    inputs = [(n, v) for n, v in sent.headers if n == b"signature-input"]
    assert reason(replace(sent, headers=(*sent.headers, *inputs))) == "malformed"


@pytest.mark.parametrize("away", [-301, -300, 0, 300, 301])
def test_created_may_be_five_minutes_away(away: int) -> None:
    claim = read_claim(came(made()))
    if abs(away) <= 300:
        check_time(claim, NOW + away)
        return
    with pytest.raises(BadSignature, match=str(NOW + away)) as caught:
        check_time(claim, NOW + away)
    assert caught.value.reason == "created"


def test_its_own_end_is_honoured() -> None:
    claim = read_claim(came(made(parameters=f';created={NOW};expires={NOW + 10};keyid="agt_1"')))
    check_time(claim, NOW + 10)
    with pytest.raises(BadSignature) as caught:
        check_time(claim, NOW + 10.5)
    assert caught.value.reason == "expired"


def test_what_counts_once_is_the_nonce_or_else_the_signature() -> None:
    def use(**more: Any) -> str:
        return read_claim(came(made(**more))).use

    assert use() == use() != use(created=NOW + 1)
    assert use(nonce="a") == use(nonce="a", created=NOW + 1) != use(nonce="b")
    assert use(nonce="a", env="live") == use(nonce="a")


@pytest.mark.parametrize("weak", WEAK)
def test_no_weak_key_signs_anything(weak: str) -> None:
    """OpenSSL accepts this forgery for the point of order one."""
    assert not signed_by(bytes.fromhex(weak), b"any", bytes.fromhex(weak) + bytes(32))
    assert not signed_by(b"short", b"any", bytes(64))


def test_a_shown_base_hides_credentials_and_ends_somewhere() -> None:
    signing = made(
        covered=["@method", "@target-uri", "content-digest", "authorization"], sent={"Authorization": "Bearer s3cret"}
    )
    sent = came(signing)
    shown = shown_base(read_claim(sent), sent, URL)
    assert '"authorization": (hidden)' in shown
    assert "s3cret" not in shown
    assert stands(sent)
    long = came(made(url=f"{URL}/{'x' * 20_000}"))
    assert len(shown_base(read_claim(long), long, URL)) == MAX_SHOWN_LENGTH + 1


@pytest.mark.parametrize("filler", [" ", "\t", "(", '"', "\\", ",", ";", "a=", '("x" ', ";a;a"])
def test_a15_headers_of_any_length_are_judged_in_time_that_grows_with_their_length(filler: str) -> None:
    """Headers beyond the bound are not read.

    The test measures processor time, so a busy machine does not matter.
    """
    headers = {
        "signature-input": "sig1=" + filler * 65_000,
        "signature": filler * 65_000,
        "content-digest": "sha-256=" + filler * 65_000,
    }
    at_bound = {name: value[:MAX_FIELD_LENGTH] for name, value in headers.items()}
    began = process_time()
    for one in (headers, at_bound):
        sent = request("POST", f"{URL}/v1/jobs", one, b"{}")
        with pytest.raises(BadSignature):
            read_claim(sent)
        assert digest_fault(sent) is not None
    assert process_time() - began < 1


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_no_header_is_a_fault_of_ours(told: bytes, signature: bytes) -> None:
    sent = HttpRequest("POST", b"/", b"", ((b"signature-input", told), (b"signature", signature)))
    with pytest.raises(BadSignature):
        read_claim(sent)
