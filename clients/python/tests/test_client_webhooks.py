"""Webhooks that the served market sends are verified; changed, old and foreign ones are refused."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from client_market import eventually, serving

from emporion_client import Market, WrongSignature, verified


@contextmanager
def receiving() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """Receive posts on a free port."""
    got: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((dict(self.headers.items()), body))
            self.send_response(204)
            self.end_headers()

    with serving(Handler) as url:
        yield f"{url}/", got


def test_a_webhook_of_the_market_is_verified_and_a_changed_one_refused(buyer: Market) -> None:
    with receiving() as (url, got):
        hook = buyer.create_webhook(url=url)
        buyer.test_webhook(webhook_id=hook["id"])
        headers, body = eventually(lambda: got and got[0])
        event = verified(body, headers, hook["secret"])
        assert event["data"]["webhook_id"] == hook["id"]
        for wrong in ((body + b" ", headers, hook["secret"]), (body, headers, "whsec_" + "0" * 48), (body, {}, "x")):
            with pytest.raises(WrongSignature):
                verified(*wrong)
        with pytest.raises(WrongSignature, match="too old"):
            verified(body, headers, hook["secret"], tolerance=-1)


def signed(body: bytes, sent: str, secret: str) -> dict[str, str]:
    content = b"id." + sent.encode() + b"." + body
    made = base64.b64encode(hmac.digest(secret.encode(), content, hashlib.sha256)).decode()
    return {"Webhook-Id": "id", "Webhook-Timestamp": sent, "Webhook-Signature": f"v1a,x v1,wrong v1,{made}"}


@pytest.mark.parametrize(
    "body", [b"[]", b"not json", b"\xff", b"[" * 100_000], ids=["a list", "no JSON", "no text", "deeply nested"]
)
def test_a_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(WrongSignature):
        verified(body, signed(body, str(int(time.time())), "a secret!"), "a secret!")


def test_one_of_several_signatures_is_enough_and_a_secret_may_be_any_text() -> None:
    body = json.dumps({"id": "evt_1"}).encode()
    assert verified(body, signed(body, str(int(time.time())), "a secret!"), "a secret!") == {"id": "evt_1"}
    with pytest.raises(WrongSignature):
        verified(body, signed(body, "soon", "a secret!"), "a secret!")
    headers = signed(body, str(int(time.time())), "a secret!") | {"Webhook-Signature": "v1,\u00e9 v1 ,, v2,x"}
    with pytest.raises(WrongSignature):
        verified(body, headers, "a secret!")
