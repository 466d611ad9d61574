"""Sealed outputs: a salted commitment and a rounded size, which are shown until the output is revealed."""

from hashlib import sha256
from hmac import compare_digest
from typing import Any

from tools.kernel.canonical_json import NotCanonical, canonical, sha256_hex

SALT_BYTES = 32
ROUNDED_TO = 1024  # bytes
RECORDS = ("job", "delivery")  # the records that carry an output beside its commitment
Json = Any  # a JSON value


def commitment(salt: str, text: bytes) -> str:
    """Commit to a canonical text: SHA-256 of the salt, given as hex, followed by the text."""
    return "sha256:" + sha256(bytes.fromhex(salt) + text).hexdigest()


def rounded_size(size: int) -> int:
    """Round a size up to the next kilobyte, because an exact size may reveal a short output."""
    return -(-size // ROUNDED_TO) * ROUNDED_TO


def is_revealed(record: dict[str, Json]) -> bool:
    """Check whether a record is a job or delivery with an output that can be verified."""
    return record.get("object") in RECORDS and record.get("output_salt") is not None


def reveal_fault(record: dict[str, Json]) -> str | None:
    """Return what is wrong with a revealed output, or None.

    It must match the hash and the commitment in its record.
    """
    salt, committed = record.get("output_salt"), record.get("output_commitment")
    try:
        text = canonical(record.get("output"))
        made = commitment(salt, text) if isinstance(salt, str) and len(salt) == 2 * SALT_BYTES else None
    except (NotCanonical, ValueError):
        return "the output or its salt cannot be read"
    if made is None or not isinstance(committed, str) or not compare_digest(made.encode(), committed.encode()):
        return "the output is not the one that was committed to"
    return None if record.get("output_hash") == sha256_hex(text) else "the output does not have this output_hash"
