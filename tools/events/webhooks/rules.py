"""Webhook deliveries: signatures (Standard Webhooks, https://www.standardwebhooks.com) and retries."""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from hmac import digest
from math import ceil

SECRET_ENTROPY_BYTES = 24
WAITS_IN_SECONDS = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)  # after each attempt but the last
MAX_ATTEMPTS = len(WAITS_IN_SECONDS) + 1
MAX_FAILURES = 20  # deliveries given up in a row
MAX_WAIT_IN_SECONDS = 86_400
JITTER = 0.2  # of a wait, either way
GONE = 410

_PREFIX = "whsec_"
_NUMBERS = 65_536


def new_secret(entropy: bytes) -> str:
    """Return `whsec_` and 48 hex characters, which are base64 too: every library accepts them."""
    return _PREFIX + entropy.hex()


def signing_key(secret: str) -> bytes:
    """Return the key that Standard Webhooks derives from a secret.

    It is the part after whsec_, decoded if it is base64.
    """
    rest = secret.removeprefix(_PREFIX)
    try:
        return b64decode(rest, validate=True)
    except (binascii.Error, ValueError):
        return rest.encode()


def signed_content(message_id: str, timestamp: int, body: bytes) -> bytes:
    """Return the bytes that both signatures of Standard Webhooks cover."""
    return b"%s.%d.%s" % (message_id.encode(), timestamp, body)


def v1(secret: str, content: bytes) -> str:
    """Return the symmetric signature: HMAC-SHA256."""
    return "v1," + b64encode(digest(signing_key(secret), content, sha256)).decode()


def v1a(signature: bytes) -> str:
    """Return the asymmetric signature: Ed25519, by the platform's key."""
    return "v1a," + b64encode(signature).decode()


def plain_signature(secret: str, timestamp: int, body: bytes) -> str:
    """Return X-Webhook-Signature: HMAC-SHA256 in hex over timestamp, dot and body.

    Its key is the whole secret.
    """
    return "v1=" + digest(secret.encode(), b"%d.%s" % (timestamp, body), sha256).hex()


@dataclass(frozen=True, slots=True)
class Attempted:
    """The result of an attempt: a status, or the reason why there is no answer."""

    status: int | None
    reason: str | None = None
    retry_after_seconds: int = 0

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        return self.status == GONE

    @property
    def error(self) -> str | None:
        """The error in words for the agent; None if the attempt succeeded."""
        if self.taken or self.status is None:
            return self.reason
        followed = ": redirects are not followed" if 300 <= self.status < 400 else ""
        return f"status {self.status}{followed}"


def next_wait_seconds(attempt: int, attempted: Attempted, chance: int) -> float | None:
    """Return the seconds from a failed attempt to the next one; None if there is none.

    `chance` is 0 to 65535, for the jitter. A Retry-After that is longer is obeyed, up to a day.
    """
    if attempted.is_gone or attempt >= MAX_ATTEMPTS:
        return None
    spread = 1 - JITTER + 2 * JITTER * chance / _NUMBERS
    asked = min(attempted.retry_after_seconds, MAX_WAIT_IN_SECONDS)
    return max(WAITS_IN_SECONDS[attempt - 1] * spread, float(asked))


def retry_after_seconds(header: str | None, now: datetime) -> int:
    """Return the seconds in Retry-After, as a number or an HTTP date; 0 for anything else."""
    if header is None or len(header) > 64:
        return 0
    if header.isascii() and header.isdigit():
        return min(int(header), MAX_WAIT_IN_SECONDS)
    try:
        until = parsedate_to_datetime(header)
        return max(0, ceil((until - now).total_seconds()))
    except (ValueError, TypeError, OverflowError):  # not a date, or one without a time zone
        return 0
