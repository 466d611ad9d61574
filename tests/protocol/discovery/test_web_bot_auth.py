"""The directory of Web Bot Auth: its key is named by its thumbprint and has signed the answer (RFC 9421)."""

from base64 import b64decode, urlsafe_b64decode
from hashlib import sha256

import http_sf
import httpx
import orjson
import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from protocol.discovery.web_bot_auth import DIRECTORY
from tests.support.protocols import served
from tests.support.trade import Trade


async def test_the_answer_is_signed_by_the_key_that_it_shows(trade: Trade) -> None:
    async with served(trade.market, named=True) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        answer = await http.get(DIRECTORY)
        shown = (await http.get("/.well-known/jwks.json")).json()["keys"][0]
        head = await http.head(DIRECTORY)
        written = await http.post(DIRECTORY)
    assert (answer.status_code, head.status_code, head.content, written.status_code) == (200, 200, b"", 405)
    assert answer.headers["content-type"] == "application/http-message-signatures-directory+json"
    assert answer.headers["cache-control"] == "no-store"
    (key,) = answer.json()["keys"]
    assert key == {name: shown[name] for name in ("kty", "crv", "kid", "x")}
    named = orjson.dumps({name: key[name] for name in ("crv", "kty", "x")}, option=orjson.OPT_SORT_KEYS)
    assert urlsafe_b64decode(key["kid"] + "=") == sha256(named).digest()

    read = http_sf.parse(answer.headers["signature-input"].encode(), tltype="dictionary")
    covered, parameters = read["sig1"]
    assert covered == [("@authority", {"req": True})]
    now = int(trade.market.clock.now().timestamp())
    assert parameters == {
        "created": now,
        "expires": now + 300,
        "keyid": key["kid"],
        "alg": "ed25519",
        "tag": "http-message-signatures-directory",
    }
    stated = answer.headers["signature-input"].removeprefix("sig1=")
    base = f'"@authority";req: {url.removeprefix("http://")}\n"@signature-params": {stated}'
    public = VerifyKey(urlsafe_b64decode(key["x"] + "="))
    made = b64decode(answer.headers["signature"].removeprefix("sig1=:").removesuffix(":"))
    public.verify(base.encode(), made)
    with pytest.raises(BadSignatureError):
        public.verify(base.replace("127.0.0.1", "other.example").encode(), made)


async def test_each_answer_is_signed_anew(trade: Trade) -> None:
    async with served(trade.market, named=True) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        first = await http.get(DIRECTORY)
        trade.market.pass_seconds(10)
        second = await http.get(DIRECTORY)
    assert first.content == second.content
    assert first.headers["signature"] != second.headers["signature"]
