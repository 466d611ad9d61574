"""What is told of a payment that was taken: each version of x402 hears it in its own names of networks."""

import json
from base64 import b64decode

import pytest

from tools.rules.x402quotes import settled_headers


@pytest.mark.parametrize(
    ("network", "older"),
    [("eip155:84532", "base-sepolia"), ("eip155:8453", "base"), ("eip155:31337", "eip155:31337")],
)
def test_each_version_hears_its_own_name_of_the_network(network: str, older: str) -> None:
    told = [json.loads(b64decode(one)) for one in settled_headers("0xab", network, "0xcd", 10_000)]
    same = {"success": True, "transaction": "0xab", "payer": "0xcd", "amount": "10000"}
    assert told == [same | {"network": network}, same | {"network": older}]
