"""One call with its retries, and the two drivers that run the same flows blocking or with asyncio.

A flow is a generator that does no I/O: it yields a Call or a Pause and is sent the answer.
"""

import asyncio
import math
import random
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from emporion_client.answers import JsonObject, parsed
from emporion_client.deadlines import deadline
from emporion_client.errors import BY_STATUS, MarketDown, MarketError, UnexpectedAnswer

T = TypeVar("T")
TRIES = 6
RETRY_SECONDS = 180.0
LONGEST_PAUSE = 30.0
LONGEST_RETRY_AFTER = 120.0
TIMEOUT = httpx.Timeout(75, connect=10)  # the market lets a call wait for 55 seconds
CALL_SECONDS = 90.0  # for a whole call
MAX_BYTES = 8_000_000  # an answer of the market has at most a few megabytes
FAILURES = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)  # some hosts cannot be encoded


@dataclass
class Call:
    """A request."""

    method: str
    url: str
    json: Any = None
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    not_repeated: tuple[str, ...] = ()  # codes of errors that the caller waits out itself


@dataclass
class Pause:
    """A wait."""

    seconds: float


@dataclass
class Answer:
    """A response, or the reason why there is none."""

    status: int
    body: bytes = field(default=b"", repr=False)
    retry_after: str | None = None
    failed: str = ""


Flow = Generator[Call | Pause, Any, T]


def attempts(call: Call) -> Flow[JsonObject]:
    """Return the answer; raise the error as its type.

    Repeated are calls without an answer, with 5xx or 429, and those whose error says that it is retryable. After
    RETRY_SECONDS none is repeated.
    """
    reason, end = "", time.monotonic() + RETRY_SECONDS
    for tried in range(TRIES):
        answer: Answer = yield call
        after: float | None = None
        if answer.failed:
            reason = f"{answer.failed} at {call.url[:200]}"
            if answer.failed == "ConnectError":
                reason += ": nothing answers there; start it, or name another in EMPORION_URL or EMPORION_RPC_URL"
        elif 200 <= answer.status < 300:
            return _object(answer, call)
        else:
            refused = _refusal(answer, call)
            after = _seconds(answer, refused)
            last = (tried == TRIES - 1 and answer.status < 500) or refused.code in call.not_repeated
            if last or not _may_repeat(answer, refused) or (after or 0) > LONGEST_RETRY_AFTER:
                raise refused
            reason = str(refused)
        if time.monotonic() > end:
            break
        if tried < TRIES - 1:
            yield Pause(after if after is not None else backoff(tried))
    raise MarketDown(reason)


def backoff(tried: int) -> float:
    """Return the pause after a failed attempt: longer each time, and never the same."""
    return min(LONGEST_PAUSE, 0.25 * 2.0**tried) * random.uniform(0.5, 1)  # noqa: S311 - it is no secret


def _object(answer: Answer, call: Call) -> JsonObject:
    body = parsed(answer.body)
    if not isinstance(body, dict):
        raise UnexpectedAnswer(f"{call.url} answered {answer.status} without a JSON object")
    return body


def _refusal(answer: Answer, call: Call) -> MarketError:
    body = parsed(answer.body)
    if 300 <= answer.status < 400:  # the answer could name any host, and the call carries a key
        body = {"error": {"code": "redirected", "message": f"{call.url} redirects; redirects are not followed"}}
    return BY_STATUS.get(answer.status, MarketError)(answer.status, body if isinstance(body, dict) else {})


def _may_repeat(answer: Answer, refused: MarketError) -> bool:
    told = isinstance(refused.body.get("error"), dict) and "retryable" in refused.body["error"]
    return refused.retryable if told else answer.status >= 500 or answer.status == 429


def _seconds(answer: Answer, refused: MarketError) -> float | None:
    """Return how long the answer asks to wait."""
    told = refused.details.get("retry_after_seconds", answer.retry_after)
    try:
        return max(0.0, float(told)) if told is not None else None
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def _prepared(call: Call) -> dict[str, Any]:
    return {"json": call.json, "params": call.query or None, "headers": call.headers | {"Accept-Encoding": "identity"}}


def _failed(error: Exception) -> Answer:
    return Answer(0, failed=type(error).__name__)


def add(body: bytearray, piece: bytes) -> None:
    """Add a piece of an answer, which is bounded."""
    body += piece
    if len(body) > MAX_BYTES:
        raise UnexpectedAnswer(f"an answer is longer than {MAX_BYTES} bytes")


def check_encoding(response: httpx.Response) -> None:
    """Refuse a compressed answer, which was not asked for and may be a million times as long."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnexpectedAnswer("an answer is compressed, though the call did not allow it")


def ask(http: httpx.Client, call: Call) -> Answer:
    """Send a request and read the response, blocking."""
    try:
        with deadline(CALL_SECONDS):
            request = http.build_request(call.method, call.url, **_prepared(call))
            response = http.send(request, stream=True, follow_redirects=False)
            try:
                check_encoding(response)
                body = bytearray()
                for piece in response.iter_raw():
                    add(body, piece)
            finally:
                response.close()
    except FAILURES as error:
        return _failed(error)
    return Answer(response.status_code, bytes(body), response.headers.get("retry-after"))


async def ask_async(http: httpx.AsyncClient, call: Call) -> Answer:
    """Send a request and read the response with asyncio."""
    try:
        async with asyncio.timeout(CALL_SECONDS):
            request = http.build_request(call.method, call.url, **_prepared(call))
            response = await http.send(request, stream=True, follow_redirects=False)
            try:
                check_encoding(response)
                body = bytearray()
                async for piece in response.aiter_raw():
                    add(body, piece)
            finally:
                await response.aclose()
    except (*FAILURES, TimeoutError) as error:
        return _failed(error)
    return Answer(response.status_code, bytes(body), response.headers.get("retry-after"))


def drive(http: httpx.Client, flow: Flow[T]) -> T:
    """Run a flow to its end, blocking."""
    answer: Answer | None = None
    try:
        while True:
            wish = flow.send(answer)
            if isinstance(wish, Pause):
                time.sleep(wish.seconds)
                answer = None
            else:
                answer = ask(http, wish)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        flow.close()


async def drive_async(http: httpx.AsyncClient, flow: Flow[T]) -> T:
    """Run a flow to its end with asyncio."""
    answer: Answer | None = None
    try:
        while True:
            wish = flow.send(answer)
            if isinstance(wish, Pause):
                await asyncio.sleep(wish.seconds)
                answer = None
            else:
                answer = await ask_async(http, wish)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        flow.close()
