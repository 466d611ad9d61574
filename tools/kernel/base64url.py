"""base64url without padding (RFC 7515, 2)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


def base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the decoded bytes; raises ValueError.

    Other spellings of the same bytes are decoded too: encode the result again to refuse them.
    """
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
