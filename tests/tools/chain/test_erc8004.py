"""ERC-8004 identity registries: the calls made, the answers accepted, and the handling of malformed answers."""

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from tools.chain.erc8004 import (
    MAX_SHOWN,
    MAX_TOKEN_ID,
    OWNER_OF,
    TOKEN_URI,
    Identity,
    NoIdentity,
    Unreadable,
    caip10,
    call_data,
    identity,
    registration_url,
)

OWNER = "0x8004A818BFB912233c491871b3d84c89A494BD9e"
OWNED = "0x" + encode(["address"], [OWNER]).hex()


def text(said: str | bytes) -> str:
    return "0x" + encode(["bytes"], [said.encode() if isinstance(said, str) else said]).hex()


def test_the_number_is_asked_for_as_one_word() -> None:
    assert call_data(OWNER_OF, "0") == "0x6352211e" + "0" * 64
    assert call_data(TOKEN_URI, str(MAX_TOKEN_ID)) == "0xc87b56dd" + "f" * 64


def test_owner_and_uri_are_read() -> None:
    assert identity("22", OWNED, text("https://a.example/x")) == Identity("22", OWNER, "https://a.example/x")
    assert identity("22", OWNED, text("")) == Identity("22", OWNER, "")


@pytest.mark.parametrize("uri", [text("x"), None])
def test_a_token_nobody_owns_is_none_and_one_whose_uri_cannot_be_read_names_nobody(uri: str | None) -> None:
    with pytest.raises(NoIdentity):
        identity("22", None, uri)
    assert identity("22", OWNED, None) == Identity("22", OWNER, "")


def test_m6_a_uri_is_shown_up_to_its_bound_and_bytes_that_are_no_text_are_marked() -> None:
    assert identity("1", OWNED, text("data:" + "x" * 100_000)).uri == "data:" + "x" * (MAX_SHOWN - 5)
    assert identity("1", OWNED, text(b"a\xff\x00b")).uri == "a\ufffd\ufffdb"
    assert identity("1", OWNED, text("é" * 5000)).uri == "é" * MAX_SHOWN


@pytest.mark.parametrize(
    "owner", ["0x", "0x00", OWNED + "00", OWNED[:-2], "0x" + "f" * 64, "0x" + "0" * 64, "0x01" + OWNED[4:]]
)
def test_m6_what_is_no_address_owns_nothing(owner: str) -> None:
    with pytest.raises(Unreadable):
        identity("1", owner, text("x"))


@pytest.mark.parametrize(
    "uri",
    [
        "0x",
        "0x" + "0" * 64,
        "0x" + f"{64:064x}" + f"{1:064x}" + "61" + "0" * 62,
        "0x" + "f" * 64 + f"{1:064x}" + "61",
        "0x" + f"{32:064x}" + "f" * 64,
        "0x" + f"{32:064x}" + f"{2:064x}" + "61",
        "0x" + f"{32:064x}" + f"{2**255:064x}" + "61" * 32,
    ],
)
def test_m6_what_is_no_string_names_nothing(uri: str) -> None:
    with pytest.raises(Unreadable):
        identity("1", OWNED, uri)


@given(st.binary(max_size=200), st.binary(max_size=400))
def test_m6_any_bytes_are_read_or_refused(owner: bytes, uri: bytes) -> None:
    try:
        found = identity("1", "0x" + owner.hex(), "0x" + uri.hex())
    except Unreadable:
        return
    assert len(found.uri) <= MAX_SHOWN


def test_names_of_a_registry_and_of_a_file() -> None:
    assert caip10("eip155:8453", OWNER) == f"eip155:8453:{OWNER}"
    assert registration_url("https://m.example", "agt_1") == "https://m.example/agents/agt_1/erc8004.json"
