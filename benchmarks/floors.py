"""The floors: minimal servers with the same libraries, the same answers and the same uvicorn flags.

    python -m benchmarks.floors http|mcp|a2a --port 8000 --answers folder

`http`   Starlette routes that answer stored bytes; POST reads its body first
`mcp`    the SDK's low-level server with one tool, stateless, JSON answers, a stored answer
`a2a`    the a2a-sdk's request handler with an executor that answers one stored message
"""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.app import Service
from server.child_processes import end_with_parent
from server.serve import uvicorn_config
from server.settings import read_settings

ANSWERS = ("listing", "search", "events", "job")


def http_floor(answers: Path) -> Starlette:
    """Return an application with the four routes of the REST cases and their stored bytes."""
    stored = {name: (answers / f"{name}.json").read_bytes() for name in ANSWERS}

    def answering(name: str) -> Any:
        body = stored[name]

        async def answer(request: Request) -> Response:
            return Response(body, media_type="application/json")

        return answer

    async def created(request: Request) -> Response:
        await request.body()
        return Response(stored["job"], 201, media_type="application/json")

    return Starlette(
        routes=[
            Route("/v1/listings/{listing_id}", answering("listing")),
            Route("/v1/listings", answering("search")),
            Route("/v1/events", answering("events")),
            Route("/v1/jobs", created, methods=["POST"]),
        ]
    )


def mcp_floor(answers: Path) -> Starlette:
    """Return an application with one tool on the SDK's low-level server."""
    import mcp_types as t
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    body = (answers / "listing.json").read_bytes()
    properties = {"listing_id": {"type": "string"}}
    schema = {"type": "object", "required": ["listing_id"], "properties": properties}
    tool = t.Tool(name="get_listing", input_schema=schema)
    stored = t.CallToolResult(content=[t.TextContent(text=body.decode())], structured_content=orjson.loads(body))

    async def list_tools(_: Any, asked: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[tool])

    async def call_tool(_: Any, asked: t.CallToolRequestParams) -> t.CallToolResult:
        return stored

    server: Server[Any] = Server(
        "floor",
        version="1",
        get_tool_input_schema={"get_listing": schema}.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # removes OpenTelemetry, as in the subject
    manager = StreamableHTTPSessionManager(app=server, stateless=True, json_response=True)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    class Mcp:
        """An ASGI application. Starlette would call a function with a Request."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await manager.handle_request(scope, receive, send)

    return Starlette(routes=[Route("/mcp", Mcp())], lifespan=lifespan)


def a2a_floor(answers: Path) -> Starlette:
    """Return the SDK's echo: one executor, tasks in memory, one message with a data part."""
    from a2a.helpers.proto_helpers import new_data_part
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import EventQueue
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import a2a_pb2 as pb

    stored = orjson.loads((answers / "listing.json").read_bytes())

    class Echo(AgentExecutor):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            told = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
            part = new_data_part(stored, media_type="application/json")
            await event_queue.enqueue_event(told.new_agent_message([part]))

        async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
            raise AssertionError("nothing here can be cancelled")

    card = pb.AgentCard(name="echo", version="1", default_input_modes=["application/json"])
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=create_jsonrpc_routes(handler, "/a2a"))


FLOORS = {"http": http_floor, "mcp": mcp_floor, "a2a": a2a_floor}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=FLOORS)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    given = parser.parse_args()
    end_with_parent(os.getppid())
    app = FLOORS[given.kind](given.answers)
    config = uvicorn_config(cast(Service, app), read_settings(port=given.port))
    config.lifespan = "on"
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
