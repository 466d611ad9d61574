"""Terms and authorizations of x402 as in the specification, each value written out."""

import pytest

from tools.chain.x402_payload import (
    PRIMARY,
    SCHEME,
    SECONDS,
    VERSION,
    Authorization,
    Token,
    job_nonce,
    payment_required,
    requirements,
    settle_body,
)

TOKEN = Token("eip155:84532", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2")
PAYER, PAYEE = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A", "0x1563915e194D8CfBA1943570603F7606A3115508"
NONCE = "0x" + "ab" * 32
GIVEN = Authorization(PAYER, PAYEE, 10_000, 1_795_000_900, NONCE)
TERMS = {
    "scheme": "exact",
    "network": "eip155:84532",
    "amount": "10000",
    "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "payTo": PAYEE,
    "maxTimeoutSeconds": 900,
    "extra": {"name": "USDC", "version": "2"},
}


def test_terms_are_what_the_specification_names() -> None:
    assert (VERSION, SCHEME, SECONDS, PRIMARY) == (2, "exact", 900, "TransferWithAuthorization")
    assert requirements(TOKEN, PAYEE, 10_000) == TERMS


def test_a_client_is_told_what_to_pay_and_for_what() -> None:
    assert payment_required("https://market.example/x", "A job", TERMS) == {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {"url": "https://market.example/x", "description": "A job", "mimeType": "application/json"},
        "accepts": [TERMS],
    }


def test_what_is_signed_holds_every_member_of_both_structures() -> None:
    words = [("from", "address"), ("to", "address"), ("value", "uint256"), ("validAfter", "uint256")]
    words += [("validBefore", "uint256"), ("nonce", "bytes32")]
    domain = [("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address")]
    typed = GIVEN.typed_data(TOKEN)
    assert [(one["name"], one["type"]) for one in typed["types"]["TransferWithAuthorization"]] == words
    assert [(one["name"], one["type"]) for one in typed["types"]["EIP712Domain"]] == domain
    assert typed["primaryType"] == "TransferWithAuthorization"
    assert typed["domain"] == {
        "name": "USDC",
        "version": "2",
        "chainId": 84532,
        "verifyingContract": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    }
    assert typed["message"] == {
        "from": PAYER,
        "to": PAYEE,
        "value": 10_000,
        "validAfter": 0,
        "validBefore": 1_795_000_900,
        "nonce": NONCE,
    }


def test_the_digest_is_what_the_published_library_makes() -> None:
    assert GIVEN.digest(TOKEN).hex() == "bb0ed705b62475c23940f982076a1ae4c9ca1d69ee0f98b37c1140bfb7af5b02"


def test_a_facilitator_is_given_the_payment_and_the_terms() -> None:
    resource = {"url": "https://market.example/x"}
    assert settle_body(resource, TERMS, GIVEN, "0xsigned") == {
        "x402Version": 2,
        "paymentPayload": {
            "x402Version": 2,
            "resource": resource,
            "accepted": TERMS,
            "payload": {
                "signature": "0xsigned",
                "authorization": {
                    "from": PAYER,
                    "to": PAYEE,
                    "value": "10000",
                    "validAfter": "0",
                    "validBefore": "1795000900",
                    "nonce": NONCE,
                },
            },
        },
        "paymentRequirements": TERMS,
    }


def test_the_nonce_of_a_job_is_the_same_for_the_same_terms_alone() -> None:
    first = job_nonce("service", "job_1", PAYER, 250_000, 0)
    assert first == "0xa35bcfaa37706910bd77edbbb97f005c1973129e5a787b8ece2e1b82f85e58f7"
    assert job_nonce("service", "job_1", PAYER.lower(), 250_000, 0) == first


@pytest.mark.parametrize(
    "terms",
    [
        ("other", "job_1", PAYER, 250_000, 0),
        ("service", "job_2", PAYER, 250_000, 0),
        ("service", "job_1", PAYEE, 250_000, 0),
        ("service", "job_1", PAYER, 250_001, 0),
        ("service", "job_1", PAYER, 250_000, 1),
    ],
)
def test_other_terms_have_another_nonce(terms: tuple[str, str, str, int, int]) -> None:
    assert job_nonce(*terms) != job_nonce("service", "job_1", PAYER, 250_000, 0)
