"""Payments in headers: those of the published client are read exactly, and invalid ones are refused with a reason."""

import json
from base64 import b64encode
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from tools.chain.wallet_proof import signer_of
from tools.chain.x402_payload import Authorization, Token
from tools.chain.x402_payments import (
    IN_WORDS,
    MAX_HEADER,
    MIN_LEFT,
    MIN_TO_SETTLE,
    BadPayment,
    Fault,
    fault_of,
    inputs_in,
    is_for,
    read_payment,
    settles,
    transactions_with_nonce,
)

TOKEN = Token("eip155:84532", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2")
PAYER, PAYEE = Account.from_key("0x" + "11" * 32), Account.from_key("0x" + "22" * 32)
NOW = 1_795_000_000
GIVEN = Authorization(PAYER.address, PAYEE.address, 10_000, NOW + 900, "0x" + "ab" * 32)
ASKED = {"network": "eip155:84532", "payTo": PAYEE.address, "amount": "10000"}


def signed(given: Authorization = GIVEN) -> str:
    return f"0x{bytes(PAYER.sign_message(encode_typed_data(full_message=given.typed_data(TOKEN))).signature).hex()}"


def sent(**changes: Any) -> dict[str, Any]:
    accepted = {"scheme": "exact", "network": "eip155:84532"}
    payload = {"signature": signed(), "authorization": GIVEN.written()}
    return {"x402Version": 2, "accepted": accepted, "payload": payload} | changes


def header(value: Any) -> str:
    return b64encode(json.dumps(value).encode()).decode()


def placed(path: str, value: Any) -> dict[str, Any]:
    """Return the usual payment with one member changed, or removed if the value is `...`."""
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
    ["", "nonsense", "a" * (MAX_HEADER + 1), b64encode(b"{").decode(), b64encode(b"\xff\xfe").decode(),
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
        ("payload.authorization.validBefore", str(NOW + MIN_LEFT - 1), Fault.EXPIRED),
        ("payload.authorization.validBefore", "0", Fault.EXPIRED),
    ],
)
def test_what_does_not_pay_exactly_what_was_asked_is_named_in_x402s_words(path: str, value: Any, fault: Fault) -> None:
    assert fault_of(read_payment(header(placed(path, value))), ASKED, NOW) is fault


def test_the_bounds_of_time_themselves_are_good() -> None:
    edge = placed("payload.authorization.validBefore", str(NOW + MIN_LEFT))
    edge["payload"]["authorization"]["validAfter"] = str(NOW)
    assert fault_of(read_payment(header(edge)), ASKED, NOW) is None
    assert fault_of(read_payment(header(valid_until(NOW + 3600))), ASKED, NOW) is None
    assert fault_of(read_payment(header(valid_until(NOW + 3601))), ASKED, NOW) is Fault.EXPIRED
    assert fault_of(read_payment(header(valid_until(NOW + 60))), ASKED, NOW) is None
    assert fault_of(read_payment(header(valid_until(NOW + 59))), ASKED, NOW) is Fault.EXPIRED


def valid_until(moment: int) -> dict[str, Any]:
    return placed("payload.authorization.validBefore", str(moment))


def test_what_is_for_another_scheme_or_chain_is_named_before_all_else() -> None:
    payment = read_payment(header(sent()))
    elsewhere = ASKED | {"network": "eip155:8453", "payTo": "0x"}
    assert fault_of(payment, ASKED, NOW) is None
    assert fault_of(payment, elsewhere, NOW) is Fault.NETWORK
    assert fault_of(replace(payment, scheme="upto"), elsewhere, NOW) is Fault.SCHEME


