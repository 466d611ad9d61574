"""Buy a service of a market with the published MCP client of x402, used as its README says.

usage: python x402_mcp.py <url of /mcp> <id of the listing> <private key of a wallet with USDC> <input as JSON>
"""

import asyncio
import json
import sys

from eth_account import Account
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from x402 import x402Client
from x402.mcp import x402MCPSession
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import ExactEvmScheme


async def main(url: str, listing: str, key: str, given: str) -> None:
    payer = x402Client()
    payer.register("eip155:84532", ExactEvmScheme(EthAccountSigner(Account.from_key(key))))
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as session:
        market = x402MCPSession(session, payer)
        await market.initialize()
        got = await market.call_tool("buy_with_x402", {"listing_id": listing, "input": json.loads(given)})
    assert not got.is_error, got.content
    assert got.payment_made
    assert got.payment_response is not None
    assert got.payment_response.success, got.payment_response
    print(f"bought with {got.payment_response.transaction}")


asyncio.run(main(*sys.argv[1:]))
