"""Verification of webhooks, which are signed as Standard Webhooks describes."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from emporion_client.answers import parsed
from emporion_client.errors import WrongSignature


def verified(body: bytes, headers: Mapping[str, str], secret: str, tolerance: int = 300) -> dict[str, Any]:
    """Return the event of a webhook; raise WrongSignature if it is forged or too old.

    Give the body as it came, byte for byte. An event may come twice: keep each `id` that you have worked.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message, sent = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split()
        found = [one.removeprefix("v1,").encode() for one in signatures if one.startswith("v1,")]
        content = f"{message}.{sent}.".encode() + body
        age = abs(time.time() - int(sent))
    except (KeyError, ValueError, OverflowError):
        raise WrongSignature("this request has no signature of a webhook") from None
    expected = base64.b64encode(hmac.digest(_key(secret), content, hashlib.sha256)).decode()
    if not any(hmac.compare_digest(one, expected.encode()) for one in found):
        raise WrongSignature("the webhook's signature does not match")
    if age > tolerance:
        raise WrongSignature("the webhook is too old, or a clock is wrong")
    event = parsed(body)
    if not isinstance(event, dict):
        raise WrongSignature("the webhook has no event")
    return event


def _key(secret: str) -> bytes:
    rest = secret.removeprefix("whsec_")
    try:
        return base64.b64decode(rest, validate=True)
    except (binascii.Error, ValueError):
        return rest.encode()
