"""A published client with tasks: the SDK's client, with the extension that a host adds to it."""

from typing import Any, Literal

import httpx2
import mcp_types as t
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client

from protocol.mcp.http import TASKS
from tests.support.market import Agent
from tests.support.mcp_task_client import INPUT
from tests.support.protocols import served
from tests.support.trade import Trade


class Created(t.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: int


class Polled(t.Result):
    status: str
    result: dict[str, Any] | None = None


class GetParams(t.RequestParams):
    task_id: str


class Get(t.Request[GetParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: GetParams


class Polling(ClientExtension):
    """A host's extension of the SDK's client: it polls, and the seller works between polls."""

    identifier = TASKS

    def __init__(self, trade: Trade, seller: Agent) -> None:
        self.trade, self.seller, self.heard = trade, seller, list[str]()

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self.finish)]

    async def finish(self, made: Created, context: ClaimContext) -> t.CallToolResult:
        while True:
            self.trade.market.pass_seconds(made.poll_interval_ms / 1000)
            polled = await context.session.send_request(Get(params=GetParams(task_id=made.task_id)), Polled)
            self.heard.append(polled.status)
            if polled.result is not None:
                return t.CallToolResult.model_validate(polled.result)
            job = await self.trade.market.call("accept_job", by=self.seller, job_id=made.task_id)
            await self.trade.deliver(self.seller, job)


async def test_the_sdks_client_gets_the_finished_result_of_its_call(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0)
    polling = Polling(trade, seller)
    async with (
        served(trade.market) as url,
        httpx2.AsyncClient(headers={"x-api-key": buyer.keys["test"]}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode="auto", extensions=[polling]) as client,
    ):
        result = await client.call_tool("hire", {"listing_id": listing["id"], "input": INPUT})
    assert polling.heard == ["working", "completed"]
    assert (result.is_error, (result.structured_content or {})["job"]["output"]) == (False, {"english": "good day"})
