"""Wallet proofs: addresses (EIP-55), messages to sign, their signers (EIP-191), and contract wallets (EIP-1271)."""

import re
from typing import Annotated

from coincurve import PublicKey
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from pydantic import AfterValidator, Field

SIGNATURE_LENGTH = 132  # 0x and 130 hex digits: r, s and v

MIN_WALLET = 0x10000  # precompiles lie below: 1 to 0x11 everywhere, 0x100 (P-256) on rollups
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}")
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0  # n // 2 of secp256k1 (EIP-2)
_RECOVERY_ID = {0: 0, 1: 1, 27: 0, 28: 1}
_IS_VALID_SIGNATURE = "1626ba7e"  # isValidSignature(bytes32,bytes): its selector is also its answer for yes
_HOLDS = re.compile("0x1626[bB][aA]7[eE]0{56}")


class BadAddress(ValueError):
    """Text that is not an EVM address."""


def address_of(text: str) -> str:
    """Return the EIP-55 form of an address; raises BadAddress.

    The address is in lower case, upper case or correct mixed case.
    """
    if not _ADDRESS.fullmatch(text):
        raise BadAddress("An address is 0x and 40 hex digits.")
    address = str(to_checksum_address(text))
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper(), address[2:]):
        raise BadAddress("The address has mixed case and a wrong EIP-55 checksum: one of its characters is mistaken.")
    return address


WalletAddress = Annotated[str, Field(json_schema_extra={"pattern": "^0x[0-9a-fA-F]{40}$"}), AfterValidator(address_of)]


def signature_of(text: str) -> str:
    """Return a wallet's signature as it is; raises ValueError for any other text."""
    if not _SIGNATURE.fullmatch(text):
        raise ValueError("a wallet's signature is 0x and 130 hex digits")
    return text


def claim_message(brand: str, base_url: str, agent_id: str, address: str, public_key: str, seconds: str) -> str:
    """Return the text that a wallet signs to claim the account that its purchase made."""
    return f"{brand}:x402-account:{base_url}:{agent_id}:{address.lower()}:{public_key}:{seconds}"


def eip191_hash(text: str) -> bytes:
    """Return the 32 bytes that personal_sign signs for `text` (EIP-191, version 0x45)."""
    raw = text.encode()
    return bytes(keccak(b"\x19Ethereum Signed Message:\n%d" % len(raw) + raw))


def recover(text: str, signature_hex: str) -> str | None:
    """Return the EIP-55 address that signed `text` with personal_sign, or None.

    The signature has 65 bytes. Its v is 0, 1, 27 or 28 and its s is low (EIP-2), so that each signature has one form,
    on which other verifiers agree.
    """
    return signer_of(eip191_hash(text), signature_hex)


def signer_of(digest: bytes, signature_hex: str) -> str | None:
    """Return the EIP-55 address whose key signed these 32 bytes, or None.

    The signature has 65 bytes.
    """
    if not _SIGNATURE.fullmatch(signature_hex):
        return None
    raw = bytes.fromhex(signature_hex[2:])
    recovery_id = _RECOVERY_ID.get(raw[64])
    if recovery_id is None or int.from_bytes(raw[32:64]) > _HALF_ORDER:
        return None
    try:
        key = PublicKey.from_signature_and_message(raw[:64] + bytes([recovery_id]), digest, hasher=None)
    except ValueError:
        return None
    return str(to_checksum_address(keccak(key.format(compressed=False)[1:])[-20:]))


def is_precompile(address: str) -> bool:
    """Check whether an address is a precompile of the chain, without a key or a contract."""
    return int(address, 16) < MIN_WALLET


def eip1271_call(digest: bytes, signature_hex: str) -> str:
    """Return the call that asks a contract wallet whether a signature over `digest` is valid.

    The call and `signature_hex` are 0x and whole bytes in hex.
    """
    signature = bytes.fromhex(signature_hex.removeprefix("0x"))
    return f"0x{_IS_VALID_SIGNATURE}{encode(['bytes32', 'bytes'], [digest, signature]).hex()}"


def eip1271_holds(answer: object) -> bool:
    """Check whether a node's answer to `eip1271_call` is yes.

    Yes is exactly one word: the selector and 28 zero bytes.

    Anything else is no: `0x` (no contract there), other words, an echo of the call (precompile 4), text that is not
    hex.
    """
    return isinstance(answer, str) and _HOLDS.fullmatch(answer) is not None
