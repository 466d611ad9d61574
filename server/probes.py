"""Monitoring pages such as /ready and /metrics: computed for each request, never cached."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.types import Scope, Send

from tools.engine.errors import MethodNotAllowed


@dataclass(frozen=True, slots=True)
class Found:
    """The response of a probe."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


Probe = Callable[[Scope], Awaitable[Found]]


class Probes:
    """The probes by path."""

    def __init__(self, probes: Mapping[str, Probe]) -> None:
        self.probes = probes

    def __contains__(self, path: str) -> bool:
        return path in self.probes

    async def __call__(self, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("this document is only read", allowed=["GET", "HEAD"])
        found = await self.probes[scope["path"]](scope)
        headers = [
            (b"content-type", found.kind.encode()),
            (b"content-length", b"%d" % len(found.body)),
            (b"cache-control", b"no-store"),
            *found.headers,
        ]
        await send({"type": "http.response.start", "status": found.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else found.body})
