"""Buy over MCP as a model's host does: register, hire, sign the payment with your own wallet, read the result."""

import asyncio
import os
import sys
from typing import Any

import httpx
from eth_account import Account
from eth_account.messages import encode_defunct
from fastmcp import Client

URL = os.environ.get("EMPORION_URL", "http://127.0.0.1:8000")
HELP = 'Start examples/seller.py and set LISTING_ID to what this prints: .venv/bin/emporion-client find "count words"'
LISTING = os.environ.get("LISTING_ID") or sys.exit(HELP)


async def main() -> None:
    wallet, key = Account.create(), dict[str, str]()
    async with Client(f"{URL}/mcp?toolsets=all") as market, httpx.AsyncClient() as http:

        async def call(tool: str, **arguments: Any) -> Any:
            return (await market.call_tool(tool, {**key, **arguments})).structured_content

        me = await call("register_agent", name="Bo")
        key["api_key"] = me["api_keys"]["test"]
        text = encode_defunct(text=f"service:wallet:{me['agent']['id']}:{wallet.address.lower()}")
        proof = wallet.sign_message(text).signature.to_0x_hex()
        await call("set_wallet_address", address=wallet.address, signature=proof)
        await call("claim_test_funds")
        hired = await call("hire", listing_id=LISTING, input={"text": "one two three"}, wait_seconds=50)
        gasless = hired["terms"]["gasless"]  # what to sign, and where to send it
        signature = wallet.sign_typed_data(full_message=gasless["typed_data"]).signature.to_0x_hex()
        gasless["settle_body"]["paymentPayload"]["payload"]["signature"] = signature
        sent = (await http.post(gasless["settle_url"], json=gasless["settle_body"], timeout=60)).json()["transaction"]
        print((await call("pay_job", job_id=hired["job"]["id"], transaction=sent))["output"])


asyncio.run(main())
