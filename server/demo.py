"""A paid trade against a running `serve --sandbox`, over A2A, MCP and REST."""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
from fastmcp import Client
from mcp_types import TextContent

from emporion_client import AsyncMarket, EmporionError, LocalWallet
from emporion_client.receipts import verified_receipt
from server.settings import drop_client_variables

PRICE_MINOR = 250_000
OFFER = {
    "title": "Count the words of a text",
    "description": "Send any text, get the number of its words and its longest word.",
    "category": "text",
    "tags": ["count", "words"],
    "pricing_model": "fixed",
    "price": PRICE_MINOR,
    "input_schema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    "output_schema": {
        "type": "object",
        "required": ["words", "longest"],
        "properties": {"words": {"type": "integer"}, "longest": {"type": "string"}},
    },
    "example_input": {"text": "the quick brown fox"},
    "example_output": {"words": 4, "longest": "quick"},
}
TEXT = "agents hire agents while people sleep"
JsonObject = dict[str, Any]


class DemoFailed(Exception):
    """Something did not answer as it must."""


@dataclass
class Peer:
    """An agent that speaks A2A: one data part out, one data part back."""

    http: httpx.AsyncClient
    key: str | None = None

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        message = {
            "messageId": uuid4().hex,
            "role": "ROLE_USER",
            "parts": [{"data": {"tool": tool, "arguments": arguments}}],
        }
        headers = {"A2A-Version": "1.0"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = (await self.http.post("/a2a", json=body, headers=headers)).json()
        if "result" not in answer:
            raise DemoFailed(f"{tool} over A2A: {answer.get('error')}")
        return checked(tool, answer["result"]["message"]["parts"][0]["data"])


@dataclass
class Caller:
    """An agent on one MCP connection. It sends its key as an argument and never reconnects."""

    client: Client[Any]
    key: str | None = None

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        given = arguments | ({"api_key": self.key} if self.key else {})
        answer = await self.client.call_tool_mcp(tool, given)
        if answer.structured_content is not None:  # the record itself; in the text others' words are fenced
            return checked(tool, answer.structured_content)
        text = next(part.text for part in answer.content if isinstance(part, TextContent))
        return checked(tool, json.loads(text))


async def run_demo(url: str) -> JsonObject | None:
    """Trade once; return the receipt, verified offline, or None after an error message."""
    began = time.monotonic()
    drop_client_variables()
    try:
        async with (
            httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http,
            Client(f"{url}/mcp?toolsets=all") as connection,  # the SDK warns of each tool that is not listed
        ):
            signed = await trade(url, Peer(http), Caller(connection))
    except (DemoFailed, EmporionError, RuntimeError, httpx.HTTPError) as error:
        print(f"\nThe demo stopped: {error}\nIs a market served at {url}? Start one with: make run")
        return None
    print(f"\nDone in {time.monotonic() - began:.1f} s.")
    return signed


async def trade(url: str, seller: Peer, buyer: Caller) -> JsonObject:
    """Trade once; return the receipt as get_receipt answered it."""
    async with AsyncMarket(url) as witness:
        await witness.get_payments_info(env="test")
        say("witness", "REST", "read how payment works", "GET /v1/payments?env=test")
        listing = await offer(seller)
        receipt = await purchase(buyer, listing["id"], lambda: work(seller))
        stats = (await witness.get_listing(listing_id=listing["id"], env="test"))["stats"]
        say("witness", "REST", "reads the listing", f"{stats['jobs_completed']} job done, rating {stats['rating_avg']}")
        proven = verified_receipt(receipt, await witness.get_platform_keys())
    transaction = proven["settlements"][0]["transaction"]
    say("witness", "offline", "verified the receipt", f"signature holds, paid by {transaction}")
    await seller.call("archive_listing", listing_id=listing["id"])
    say("seller", "A2A", "archived the service", "its process ends with the demo")
    return receipt


async def offer(seller: Peer) -> JsonObject:
    made = await seller.call("register_agent", name="Demo word counter")
    seller.key = made["api_keys"]["test"]
    say("seller", "A2A", "registered", f"{made['agent']['handle']} {made['agent']['id']}")
    wallet = LocalWallet.create()
    await bind(seller, wallet)
    say("seller", "A2A", "bound a wallet", wallet.address)
    listing = await seller.call("create_listing", **OFFER)
    say("seller", "A2A", "offers a service", f"{listing['id']} for {listing['pricing']['display']}")
    return listing


async def purchase(buyer: Caller, listing_id: str, work: Callable[[], Awaitable[None]]) -> JsonObject:
    """Find, join, order, pay and review; return the receipt."""
    found = await buyer.call("search_listings", env="test", q="count words", sort="newest")
    if not any(one["id"] == listing_id for one in found["data"]):
        raise DemoFailed("the new listing was not found")
    say("buyer", "MCP", "found it", f"{len(found['data'])} result(s)")
    wallet = await join(buyer)
    job = await buyer.call("create_job", listing_id=listing_id, input={"text": TEXT})
    say("buyer", "MCP", "ordered", f"{job['id']} is {job['status']}")
    await work()
    terms = await buyer.call("pay_job", job_id=job["id"])
    say("buyer", "MCP", "read the terms", f"{terms['display']} to {terms['pay_to']}")
    sent = await settle(terms["gasless"], wallet)
    say("buyer", "chain", "sent the USDC", sent)
    paid = await buyer.call("pay_job", job_id=job["id"], transaction=sent)
    say("buyer", "MCP", "proved the payment, the work is revealed", json.dumps(paid["output"]))
    done = await buyer.call("accept_job", job_id=job["id"])
    await buyer.call("review_job", job_id=job["id"], rating=5, comment="Exact and quick.")
    say("buyer", "MCP", "accepted and reviewed", f"{job['id']} is {done['status']}")
    return await buyer.call("get_receipt", job_id=job["id"])


async def join(buyer: Caller) -> LocalWallet:
    made = await buyer.call("register_agent", name="Demo buyer")
    buyer.key = made["api_keys"]["test"]
    say("buyer", "MCP", "registered", f"{made['agent']['handle']}; the key works in the very next call")
    wallet = LocalWallet.create()
    await bind(buyer, wallet)
    await buyer.call("claim_test_funds")
    say("buyer", "chain", "bound a wallet and took test money", wallet.address)
    return wallet


async def work(seller: Peer) -> None:
    events = await seller.call("list_events", types=["job.created"])
    job_id = events["data"][-1]["data"]["job_id"]
    job = await seller.call("accept_job", job_id=job_id)
    words = str(job["input"]["text"]).split()
    output = {"words": len(words), "longest": max(words, key=len)}
    delivered = await seller.call("deliver_job", job_id=job_id, output=output, message="Counted.")
    say("seller", "A2A", "accepted, worked, delivered sealed", str(delivered["output_commitment"]))


async def bind(agent: Peer | Caller, wallet: LocalWallet) -> None:
    """Bind a wallet to the agent: it signs the line that the market names."""
    line = (await agent.call("get_me", address=wallet.address))["wallet_binding"]
    await agent.call("set_wallet_address", address=wallet.address, signature=wallet.sign_text(line))


async def settle(gasless: JsonObject, wallet: LocalWallet) -> str:
    """Sign the authorization of the terms and let the facilitator send it; return the hash."""
    body = gasless["settle_body"]
    body["paymentPayload"]["payload"]["signature"] = wallet.sign_typed(gasless["typed_data"])
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        answer = (await http.post(gasless["settle_url"], json=body)).json()
    if not answer.get("success"):
        raise DemoFailed(f"the facilitator: {answer}")
    return str(answer["transaction"])


def checked(tool: str, record: JsonObject) -> JsonObject:
    if "error" in record:
        raise DemoFailed(f"{tool}: {record['error']['message']} ({record['error'].get('hint')})")
    return record


def say(who: str, over: str, what: str, detail: str) -> None:
    print(f"{who:8} {over:8} {what:42} {detail}")
