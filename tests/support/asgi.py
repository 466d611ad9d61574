"""POST to an ASGI application without a server and without the edge, and read the whole answer."""

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp

IP = "203.0.113.7"


async def post(
    app: ASGIApp, path: str, body: bytes, headers: Iterable[tuple[str, str]], query: str = ""
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body. The client does not disconnect."""
    said: list[Any] = []
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "scheme": "http", "root_path": "",
        "query_string": query.encode(), "client": (IP, 5), "server": ("x", 80), "state": {"request_id": "req_12345678"},
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }  # fmt: skip
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], said[0]["headers"], b"".join(part.get("body", b"") for part in said[1:])
