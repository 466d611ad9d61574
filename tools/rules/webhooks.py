"""Webhooks: how a delivery is signed (Standard Webhooks, https://www.standardwebhooks.com), and what follows from its answer."""

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
MOST_ATTEMPTS = len(WAITS_IN_SECONDS) + 1
MOST_FAILURES = 20  # deliveries given up in a row
LONGEST_WAIT_IN_SECONDS = 86_400
JITTER = 0.2  # of a wait, either way
GONE = 410

_PREFIX = "whsec_"
_NUMBERS = 65_536


def new_secret(entropy: bytes) -> str:
    """`whsec_` and 48 hex characters, which are base64 too: every library takes them."""
    return _PREFIX + entropy.hex()


def signing_key(secret: str) -> bytes:
    """The key Standard Webhooks makes of a secret: what stands behind whsec_, as base64 or, where it is none, as it is."""
    rest = secret.removeprefix(_PREFIX)
    try:
        return b64decode(rest, validate=True)
    except (binascii.Error, ValueError):
        return rest.encode()


def signed_content(message_id: str, timestamp: int, body: bytes) -> bytes:
    """What both signatures of Standard Webhooks are made over."""
    return b"%s.%d.%s" % (message_id.encode(), timestamp, body)


def v1(secret: str, content: bytes) -> str:
    """The symmetric signature: HMAC-SHA256."""
    return "v1," + b64encode(digest(signing_key(secret), content, sha256)).decode()


def v1a(signature: bytes) -> str:
    """The asymmetric signature: Ed25519, by the platform's key."""
    return "v1a," + b64encode(signature).decode()


def plain_signature(secret: str, timestamp: int, body: bytes) -> str:
    """X-Webhook-Signature: hex HMAC-SHA256 over timestamp, a dot and the body, keyed with the whole secret."""
    return "v1=" + digest(secret.encode(), b"%d.%s" % (timestamp, body), sha256).hex()


@dataclass(frozen=True, slots=True)
class Attempted:
    """How an attempt ended: with a status, or without an answer for a reason."""

    status: int | None
    reason: str | None = None
    retry_after_seconds: int = 0

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        return self.status == GONE

    @property
    def error(self) -> str | None:
        """In words the agent reads; None where all was well."""
        if self.taken or self.status is None:
            return self.reason
        followed = ": redirects are not followed" if 300 <= self.status < 400 else ""
        return f"status {self.status}{followed}"


def next_wait_seconds(attempt: int, attempted: Attempted, chance: int) -> float | None:
    """Seconds to the next attempt after a failed one; None where there is none. `chance` is 0 to 65535, for the jitter.

    A Retry-After that is longer is kept to, up to a day.
    """
    if attempted.gone or attempt >= MOST_ATTEMPTS:
        return None
    spread = 1 - JITTER + 2 * JITTER * chance / _NUMBERS
    asked = min(attempted.retry_after_seconds, LONGEST_WAIT_IN_SECONDS)
    return max(WAITS_IN_SECONDS[attempt - 1] * spread, float(asked))


def retry_after_seconds(header: str | None, now: datetime) -> int:
    """The seconds a Retry-After asks for, as a number or as an HTTP date; 0 for anything else."""
    if header is None or len(header) > 64:
        return 0
    if header.isascii() and header.isdigit():
        return min(int(header), LONGEST_WAIT_IN_SECONDS)
    try:
        until = parsedate_to_datetime(header)
        return max(0, ceil((until - now).total_seconds()))
    except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
        return 0
