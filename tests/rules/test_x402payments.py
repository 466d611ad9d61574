"""Payments in headers: what the published client makes is read to the letter, and what nobody may send is refused with a word."""

import json
from base64 import b64encode
from copy import deepcopy
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from tools.rules.wallet import signer_of
from tools.rules.x402 import Authorization, Token
from tools.rules.x402payments import LEAST_LEFT, MOST_HEADER, Asked, BadPayment, Fault, fault_of, read_payment

TOKEN = Token("eip155:84532", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2")
PAYER, PAYEE = Account.from_key("0x" + "11" * 32), Account.from_key("0x" + "22" * 32)
NOW = 1_795_000_000
GIVEN = Authorization(PAYER.address, PAYEE.address, 10_000, NOW + 900, "0x" + "ab" * 32)
ASKED = Asked("eip155:84532", PAYEE.address, 10_000)


def signed(given: Authorization = GIVEN) -> str:
    return f"0x{bytes(PAYER.sign_message(encode_typed_data(full_message=given.typed_data(TOKEN))).signature).hex()}"


def sent(**changes: Any) -> dict[str, Any]:
    accepted = {"scheme": "exact", "network": "eip155:84532"}
    payload = {"signature": signed(), "authorization": GIVEN.written()}
    return {"x402Version": 2, "accepted": accepted, "payload": payload} | changes


def header(value: Any) -> str:
    return b64encode(json.dumps(value).encode()).decode()


def placed(path: str, value: Any) -> dict[str, Any]:
    """The usual payment with one member changed, or taken out by ...."""
    made: Any = deepcopy(sent())
    *steps, last = path.split(".")
    inner = made
    for step in steps:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    whole: dict[str, Any] = made
    return whole


@given(
    value=st.integers(0, 2**256 - 1),
    after=st.integers(0, 2**256 - 1),
    before=st.integers(0, 2**256 - 1),
    nonce=st.binary(min_size=32, max_size=32),
)
def test_what_is_signed_is_what_the_published_library_signs(value: int, after: int, before: int, nonce: bytes) -> None:
    one = Authorization(PAYER.address, PAYEE.address, value, before, f"0x{nonce.hex()}", after)
    typed = one.typed_data(TOKEN) | {}
    typed["message"] = typed["message"] | {"nonce": nonce}
    signature = PAYER.sign_message(encode_typed_data(full_message=typed)).signature
    assert signer_of(one.digest(TOKEN), f"0x{bytes(signature).hex()}") == PAYER.address


def test_a_payment_is_read_whole_in_both_versions() -> None:
    second = read_payment(header(sent()))
    first = read_payment(
        header({"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": sent()["payload"]})
    )
    assert (second.version, first.version) == (2, 1)
    for payment in (second, first):
        assert (payment.scheme, payment.network, payment.authorization) == ("exact", "eip155:84532", GIVEN)
        assert signer_of(payment.authorization.digest(TOKEN), payment.signature) == PAYER.address
    assert fault_of(second, ASKED, NOW) is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("x402Version", ..., "x402Version"), ("x402Version", 3, "x402Version"), ("x402Version", True, "x402Version"),
        ("x402Version", "2", "x402Version"), ("accepted", ..., "accepted"), ("accepted", [], "accepted"),
        ("accepted.scheme", 1, "scheme"), ("accepted.network", None, "network"), ("payload", "x", "payload"),
        ("payload.signature", "0xzz", "signature"), ("payload.signature", "0x" + "ab" * 5000, "signature"),
        ("payload.signature", "abcd", "signature"), ("payload.authorization", ..., "authorization"),
        ("payload.authorization.from", "0x12", "from"), ("payload.authorization.to", 5, "to"),
        ("payload.authorization.value", "1e4", "value"), ("payload.authorization.value", "-1", "value"),
        ("payload.authorization.value", "010000", "value"), ("payload.authorization.value", True, "value"),
        ("payload.authorization.value", 1.5, "value"), ("payload.authorization.value", str(2**256), "value"),
        ("payload.authorization.value", "9" * 5000, "value"), ("payload.authorization.validBefore", ..., "validBefore"),
        ("payload.authorization.validAfter", -1, "validAfter"), ("payload.authorization.nonce", "0x12", "nonce"),
    ],
)  # fmt: skip
def test_what_is_no_payment_is_refused_by_the_name_of_what_is_wrong(path: str, value: Any, named: str) -> None:
    with pytest.raises(BadPayment, match=f"^{named}: "):
        read_payment(header(placed(path, value)))


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "a" * (MOST_HEADER + 1), b64encode(b"{").decode(), b64encode(b"\xff\xfe").decode(),
     b64encode(b'{"x402Version":2,"x402Version":1}').decode(), b64encode(b"[" * 9000).decode(), header([]), header(None),
     header(sent()).replace("e", "é", 1), header(sent()) + "!"],
)  # fmt: skip
def test_a_header_that_is_no_base64_of_json_is_refused(text: str) -> None:
    with pytest.raises(BadPayment):
        read_payment(text)


@given(st.text(max_size=400) | st.binary(max_size=400).map(lambda raw: b64encode(raw).decode()))
def test_no_header_is_anything_but_read_or_refused(text: str) -> None:
    with pytest.raises(BadPayment):
        read_payment(text)


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("accepted.scheme", "upto", Fault.SCHEME),
        ("accepted.network", "eip155:8453", Fault.NETWORK),
        ("accepted.network", "base", Fault.NETWORK),
        ("payload.authorization.to", PAYER.address, Fault.RECIPIENT),
        ("payload.authorization.value", "9999", Fault.VALUE),
        ("payload.authorization.value", "10001", Fault.VALUE),
        ("payload.authorization.validAfter", str(NOW + 1), Fault.EARLY),
        ("payload.authorization.validBefore", str(NOW + LEAST_LEFT - 1), Fault.EXPIRED),
        ("payload.authorization.validBefore", "0", Fault.EXPIRED),
    ],
)
def test_what_does_not_pay_exactly_what_was_asked_is_named_in_x402s_words(path: str, value: Any, fault: Fault) -> None:
    assert fault_of(read_payment(header(placed(path, value))), ASKED, NOW) is fault


def test_the_bounds_of_time_themselves_are_good() -> None:
    edge = placed("payload.authorization.validBefore", str(NOW + LEAST_LEFT))
    edge["payload"]["authorization"]["validAfter"] = str(NOW)
    assert fault_of(read_payment(header(edge)), ASKED, NOW) is None
