"""x402 (version 2) documents: what is to be paid, and what a wallet signs so that another party may send it.

Source: the x402 specification, version 2, scheme `exact` on EVM chains; EIP-3009 for the authorization and EIP-712 for what is signed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_utils.crypto import keccak

VERSION = 2
SCHEME = "exact"
SECONDS = 900  # for which an authorization made from our terms is valid
JSON_TYPE = "application/json"
PRIMARY = "TransferWithAuthorization"
_MEMBERS = {  # as encodeType of EIP-712 writes them
    "EIP712Domain": "string name,string version,uint256 chainId,address verifyingContract",
    PRIMARY: "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce",
}
_TYPE_HASHES = {name: bytes(keccak(text=f"{name}({members})")) for name, members in _MEMBERS.items()}
TYPES = {
    name: [{"name": member, "type": kind} for kind, member in map(str.split, members.split(","))]
    for name, members in _MEMBERS.items()
}
_AS_WORD: Mapping[str, Callable[[str], bytes]] = {
    "string": lambda text: bytes(keccak(text=text)),
    "bytes32": lambda text: bytes.fromhex(text[2:]),
}


def _hash_of(name: str, members: Mapping[str, Any]) -> bytes:
    """Return the hash of a struct (hashStruct of EIP-712)."""
    kinds, words = ["bytes32"], [_TYPE_HASHES[name]]
    for kind, value in ((one["type"], members[one["name"]]) for one in TYPES[name]):
        kinds.append("bytes32" if kind == "string" else kind)
        words.append(_AS_WORD[kind](value) if kind in _AS_WORD else value)
    return bytes(keccak(encode(kinds, words)))


@dataclass(frozen=True, slots=True)
class Token:
    """A token that takes authorizations: its contract, chain, and EIP-712 name and version."""

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
    """A transfer that anyone with its signature may send, once, until `valid_before`.

    `value` is in minor units, and `valid_before` in Unix seconds.
    """

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
        """Return the typed data that the payer signs (EIP-712)."""
        return {"types": TYPES, "primaryType": PRIMARY, "domain": token.domain, "message": self.message}

    def digest(self, token: Token) -> bytes:
        """Return the 32 bytes that the payer's key signs (EIP-712)."""
        return bytes(keccak(b"\x19\x01" + _hash_of("EIP712Domain", token.domain) + _hash_of(PRIMARY, self.message)))

    def written(self) -> dict[str, str]:
        """Return the message as it is in a payment payload: every number as text."""
        return {name: str(value) for name, value in self.message.items()}


def requirements(token: Token, pay_to: str, amount: int) -> dict[str, Any]:
    """Return one way to pay: exactly `amount` minor units of the token, to `pay_to`."""
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
    """Return the PaymentRequired document for the resource at `url`."""
    resource = {"url": url, "description": description, "mimeType": JSON_TYPE}
    return {"x402Version": VERSION, "error": "Payment required", "resource": resource, "accepts": [accepted]}


def settle_body(
    resource: dict[str, Any], accepted: dict[str, Any], authorization: Authorization, signature: str
) -> dict[str, Any]:
    """Return the body of a request to a facilitator's /settle."""
    payload = {"signature": signature, "authorization": authorization.written()}
    return {
        "x402Version": VERSION,
        "paymentPayload": {"x402Version": VERSION, "resource": resource, "accepted": accepted, "payload": payload},
        "paymentRequirements": accepted,
    }


def job_nonce(brand: str, job_id: str, payer: str, amount: int, partials: int) -> str:
    """Return the nonce of a payment for a job.

    The same terms have the same nonce, so a payment that is signed twice can be sent only once.
    """
    said = f"{brand}:eip3009:v1:{job_id}:{payer.lower()}:{amount}:{partials}"
    return f"0x{bytes(keccak(text=said)).hex()}"