def padded(characters: int) -> str:
    """Return a payment header of this length, padded with a JSON member that is never read."""
    bare = json.dumps(sent(x="")).encode()
    text = bare.replace(b'"x": ""', b'"x": "' + b"y" * (characters // 4 * 3 - len(bare)) + b'"')
    return b64encode(text).decode()


def test_a_header_of_16384_characters_is_read_and_one_more_is_not() -> None:
    assert len(padded(16_384)) == 16_384
    assert read_payment(padded(16_384)).scheme == "exact"
    with pytest.raises(BadPayment, match=r"^is longer than 16384 characters$"):
        read_payment(padded(16_384) + "=")


def test_a_signature_of_4096_digits_is_read_and_a_longer_one_is_not() -> None:
    assert read_payment(header(placed("payload.signature", "0x" + "AB" * 2047))).signature == "0x" + "ab" * 2047
    with pytest.raises(BadPayment, match=r"^signature: must be 0x and whole bytes of hex$"):
        read_payment(header(placed("payload.signature", "0x" + "ab" * 2048)))


def test_the_nonce_is_read_in_lower_case() -> None:
    assert read_payment(header(placed("payload.authorization.nonce", "0x" + "AB" * 32))).authorization == GIVEN


@pytest.mark.parametrize(
    ("value", "read"),
    [("0", 0), (0, 0), (10_000, 10_000), (2**53 - 1, 2**53 - 1), (str(2**256 - 1), 2**256 - 1), ("10000", 10_000)],
)
def test_a_number_is_text_or_a_whole_number(value: Any, read: int) -> None:
    assert read_payment(header(placed("payload.authorization.value", value))).authorization.value == read


@pytest.mark.parametrize("value", ["9" * 78, str(2**256), "1" * 79, -1, True, False, None, "", " 1", "1\n", "0x1", "٣"])
def test_anything_else_is_no_number(value: Any) -> None:
    with pytest.raises(BadPayment, match=r"^value: must be "):
        read_payment(header(placed("payload.authorization.value", value)))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("x402Version", ..., "x402Version: required"),
        ("x402Version", 0, "x402Version: must be 1 or 2"),
        ("accepted", "exact", "accepted: must be a JSON object"),
        ("accepted.scheme", None, "scheme: must be a string"),
        ("payload.authorization.nonce", "0x" + "ab" * 33, "nonce: must be 0x and 64 hex"),
        ("payload.authorization.to", "0x12", "to: An address is 0x and 40 hex digits."),
    ],
)
def test_a_refusal_says_in_words_what_is_wrong(path: str, value: Any, words: str) -> None:
    with pytest.raises(BadPayment) as refused:
        read_payment(header(placed(path, value)))
    assert str(refused.value) == words


def test_what_is_no_base64_and_what_is_no_json_are_told_apart() -> None:
    with pytest.raises(BadPayment, match="must be base64 of JSON: it is not standard base64"):
        read_payment("not base64")
    with pytest.raises(BadPayment, match="must be base64 of JSON: ") as refused:
        read_payment(b64encode(b"{").decode())
    assert "standard base64" not in str(refused.value)
    with pytest.raises(BadPayment, match="it is not standard base64"):
        read_payment(header(sent())[:40] + "\n" + header(sent())[40:])


# The state of an authorization on the chain.

ASSET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
USE = {
    "address": ASSET.lower(),
    "topics": [USED, "0x" + "0" * 24 + PAYER.address[2:].lower(), "0x" + "ab" * 32],
}


def test_a_receipt_shows_the_use_of_this_authorization_by_the_token_alone() -> None:
    assert settles({"logs": [{"address": "0x1", "topics": []}, USE]}, ASSET, GIVEN)
    assert settles({"logs": [USE | {"address": ASSET}]}, ASSET.lower(), GIVEN)
    assert settles({"logs": [USE | {"topics": [one.upper().replace("X", "x") for one in USE["topics"]]}]}, ASSET, GIVEN)


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        [],
        {},
        {"logs": None},
        {"logs": {"0": USE}},
        {"logs": []},
        {"logs": [None, "x", []]},
        {"logs": [{"topics": USE["topics"]}]},
        {"logs": [{"address": ASSET}]},
        {"logs": [USE | {"address": 7}]},
        {"logs": [USE | {"topics": {"0": USED}}]},
        {"logs": [USE | {"address": "0x" + "11" * 20}]},
        {"logs": [USE | {"topics": USE["topics"][:2]}]},
        {"logs": [USE | {"topics": [*USE["topics"], USED]}]},
        {"logs": [USE | {"topics": [USED, USE["topics"][1], "0x" + "ac" * 32]}]},
        {"logs": [USE | {"topics": [USED, "0x" + "0" * 24 + PAYEE.address[2:].lower(), "0x" + "ab" * 32]}]},
        {"logs": [USE | {"topics": ["0x" + "00" * 32, *USE["topics"][1:]]}]},
    ],
)
def test_no_other_receipt_shows_a_use(receipt: object) -> None:
    assert settles(receipt, ASSET, GIVEN) is False


HASH, NONCE = "0x" + "CD" * 32, "0x" + "ab" * 32


