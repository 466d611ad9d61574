"""Wallet proofs: EIP-55 vectors, another library's signatures, malformed ones, hostile contract answers."""

import json
from pathlib import Path

import pytest
from eth_abi import decode
from eth_account import Account
from eth_account.messages import encode_defunct
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.chain.wallet_proof import (
    BadAddress,
    address_of,
    eip191_hash,
    eip1271_call,
    eip1271_holds,
    recover,
    rotation_message,
)
from tools.kernel.keys import binding_message

EIP55 = json.loads((Path(__file__).parents[2] / "vectors" / "eip55.json").read_text())["valid"]
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
WALLET = Account.from_key(b"\x07" * 32)
TEXT = binding_message("service", "agt_1", WALLET.address)
SIGNATURE = "0x" + WALLET.sign_message(encode_defunct(text=TEXT)).signature.hex()
R, S, V = SIGNATURE[2:66], SIGNATURE[66:130], SIGNATURE[130:]
YES = "0x1626ba7e" + "00" * 28


@pytest.mark.parametrize("address", EIP55)
def test_the_official_addresses_are_taken_in_three_spellings(address: str) -> None:
    lower, upper = address.lower(), "0x" + address[2:].upper()
    assert {address_of(text) for text in (address, lower, upper)} == {address}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        EIP55[0][:-1],
        EIP55[0] + "0",
        EIP55[0] + "\n",
        EIP55[0][2:],
        "0X" + EIP55[0][2:],
        "0x" + "g" * 40,
        "0x" + "٣" * 40,
        EIP55[4].replace("A", "a", 1),
        EIP55[4].swapcase().replace("0X", "0x"),
        "0x" + "0" * 1_000_000,
    ],
)
def test_what_is_no_address_or_has_a_mistyped_letter_is_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        address_of(text)


def test_the_signed_strings_are_exact() -> None:
    assert binding_message("service", "agt_1", WALLET.address) == "service:wallet:agt_1:" + WALLET.address.lower()
    assert rotation_message("service", "agt_1", "AB" * 32, "cd" * 32) == f"service:rotate:agt_1:{'ab' * 32}:{'cd' * 32}"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",))), st.integers(1, ORDER - 1))
def test_m1_a_signature_of_any_wallet_over_any_text_names_its_wallet(text: str, secret: int) -> None:
    wallet = Account.from_key(secret.to_bytes(32))
    signed = wallet.sign_message(encode_defunct(text=text))
    assert eip191_hash(text) == signed.message_hash
    assert recover(text, "0x" + signed.signature.hex()) == wallet.address


def test_v_may_be_written_either_way_and_in_either_case() -> None:
    other = {"1b": "00", "1c": "01"}[V]
    assert recover(TEXT, SIGNATURE) == recover(TEXT, f"0x{R}{S}{other}") == WALLET.address
    assert recover(TEXT, f"0x{(R + S + V).upper()}") == WALLET.address


def test_m1_another_text_or_another_wallet_is_told_apart() -> None:
    assert recover(TEXT + " ", SIGNATURE) not in (None, WALLET.address)
    assert recover(binding_message("other", "agt_1", WALLET.address), SIGNATURE) != WALLET.address
    assert recover(binding_message("service", "agt_2", WALLET.address), SIGNATURE) != WALLET.address


def test_a_malleable_signature_is_refused() -> None:
    flipped = {"1b": "1c", "1c": "1b"}[V]
    high_s = f"0x{R}{ORDER - int(S, 16):064x}{flipped}"
    assert Account.recover_message(encode_defunct(text=TEXT), signature=high_s) == WALLET.address
    assert recover(TEXT, high_s) is None


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "0x",
        SIGNATURE[2:],
        SIGNATURE[:-2],
        SIGNATURE + "00",
        SIGNATURE + "\n",
        "0X" + SIGNATURE[2:],
        SIGNATURE[:-1] + "g",
        f"0x{R}{S}02",
        f"0x{R}{S}1a",
        f"0x{R}{S}1d",
        f"0x{R}{S}23",
        f"0x{R}{S}ff",
        f"0x{'00' * 32}{S}{V}",
        f"0x{R}{'00' * 32}{V}",
        f"0x{ORDER:064x}{S}{V}",
        f"0x{'ff' * 32}{S}{V}",
        f"0x{R}{ORDER:064x}{V}",
        f"0x{'00' * 65}",
        "0x" + "0" * 1_000_000,
    ],
)
def test_what_is_no_signature_names_nobody(signature: str) -> None:
    assert recover(TEXT, signature) is None


@settings(deadline=None)
@given(st.binary(min_size=64, max_size=64), st.sampled_from([0, 1, 27, 28]))
def test_random_signatures_never_raise_and_never_name_our_wallet(raw: bytes, v: int) -> None:
    assert recover(TEXT, f"0x{raw.hex()}{v:02x}") != WALLET.address


def test_the_question_to_a_contract_is_abi_encoded() -> None:
    call = eip1271_call(eip191_hash(TEXT), SIGNATURE)
    assert call.startswith("0x1626ba7e")
    assert decode(["bytes32", "bytes"], bytes.fromhex(call[10:])) == (eip191_hash(TEXT), bytes.fromhex(SIGNATURE[2:]))


@pytest.mark.parametrize("signature", ["0x0", "0xzz", "zz"])
def test_a_question_about_no_bytes_is_refused(signature: str) -> None:
    with pytest.raises(ValueError):
        eip1271_call(bytes(32), signature)


def test_a_contract_says_yes_in_exactly_one_way() -> None:
    assert eip1271_holds(YES)
    assert eip1271_holds(YES.replace("ba7e", "BA7E"))


@pytest.mark.parametrize(
    "answer",
    [
        None, True, 1, b"\x16\x26\xba\x7e", [YES], {"result": YES}, "", "0x", "0x1626ba7e", YES[2:], YES[:-1], YES[:-2], YES + "00",
        YES + "\n", YES[:-1] + "1", "0xffffffff" + "00" * 28, "0x" + "00" * 32, "0x" + "00" * 28 + "1626ba7e", "0x" + "00" * 31 + "01",
        eip1271_call(eip191_hash(TEXT), SIGNATURE), "0x" + "f" * 1_000_000, "0X1626ba7e" + "00" * 28, "0x1626ba7e" + "٠" * 56,
    ],
)  # fmt: skip
def test_m6_every_other_answer_of_a_node_is_no(answer: object) -> None:
    assert not eip1271_holds(answer)


def test_every_shorter_answer_is_no() -> None:
    assert not any(eip1271_holds(YES[:length]) for length in range(len(YES)))
