"""HTTP helpers around the protocols' SDKs: pass a read body on, send a complete response."""

from collections.abc import Sequence

from starlette.types import Message, Receive, Send

from tools.engine.config import MarketConfig
from tools.engine.idempotency import Response
from tools.engine.oauth import challenge

Header = tuple[bytes, bytes]
FAST_PATHS = True  # False leaves every request to the SDKs, which answer with the same JSON, only slower


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives this body first, and then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read


async def send_refusal(send: Send, answer: Response, *more: Header) -> None:
    """Send an error in the market's own form, before the SDK is involved."""
    headers: list[Header] = [*more]
    if answer.refusal is not None and answer.refusal.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % answer.refusal.retry_after_seconds))
    if answer.error is not None and "allowed" in answer.error.get("details", {}):
        headers.append((b"allow", ", ".join(answer.error["details"]["allowed"]).encode()))
    await send_json(send, answer.status, answer.body, *headers)


def challenged(
    answer: Response, config: MarketConfig, sent: Sequence[Header], path: str, *, tried: bool
) -> list[Header]:
    """Return the header with which a 401 tells OAuth clients where to log in.

    `sent` are the headers of the request.
    """
    return [(b"www-authenticate", challenge(config.urls, sent, path, tried=tried))] if answer.status == 401 else []


async def send_json(send: Send, status: int, body: bytes, *headers: Header, kind: bytes = b"application/json") -> None:
    described = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": body})
