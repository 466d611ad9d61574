"""Purchases as HTTP clients see them: the whole body is the input; payments and terms are in headers."""

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest

from tests.requirements import covers
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Shop, opened_shop


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


@asynccontextmanager
async def wire(shop: Shop) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        served(shop.trade.market) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http,
    ):
        yield http


def decoded(text: str) -> Any:
    return orjson.loads(b64decode(text, validate=True))


@covers("x402.required_header", "x402.signature_header", "x402.x_payment")
@pytest.mark.parametrize("name", ["PAYMENT-SIGNATURE", "X-PAYMENT", "payment-signature"])
async def test_terms_come_in_a_header_and_go_back_signed_in_a_header(shop: Shop, name: str) -> None:
    path = f"/v1/x402/{shop.listing['id']}"
    async with wire(shop) as http, shop.open():
        asked = await http.post(path, json=INPUT)
        assert (asked.status_code, asked.headers["cache-control"]) == (402, "no-store")
        assert decoded(asked.headers["payment-required"]) == asked.json()["required"]
        assert isinstance(asked.json()["error"], str), "clients of version 1 read it"
        paid = await http.post(path, json=INPUT, headers={name: shop.sign(asked.json())})
    assert (paid.status_code, paid.json()["output"]) == (200, WORK)
    settled = decoded(paid.headers["payment-response"])
    assert settled == {
        "success": True,
        "transaction": paid.json()["paid"]["transaction"],
        "network": "eip155:84532",
        "payer": shop.wallet.address,
        "amount": str(PRICE),
    }
    assert decoded(paid.headers["x-payment-response"]) == settled | {"network": "base-sepolia"}


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/json; v=1"])
async def test_a23_a_body_is_json_whatever_its_content_type(shop: Shop, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    async with wire(shop) as http:
        path = f"/v1/x402/{shop.listing['id']}"
        answer = await http.post(path, content=orjson.dumps({"text": 5}), headers=headers)
        assert answer.json()["error"]["code"] == "input_schema_mismatch", "it was read"
        assert (await http.post(path, content=b"", headers=headers)).status_code == 402
        assert (await http.post(f"{path}/", content=orjson.dumps(INPUT), headers=headers)).status_code == 402


@pytest.mark.parametrize(
    ("query", "body", "param"),
    [
        ("units=2.5", b"{}", "units"),
        ("units=0", b"{}", "units"),
        ("unit=1", b"{}", "unit"),
        ("input=1", b"{}", "input"),
        ("dry_run=true", b"{}", "dry_run"),
        ("listing_id=lst_1", b"{}", "listing_id"),
        ("env=moon", b"{}", "env"),
        ("", b"[1]", "body"),
        ("", b"{", None),
    ],
)
async def test_what_cannot_be_read_is_refused_by_name(shop: Shop, query: str, body: bytes, param: str | None) -> None:
    async with wire(shop) as http:
        answer = await http.post(f"/v1/x402/{shop.listing['id']}?{query}", content=body)
    assert (answer.status_code, answer.json()["error"].get("param")) == (400, param)


async def test_the_index_stands_where_clients_look_for_it(shop: Shop) -> None:
    async with wire(shop) as http:
        one, other = [
            (await http.get(path, params={"env": "test"})).json() for path in ("/v1/x402", "/.well-known/x402")
        ]
        assert (await http.get(f"/v1/x402/{shop.listing['id']}")).status_code == 405
    assert (one["services"], one["resources"]) == (other["services"], other["resources"])
    assert [service["listing_id"] for service in one["services"]] == [shop.listing["id"]]


async def test_pages_of_other_sites_may_buy(shop: Shop) -> None:
    asked = {
        "origin": "http://localhost:3000",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,payment-signature,x-payment,access-control-expose-headers",
    }
    async with wire(shop) as http:
        allowed = (await http.options(f"/v1/x402/{shop.listing['id']}", headers=asked)).headers
        shown = (
            await http.post(f"/v1/x402/{shop.listing['id']}", json=INPUT, headers={"origin": asked["origin"]})
        ).headers
    assert allowed["access-control-allow-headers"] == asked["access-control-request-headers"]
    assert shown["access-control-allow-origin"] == "*"
    exposed = {name.strip().lower() for name in shown["access-control-expose-headers"].split(",")}
    assert {"payment-required", "payment-response", "x-payment-response"} <= exposed
