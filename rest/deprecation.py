"""Headers of deprecated operations: Deprecation (RFC 9745), Sunset (RFC 8594), and Link."""

from calendar import timegm
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime, time
from email.utils import format_datetime
from typing import Any

from rest.headers import Headers
from tools.engine.registry import CATALOGUE, Deprecated, Operation

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
CHANGELOG = "/v1/changelog"


def notice_of(op: Operation) -> Headers:
    """Return the deprecation headers of an operation; none if it is not deprecated."""
    said = op.deprecated
    if said is None:
        return []
    headers = [(b"deprecation", b"@%d" % timegm(said.since.timetuple()))]
    if said.sunset is not None:
        headers.append((b"sunset", format_datetime(datetime.combine(said.sunset, time(), UTC), usegmt=True).encode()))
    return [*headers, (b"link", _links(said).encode())]


def with_deprecation_headers(send: Send, op: Operation) -> Send:
    """Wrap `send` so that every answer has the operation's deprecation headers."""
    headers = notice_of(op)

    async def told(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return told


def _links(deprecated: Deprecated) -> str:
    links = [f'<{CHANGELOG}>; rel="deprecation"; type="application/json"']
    if deprecated.successor is not None and "{" not in (path := CATALOGUE[deprecated.successor].path):
        links.append(f'<{path}>; rel="successor-version"')
    return ", ".join(links)
