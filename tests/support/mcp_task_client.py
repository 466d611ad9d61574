"""A client that runs tools as MCP tasks, for tests. It declares its capabilities and sends the given requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from protocol.mcp.http import TASKS
from tests.support.market import Agent
from tests.support.mcp_client import MODERN, Heard, Mcp, connected
from tests.support.trade import Trade

INPUT = {"text": "guten Tag"}
ACK = {"resultType": "complete"}


class Host:
    """An MCP client with the key of one agent, or with none.

    It declares tasks and forms unless arguments say otherwise.
    """

    def __init__(
        self, mcp: Mcp, agent: Agent | None, *, forms: bool = True, tasks: bool = True, query: str = ""
    ) -> None:
        self.mcp, self.query = mcp, query
        self.headers = [] if agent is None else [("x-api-key", agent.keys["test"])]
        can = ({"extensions": {TASKS: {}}} if tasks else {}) | ({"elicitation": {}} if forms else {})
        self.meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": can}}

    async def ask(self, method: str, headers: Any = (), **params: Any) -> Heard:
        return await self.mcp.ask(
            MODERN, method, params | self.meta, headers=[*self.headers, *headers], query=self.query
        )

    async def call(self, tool: str, **arguments: Any) -> Any:
        return (await self.ask("tools/call", name=tool, arguments=arguments)).result

    async def task(self, task_id: str) -> Any:
        return (await self.ask("tasks/get", taskId=task_id)).result

    async def update(self, task_id: str, **responses: Any) -> Heard:
        return await self.ask("tasks/update", taskId=task_id, inputResponses=responses)


@asynccontextmanager
async def host_of(trade: Trade, agent: Agent | None, **said: Any) -> AsyncIterator[Host]:
    async with connected(trade.market.market) as mcp:
        yield Host(mcp, agent, **said)


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def bare(result: Any) -> Any:
    """Return a result without the server's `_meta`."""
    return {name: value for name, value in result.items() if name != "_meta"}


async def hired(trade: Trade, host: Host, seller: Agent, **offer: Any) -> Any:
    listing = await trade.listing(seller, **offer)
    return await host.call("hire", listing_id=listing["id"], input=INPUT)
