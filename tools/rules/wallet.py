"""Wallet proofs: addresses (EIP-55), the strings a wallet signs, who signed them (EIP-191), and a contract's word (EIP-1271)."""

import re

from coincurve import PublicKey
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

SIGNATURE_LENGTH = 132  # 0x and 130 hex digits: r, s and v

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}")
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0  # n // 2 of secp256k1 (EIP-2)
_RECOVERY_ID = {0: 0, 1: 1, 27: 0, 28: 1}
_IS_VALID_SIGNATURE = "1626ba7e"  # isValidSignature(bytes32,bytes): its selector is also its answer for yes
_HOLDS = re.compile("0x1626[bB][aA]7[eE]0{56}")


class BadAddress(ValueError):
    """Text that is not an EVM address."""


def address_of(text: str) -> str:
    """The EIP-55 form of an address in lower case, upper case or correct mixed case; raises BadAddress."""
    if not _ADDRESS.fullmatch(text):
        raise BadAddress("An address is 0x and 40 hex digits.")
    address = str(to_checksum_address(text))
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper(), address[2:]):
        raise BadAddress("The address has mixed case and a wrong EIP-55 checksum: one of its characters is mistaken.")
    return address


def binding_message(brand: str, agent_id: str, address: str) -> str:
    """The exact string a wallet signs to be bound to an agent, and the agent key to change a binding."""
    return f"{brand}:wallet:{agent_id}:{address.lower()}"


def rotation_message(brand: str, agent_id: str, old_public_hex: str, new_public_hex: str) -> str:
    """The exact string a new agent key signs to take the old one's place."""
    return f"{brand}:rotate:{agent_id}:{old_public_hex.lower()}:{new_public_hex.lower()}"


def eip191_hash(text: str) -> bytes:
    """The 32 bytes that personal_sign signs for `text` (EIP-191, version 0x45)."""
    raw = text.encode()
    return bytes(keccak(b"\x19Ethereum Signed Message:\n%d" % len(raw) + raw))


def recover(text: str, signature_hex: str) -> str | None:
    """The EIP-55 address that personal_signed `text`, None for anything that is not one 65-byte signature.

    v is 0, 1, 27 or 28; s is low (EIP-2): a signature has a single spelling, which other verifiers agree on.
    """
    return signer_of(eip191_hash(text), signature_hex)


def signer_of(digest: bytes, signature_hex: str) -> str | None:
    """The EIP-55 address whose key signed these 32 bytes; None for anything that is not one 65-byte signature."""
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


def eip1271_call(digest: bytes, signature_hex: str) -> str:
    """Calldata (0x and hex) that asks a contract wallet whether `signature_hex` (0x and whole bytes) is its own over `digest`."""
    signature = bytes.fromhex(signature_hex.removeprefix("0x"))
    return f"0x{_IS_VALID_SIGNATURE}{encode(['bytes32', 'bytes'], [digest, signature]).hex()}"


def eip1271_holds(answer: object) -> bool:
    """Whether a node's answer to `eip1271_call` is yes: exactly one word, the selector and 28 zero bytes.

    Anything else is no: `0x` (no contract there), other words, an echo of the question (precompile 4), text that is not hex.
    """
    return isinstance(answer, str) and _HOLDS.fullmatch(answer) is not None