def test_a_block_holds_the_transactions_whose_input_has_the_nonce() -> None:
    holds, other = {"hash": HASH, "input": "0xe3ee160e" + "AB" * 32}, {"hash": "0x" + "11" * 32, "input": "0x"}
    second = holds | {"hash": "0x" + "22" * 32}
    assert inputs_in({"transactions": [other, holds]})[0] == ("0x" + "11" * 32, "0x")
    assert transactions_with_nonce(inputs_in({"transactions": [other, holds]}), NONCE) == ["0x" + "cd" * 32]
    assert transactions_with_nonce(inputs_in({"transactions": [holds, second]}), NONCE) == [
        "0x" + "cd" * 32,
        "0x" + "22" * 32,
    ]


@pytest.mark.parametrize(
    "block",
    [
        None,
        [],
        {},
        {"transactions": None},
        {"transactions": {"0": 1}},
        {"transactions": ["0x" + "ab" * 32, None]},
        {"transactions": [{"hash": HASH}]},
        {"transactions": [{"hash": HASH, "input": 7}]},
        {"transactions": [{"input": "0x" + "ab" * 32}]},
        {"transactions": [{"hash": 7, "input": "0x" + "ab" * 32}]},
        {"transactions": [{"hash": "0x12", "input": "0x" + "ab" * 32}]},
        {"transactions": [{"hash": HASH, "input": "0x" + "ac" * 32}]},
        {"transactions": [{"hash": HASH, "input": "0x" + "0b" + "ab" * 31}]},
    ],
)
def test_a_block_that_is_malformed_or_has_no_such_input_holds_nothing(block: object) -> None:
    assert transactions_with_nonce(inputs_in(block), NONCE) == []


def test_every_fault_is_said_in_words_with_the_bounds_themselves() -> None:
    assert set(IN_WORDS) == {one.value for one in Fault}
    assert MIN_TO_SETTLE == 10, "seconds, when it is handed over"
    assert IN_WORDS[Fault.EXPIRED].startswith("valid_before must lie 60 to 3600 seconds ahead; clients take 900. ")


# The resource that a client says it pays for.

HOME = ["https://market.example", "http://plain.example", "https://shop.example:8443/base/", "mcp://tool/buy_with_x402"]


@pytest.mark.parametrize(
    "resource",
    [
        None,
        "https://market.example",
        "https://market.example/",
        "https://market.example/v1/x402/lst_1?a=b#c",
        "https://market.example:443/v1",
        "http://plain.example:80/v1",
        "https://shop.example:8443/base",
        "https://shop.example:8443/base/v1",
        "mcp://tool/buy_with_x402",
    ],
)
def test_what_lies_under_one_of_our_addresses_is_ours(resource: str | None) -> None:
    assert is_for(resource, HOME) is True


@pytest.mark.parametrize(
    "resource",
    [
        "",
        "/v1/x402/lst_1",
        "http://market.example/v1",
        "https://market.example:444/v1",
        "https://market.example.evil.example/v1",
        "https://evil.example/https://market.example/",
        "https://market.example@evil.example/",
        "https://someone@market.example/",
        "https://shop.example:8443/",
        "https://shop.example:8443/based",
        "https://shop.example:8443/base/../other",
        "https://shop.example/base/v1",
        "https://market.example:99999/",
        "https://[::1/",
        "mcp://tool/another",
        "mcp://tool/buy_with_x402_again",
    ],
)
def test_what_lies_elsewhere_is_not(resource: str) -> None:
    assert is_for(resource, HOME) is False


def test_without_addresses_of_ours_only_silence_is_for_us() -> None:
    assert (is_for(None, []), is_for("https://market.example", [])) == (True, False)


@pytest.mark.parametrize("version", [1, 2])
def test_the_resource_is_the_url_a_client_names(version: int) -> None:
    same = {"x402Version": version} | ({} if version == 2 else {"scheme": "exact", "network": "base-sepolia"})
    named = read_payment(header(sent(**same, resource={"url": "https://a.example", "mimeType": "x"})))
    assert named.resource == "https://a.example"
    assert [read_payment(header(sent(**same, **one))).resource for one in ({}, {"resource": None})] == [None, None]


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("https://a.example", "resource: must be a JSON object"),
        ({}, "url: required"),
        ({"url": 7}, "url: must be a string"),
        ({"url": None}, "url: must be a string"),
    ],
)
def test_a_resource_that_names_no_url_is_refused(resource: Any, words: str) -> None:
    with pytest.raises(BadPayment) as refused:
        read_payment(header(sent(resource=resource)))
    assert str(refused.value) == words
