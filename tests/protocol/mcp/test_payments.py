"""Purchases over MCP by the x402 transport: terms as a result, the payment and its receipt in `_meta`."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest

from protocol.mcp import server as mcp_server
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Shop, opened_shop
from tools.chain.x402_payments import Fault

PAYMENT, RECEIPT, URL = "x402/payment", "x402/payment-response", "mcp://tool/buy_with_x402"
VERSIONS = ("2025-06-18", "2026-07-28")
INFO = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "buyer", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


class Buyer:
    """A client of MCP that calls tools with raw requests."""

    def __init__(self, shop: Shop, http: httpx.AsyncClient, version: str) -> None:
        self.shop, self.http, self.version = shop, http, version

    async def call(self, tool: str, arguments: Any, meta: Any = None) -> Any:
        modern = self.version == "2026-07-28"
        known = {**(INFO if modern else {}), **(meta or {})}
        params = {"name": tool, "arguments": arguments, **({"_meta": known} if known else {})}
        headers = {"mcp-protocol-version": self.version, "accept": "application/json, text/event-stream"}
        headers |= {"mcp-method": "tools/call", "mcp-name": tool} if modern else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.http.post("/mcp", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        if "event-stream" in answer.headers["content-type"]:
            lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
            return orjson.loads(lines[-1].removeprefix("data: "))["result"]
        return answer.json()["result"]

    async def buy(self, payment: Any = None, given: Any = None, **beside: Any) -> Any:
        arguments = {"listing_id": self.shop.listing["id"], "input": INPUT if given is None else given, **beside}
        return await self.call("buy_with_x402", arguments, None if payment is None else {PAYMENT: payment})

    async def payload(self, **changed: Any) -> Any:
        return self.shop.payload({"required": terms_in(await self.buy())}, **changed)


def terms_in(result: Any) -> Any:
    """Check that a result asks for payment as the transport says, and return its terms."""
    assert result["isError"] is True
    terms = result["structuredContent"]
    assert [one["type"] for one in result["content"]] == ["text"]
    assert orjson.loads(result["content"][0]["text"]) == terms, "bare JSON, without marks"
    assert terms["x402Version"] == 2
    assert terms["resource"]["url"].startswith(f"{URL}?listing_id=lst_")
    assert RECEIPT not in result.get("_meta", {})
    return terms


@asynccontextmanager
async def buyer(shop: Shop, version: str = VERSIONS[1]) -> AsyncIterator[Buyer]:
    async with (
        served(shop.trade.market) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http,
    ):
        yield Buyer(shop, http, version)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_call_is_bought_with_one_payment_in_its_meta(
    shop: Shop, version: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "FAST_PATHS", fast)
    async with buyer(shop, version) as client, shop.open():
        terms = terms_in(await client.buy())
        assert terms["error"] == "Payment required"
        (accepted,) = terms["accepts"]
        assert (accepted["scheme"], accepted["amount"], accepted["payTo"]) == (
            "exact",
            str(PRICE),
            shop.seller.wallet.address,
        )
        payment = shop.payload({"required": terms})
        bought = await client.buy(payment)
        again = await client.buy(payment)
        over_http = await client.http.post(
            f"/v1/x402/{shop.listing['id']}", json=INPUT, headers={"payment-signature": shop.sign({"required": terms})}
        )
    record = bought["structuredContent"]
    assert (bought["isError"], record["output"], record["object"]) == (False, WORK, "x402_result")
    assert bought["_meta"][RECEIPT] == {
        "success": True,
        "transaction": record["paid"]["transaction"],
        "network": "eip155:84532",
        "payer": shop.wallet.address,
        "amount": str(PRICE),
    }
    assert again["structuredContent"] == record
    assert terms["resource"]["url"] == f"{URL}?listing_id={shop.listing['id']}"
    assert over_http.status_code == 402, "a payment signed for the tool is not one for the url"
    assert (shop.income, len(shop.relay.sent), len(await shop.orders())) == (PRICE, 1, 1)


async def test_a_payment_used_over_http_gets_the_same_job_over_mcp_and_through_call_tool(shop: Shop) -> None:
    header, bought = await shop.bought()
    payment = orjson.loads(b64decode(header))
    async with buyer(shop) as client:
        direct = await client.buy(payment)
        arguments = {"listing_id": shop.listing["id"], "input": INPUT}
        inside = await client.call("call_tool", {"name": "buy_with_x402", "arguments": arguments}, {PAYMENT: payment})
    assert direct["structuredContent"] == inside["structuredContent"] == bought
    assert direct["_meta"][RECEIPT] == inside["_meta"][RECEIPT]
    assert (len(shop.relay.sent), len(await shop.orders())) == (1, 1)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"value": PRICE - 1}, Fault.VALUE),
        ({"to": "0x" + "11" * 20}, Fault.RECIPIENT),
        ({"validBefore": 1_700_000_000}, Fault.EXPIRED),
        ({"validAfter": 4_000_000_000}, Fault.EARLY),
        ({"from": "0x" + "22" * 20}, Fault.SIGNATURE),
    ],
)
async def test_a_payment_that_does_not_fit_gets_the_terms_with_its_reason(
    shop: Shop, changed: dict[str, Any], fault: Fault
) -> None:
    async with buyer(shop) as client, shop.open():
        assert terms_in(await client.buy(await client.payload(**changed)))["error"] == fault
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


@pytest.mark.parametrize(
    "hostile",
    [
        "a text", "", 0, True, [], [1], {}, {"x402Version": 2}, {"x402Version": True, "accepted": {}, "payload": {}},
        {"x402Version": 2, "accepted": [], "payload": []}, {"x402Version": 2, "accepted": {"scheme": "exact"}, "payload": 5},
        {"payload": {"payload": {"payload": [{}] * 50}}}, {"x": "y" * 100_000}, {"x402Version": 2, "resource": 5},
    ],
)  # fmt: skip
async def test_what_is_no_payment_gets_the_terms_and_nothing_is_done(shop: Shop, hostile: Any) -> None:
    async with buyer(shop) as client, shop.open():
        assert terms_in(await client.buy(hostile))["error"].startswith("invalid_payload: the payment ")
        assert terms_in(await client.buy({**(await client.payload()), "resource": {"url": "https://evil.example/"}}))
        assert terms_in(await client.call("buy_with_x402", {"listing_id": shop.listing["id"]}, {PAYMENT: None}))
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


async def test_a_failed_settlement_gets_the_terms_and_no_output_and_the_same_payment_still_buys(shop: Shop) -> None:
    shop.relay.told += ["refuses"]
    async with buyer(shop) as client, shop.open():
        payment = await client.payload()
        failed = await client.buy(payment)
        assert terms_in(failed)["error"].startswith("x402_insufficient_funds: ")
        assert failed["_meta"]["service/error"]["code"] == "x402_insufficient_funds"
        assert WORK["english"] not in orjson.dumps(failed).decode()
        other = await client.buy(payment, {"text": "etwas anderes"})
        assert terms_in(other)["error"].startswith("x402_authorization_used: ")
        bought = await client.buy(payment)
    assert bought["structuredContent"]["output"] == WORK
    assert (shop.income, len(await shop.orders())) == (PRICE, 1)


async def test_other_errors_are_those_of_a_tool(shop: Shop, trade: Trade) -> None:
    third = await trade.agent("Third")
    theirs = await trade.listing(third)
    async with buyer(shop) as client, shop.open("decline_job", reason="too busy"):
        declined = await client.buy(await client.payload())
        stranger = await client.call("buy_with_x402", {"listing_id": theirs["id"], "input": INPUT})
        dry = await client.buy(dry_run=True)
        unfit = await client.buy(await client.payload(), {"text": 5})
    codes = [orjson.loads(one["content"][0]["text"])["error"]["code"] for one in (stranger, dry, unfit)]
    assert codes == ["x402_first_party_only", "invalid_request", "input_schema_mismatch"]
    assert "x402_not_delivered" in declined["content"][0]["text"]
    assert all(one["isError"] and "structuredContent" not in one for one in (declined, stranger, dry, unfit))
    assert shop.income == 0


async def test_nothing_is_submitted_once_the_client_has_gone(shop: Shop) -> None:
    async with buyer(shop) as client:
        buying = asyncio.create_task(client.buy(await client.payload()))
        await shop.deliver_without_client(buying)
    assert shop.relay.bodies == []


async def test_the_tool_is_listed_with_its_toolset_without_an_output_schema(shop: Shop) -> None:
    async with buyer(shop) as client:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {"mcp-protocol-version": "2025-06-18", "accept": "application/json, text/event-stream"}
        found = (await client.http.post("/mcp/x/market", json=asked, headers=headers)).json()["result"]["tools"]
    (tool,) = [one for one in found if one["name"] == "buy_with_x402"]
    assert "outputSchema" not in tool
    assert set(tool["inputSchema"]["properties"]) == {"listing_id", "input", "units", "env"}
