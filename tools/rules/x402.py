"""x402 (version 2) as it is written: what is to be paid, and what a wallet signs so that somebody else may send it.

Source: the x402 specification, version 2, scheme `exact` on EVM chains; EIP-3009 for the authorization and EIP-712 for what is signed.
"""

from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_utils.crypto import keccak

VERSION = 2
SCHEME = "exact"
SECONDS = 900  # for which an authorization made from our terms holds
JSON_TYPE = "application/json"
PRIMARY = "TransferWithAuthorization"
TYPES = {
    "EIP712Domain": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ],
    PRIMARY: [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ],
}


def _type_hash(name: str) -> bytes:
    members = ",".join(f"{one['type']} {one['name']}" for one in TYPES[name])
    return bytes(keccak(text=f"{name}({members})"))


_DOMAIN, _TRANSFER = _type_hash("EIP712Domain"), _type_hash(PRIMARY)


@dataclass(frozen=True, slots=True)
class Token:
    """A token that takes authorizations: its contract, the chain it is on, and its EIP-712 domain's name and version."""

    network: str  # CAIP-2
    chain_id: int
    address: str
    name: str
    version: str

    @property
    def domain(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "chainId": self.chain_id,
            "verifyingContract": self.address,
        }


@dataclass(frozen=True, slots=True)
class Authorization:
    """A transfer of `value` minor units that whoever holds its signature may send, once, until `valid_before` (Unix seconds)."""

    payer: str
    payee: str
    value: int
    valid_before: int
    nonce: str  # 0x and 64 hex
    valid_after: int = 0

    @property
    def message(self) -> dict[str, int | str]:
        return {
            "from": self.payer,
            "to": self.payee,
            "value": self.value,
            "validAfter": self.valid_after,
            "validBefore": self.valid_before,
            "nonce": self.nonce,
        }

    def typed_data(self, token: Token) -> dict[str, Any]:
        """What the payer signs (EIP-712)."""
        return {"types": TYPES, "primaryType": PRIMARY, "domain": token.domain, "message": self.message}

    def digest(self, token: Token) -> bytes:
        """The 32 bytes that the payer's key signs (EIP-712)."""
        domain = encode(
            ["bytes32", "bytes32", "bytes32", "uint256", "address"],
            [_DOMAIN, keccak(text=token.name), keccak(text=token.version), token.chain_id, token.address],
        )
        said = encode(
            ["bytes32", "address", "address", "uint256", "uint256", "uint256", "bytes32"],
            [
                _TRANSFER,
                self.payer,
                self.payee,
                self.value,
                self.valid_after,
                self.valid_before,
                bytes.fromhex(self.nonce[2:]),
            ],
        )
        return bytes(keccak(b"\x19\x01" + keccak(domain) + keccak(said)))

    def written(self) -> dict[str, str]:
        """The same inside a payment payload: every number as text."""
        return {name: str(value) for name, value in self.message.items()}


def requirements(token: Token, pay_to: str, amount: int) -> dict[str, Any]:
    """One way to pay: exactly `amount` minor units of the token, to `pay_to`."""
    return {
        "scheme": SCHEME,
        "network": token.network,
        "amount": str(amount),
        "asset": token.address,
        "payTo": pay_to,
        "maxTimeoutSeconds": SECONDS,
        "extra": {"name": token.name, "version": token.version},
    }


def payment_required(url: str, description: str, accepted: dict[str, Any]) -> dict[str, Any]:
    """What an x402 client is told it has to pay, for the resource at `url`."""
    resource = {"url": url, "description": description, "mimeType": JSON_TYPE}
    return {"x402Version": VERSION, "error": "Payment required", "resource": resource, "accepts": [accepted]}


def settle_body(
    resource: dict[str, Any], accepted: dict[str, Any], given: Authorization, signature: str
) -> dict[str, Any]:
    """What a facilitator's /settle takes."""
    payload = {"signature": signature, "authorization": given.written()}
    return {
        "x402Version": VERSION,
        "paymentPayload": {"x402Version": VERSION, "resource": resource, "accepted": accepted, "payload": payload},
        "paymentRequirements": accepted,
    }


def job_nonce(brand: str, job_id: str, payer: str, amount: int, partials: int) -> str:
    """The nonce of what is due for a job: the same terms have the same, so signed twice they can be sent but once."""
    said = f"{brand}:eip3009:v1:{job_id}:{payer.lower()}:{amount}:{partials}"
    return f"0x{bytes(keccak(text=said)).hex()}"
