"""Response headers of the REST facade: validators, limits, replays."""

from hashlib import sha256

import orjson

from tools.answers import Answer
from tools.rates import Quota

Headers = list[tuple[bytes, bytes]]


def etag(body: bytes) -> bytes:
    """A strong validator over the bytes answered: 96 bits of their SHA-256, which processors have instructions for."""
    return b'"' + sha256(body, usedforsecurity=False).hexdigest()[:24].encode() + b'"'


def version_tag(body: bytes) -> bytes:
    """The validator of what is written by version: If-Match takes it back as it stands."""
    return b'"%d"' % orjson.loads(body)["version"]


def matches(given: bytes, tag: bytes) -> bool:
    """Whether If-None-Match names this validator (RFC 9110, 13.1.2: weak comparison)."""
    tags = [part.strip().removeprefix(b"W/") for part in given.split(b",")]
    return b"*" in tags or tag in tags


def of_answer(answer: Answer, kept_seconds: int = 0) -> Headers:
    """Limits, replay and waiting, as headers. What says the same to everybody may be kept for some seconds."""
    headers: Headers = [(b"vary", b"Authorization, X-API-Key"), (b"cache-control", b"no-store")]
    if kept_seconds and answer.status == 200:
        headers = [(b"cache-control", b"public, max-age=%d" % kept_seconds)]
    if answer.replayed:
        headers.append((b"idempotent-replayed", b"true"))
    if answer.refusal is not None and answer.refusal.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % answer.refusal.retry_after_seconds))
    elif answer.status in (502, 503):
        headers.append((b"retry-after", b"2"))
    return headers + (of_quota(answer.quota) if answer.quota else [])


def of_quota(quota: Quota) -> Headers:
    """Both forms: the three old fields, and RateLimit with RateLimit-Policy of the current draft."""
    left = max(0, quota.remaining)
    name = quota.rate.encode()
    return [
        (b"ratelimit-limit", b"%d" % quota.limit),
        (b"ratelimit-remaining", b"%d" % left),
        (b"ratelimit-reset", b"%d" % quota.reset_seconds),
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name, quota.limit, quota.window_seconds)),
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name, left, quota.reset_seconds)),
    ]
