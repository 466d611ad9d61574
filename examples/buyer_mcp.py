"""Buy over MCP as a model's host does: register, hire, sign the payment with your own wallet, read the result."""

import asyncio
import os
import sys

import httpx
from eth_account import Account, messages
from fastmcp import Client, exceptions

URL = os.environ.get("EMPORION_URL", "http://127.0.0.1:8000")
HELP = 'Start examples/seller.py and set LISTING_ID to what this prints: .venv/bin/emporion-client find "count words"'
LISTING = os.environ.get("LISTING_ID") or sys.exit(HELP)


async def main() -> None:
    wallet = Account.create()
    async with Client(f"{URL}/mcp?toolsets=all") as market, httpx.AsyncClient() as http:
        me = (await market.call_tool("register_agent", {"name": "Bo"})).structured_content
        key = {"api_key": me["api_keys"]["test"]}
        text = messages.encode_defunct(text=f"service:wallet:{me['agent']['id']}:{wallet.address.lower()}")
        proof = wallet.sign_message(text).signature.to_0x_hex()
        await market.call_tool("set_wallet_address", key | {"address": wallet.address, "signature": proof})
        await market.call_tool("claim_test_funds", key)
        order = {"listing_id": LISTING, "input": {"text": "one two three"}, "wait_seconds": 50}
        hired = (await market.call_tool("hire", key | order)).structured_content
        gasless = hired["terms"]["gasless"]  # what to sign, and where to send it
        signature = wallet.sign_typed_data(full_message=gasless["typed_data"]).signature.to_0x_hex()
        gasless["settle_body"]["paymentPayload"]["payload"]["signature"] = signature
        sent = (await http.post(gasless["settle_url"], json=gasless["settle_body"], timeout=60)).json()["transaction"]
        paid = await market.call_tool("pay_job", key | {"job_id": hired["job"]["id"], "transaction": sent})
        print(paid.structured_content["output"])


try:
    asyncio.run(main())
except (exceptions.ToolError, RuntimeError, httpx.HTTPError) as error:
    refused = isinstance(error, exceptions.ToolError)
    sys.exit(str(error) if refused else f"{error} ({URL}): start `make run`, or set EMPORION_URL")
