"""Webhook signatures match the published vectors, and the delays between retries are as documented."""

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import digest
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from tools.events.webhooks.rules import (
    MAX_ATTEMPTS,
    MAX_FAILURES,
    SECRET_ENTROPY_BYTES,
    WAITS_IN_SECONDS,
    Attempted,
    new_secret,
    next_wait_seconds,
    plain_signature,
    retry_after_seconds,
    signed_content,
    signing_key,
    v1,
    v1a,
)

VECTOR = json.loads((Path(__file__).parents[3] / "vectors" / "standard_webhooks.json").read_text(encoding="utf-8"))
MESSAGE = VECTOR["message"]
CONTENT = signed_content(MESSAGE["webhook-id"], int(MESSAGE["webhook-timestamp"]), MESSAGE["body"].encode())
NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def test_v1_is_the_published_vector() -> None:
    assert v1(VECTOR["v1"]["secret"], CONTENT) == VECTOR["v1"]["signature"]


def test_v1a_is_the_published_vector() -> None:
    key = SigningKey(b64decode(VECTOR["v1a"]["secret"].removeprefix("whsk_"))[:32])
    assert "whpk_" + b64encode(bytes(key.verify_key)).decode() == VECTOR["v1a"]["public"]
    assert v1a(bytes(key.sign(CONTENT).signature)) == VECTOR["v1a"]["signature"]


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("whsec_" + "c2VjcmV0c2VjcmV0", b"secretsecret"),
        ("c2VjcmV0c2VjcmV0", b"secretsecret"),
        ("whsec_not base64 at all!", b"not base64 at all!"),
        ("whsec_c2Vj cmV0", b"c2Vj cmV0"),  # some decoders skip the space, but it is not valid base64
        ("whsec_c2VjcmV0c2VjcmV", b"c2VjcmV0c2VjcmV"),  # without padding
        ("a secret of my own", b"a secret of my own"),
    ],
)
def test_the_key_is_what_stands_behind_whsec_as_base64_or_as_it_is(secret: str, key: bytes) -> None:
    assert signing_key(secret) == key
    whole = digest(secret.encode(), b"17.{}", sha256).hex()
    assert plain_signature(secret, 17, b"{}") == f"v1={whole}"


def test_a_new_secret_is_192_bits_in_letters_every_library_takes() -> None:
    secret = new_secret(bytes(range(24)))
    assert (SECRET_ENTROPY_BYTES, secret[:6], len(secret)) == (24, "whsec_", 54)
    assert bytes.fromhex(secret[6:]) == bytes(range(24))
    assert signing_key(secret) == b64decode(secret[6:])
    assert 24 <= len(signing_key(secret)) <= 64


def test_ten_attempts_wait_as_promised_give_or_take_a_fifth() -> None:
    failed = Attempted(500)
    assert WAITS_IN_SECONDS == (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
    for attempt, wait in enumerate(WAITS_IN_SECONDS, 1):
        least, middle, most = (next_wait_seconds(attempt, failed, chance) for chance in (0, 32_768, 65_535))
        assert (least, middle) == (pytest.approx(0.8 * wait), pytest.approx(wait))
        assert 1.19 * wait < (most or 0) < 1.2 * wait
    assert next_wait_seconds(MAX_ATTEMPTS, failed, 0) is None
    assert failed.retry_after_seconds == 0
    assert MAX_FAILURES == 20, "deliveries given up in a row"
    assert MAX_ATTEMPTS == 10


def test_410_is_final_and_a_longer_retry_after_is_kept_to() -> None:
    assert next_wait_seconds(1, Attempted(410), 0) is None
    assert next_wait_seconds(1, Attempted(429, None, 60), 0) == 60
    assert next_wait_seconds(2, Attempted(429, None, 60), 32_768) == 300
    assert next_wait_seconds(1, Attempted(503, None, 10**9), 0) == 86_400


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        ("9" * 60, 86_400),
        ("9" * 64, 86_400),
        ("9" * 65, 0),
        ("-5", 0),
        ("soon", 0),
        ("\u0663", 0),
        ("Sat, 21 Nov 2026 04:01:30 GMT", 90),
        ("Sat, 21 Nov 2026 03:59:00 GMT", 0),
        ("Sat, 21 Nov 2026 04:01:30", 0),
        ("Sat, 99 Nov 2026 04:01:30 GMT", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: int) -> None:
    assert retry_after_seconds(header, NOW) == seconds


def test_only_2xx_is_taken_and_the_rest_says_what_it_was() -> None:
    assert [Attempted(code).taken for code in (199, 200, 204, 299, 300, 410, 500)] == [
        False, True, True, True, False, False, False,
    ]  # fmt: skip
    assert Attempted(200).error is None
    for code, said in ((299, None), (300, ": redirects"), (302, ": redirects"), (399, ": redirects"), (400, "")):
        words = None if said is None else f"status {code}{said}{' are not followed' if said else ''}"
        assert Attempted(code).error == words
    assert Attempted(500).error == "status 500"
    assert Attempted(None, "timeout").error == "timeout"
    assert NOW + timedelta(seconds=next_wait_seconds(1, Attempted(None, "timeout"), 0) or 0) > NOW
