"""The fast path in front of the MCP SDK gives the SDK's answers, and answers all requests that it is made for."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from protocol.mcp.request import McpRequest
from protocol.mcp.server import McpSurface
from tests.support.asgi import IP, post
from tests.support.echo_operations import SAID, echoing
from tests.support.fixed_market import HOST, FixedTexts, approach_of, house
from tests.support.mcp_client import MODERN
from tests.support.mcp_requests import FRONTED, LOCAL, VERSIONS, Posted, call, everything, posted
from tools.engine.config import Limits
from tools.engine.dispatch import Market
from tools.engine.rate_limits import ALLOWANCES, Rate


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


class Wire:
    """A surface without the edge. It notes whether the SDK made the last answer."""

    def __init__(self, surface: McpSurface) -> None:
        self.surface, self.asked = surface, False
        for manager in (surface.plain, surface.streaming):
            manager.handle_request = self._noted(manager.handle_request)  # type: ignore[method-assign]

    async def post(self, one: Posted) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        self.asked = False
        return await post(self.surface, one.path, one.body, one.headers, one.query)

    def _noted(self, handle: Any) -> Any:
        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            self.asked = True
            await handle(scope, receive, send)

        return noted


@asynccontextmanager
async def wired(market: Market, monkeypatch: pytest.MonkeyPatch, *, fronted: bool) -> AsyncIterator[Wire]:
    surface = McpSurface(market, approach_of, FixedTexts(), (HOST, LOCAL))

    async def passed_on(arrived: McpRequest, send: Send) -> Send:
        return send

    if not fronted:
        monkeypatch.setattr(surface.front, "serve", passed_on)
    async with surface.running():
        yield Wire(surface)


def told(answer: tuple[int, list[tuple[bytes, bytes]], bytes]) -> Any:
    """Normalise an answer as a reader would.

    The order of members and escapes in JSON do not matter, but 1 differs from 1.0.
    """
    status, headers, body = answer
    kept = sorted((name.lower(), value) for name, value in headers if name.lower() != b"content-length")
    if (b"content-type", b"application/json") in kept and body:
        return status, kept, json.dumps(json.loads(body), sort_keys=True)
    return status, kept, body


async def lived(market: Market, monkeypatch: pytest.MonkeyPatch, *, fronted: bool) -> tuple[list[Any], list[Any], int]:
    """Send all requests; return the answers, the missed requests, and a count.

    Missed are good requests that reached the SDK. The count is of the answers without the SDK.
    """
    SAID.clear()
    answers: list[Any] = []
    missed: list[Any] = []
    spared = 0
    async with wired(market, monkeypatch, fronted=fronted) as wire:
        _, _, body = await wire.post(call(MODERN, "register_agent", {"name": "Ada"}))
        key = json.loads(body)["result"]["structuredContent"]["api_keys"]["test"]
        for version in VERSIONS:
            for one in everything(version, key):
                twice = [told(await wire.post(one)), told(await wire.post(one))]
                answers.append((one, twice))
                spared += one.good and not wire.asked
                missed += [(one.version, one.name)] if one.good and wire.asked else []
    return answers, missed, spared


async def test_the_front_and_the_sdk_say_the_same_and_the_front_says_most_of_it(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch
) -> None:
    fronted, missed, spared = await lived(markets("fronted"), monkeypatch, fronted=True)
    plain, _, none = await lived(markets("plain"), monkeypatch, fronted=False)
    different = [(a[0].version, a[0].name, a[1], b[1]) for a, b in zip(fronted, plain, strict=True) if a != b]
    assert different == []
    assert missed == []
    assert none == 0
    assert (len(fronted) > 1000, spared > 400) == (True, True)


@pytest.mark.parametrize("version", FRONTED)
async def test_what_is_answered_in_front_is_counted_as_what_the_sdk_answers(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    asked = [posted(version, "tools/list", {}), call(version, "show_tree"), call(version, "get_me")]
    heard = []
    for fronted in (True, False):
        market = markets(str(fronted))
        market.config = house(Limits())
        for rate in (Rate.PROTOCOL_REQUESTS, Rate.READS, Rate.ANONYMOUS_FAILURES):
            for _ in range(ALLOWANCES[rate].calls - 2):
                market.windows.count(rate, ALLOWANCES[rate], IP, 0.0)
        async with wired(market, monkeypatch, fronted=fronted) as wire:
            heard.append([told(await wire.post(one)) for one in asked for _ in range(4)])
    assert heard[0] == heard[1]
    assert [answer[0] for answer in heard[0]] == [200, 200, 429, 429, *[200] * 8]
    assert ["rate_limited" in answer[2] for answer in heard[0][4:]] == [False, False, True, True] * 2


async def test_few_lists_are_kept_whatever_is_asked(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with wired(markets("one"), monkeypatch, fronted=True) as wire:
        for _ in range(2):
            for query in ("", "toolsets=jobs", "toolsets=jobs,bounties", "toolsets=bounties,jobs", "x=1", "x=2"):
                await wire.post(posted(MODERN, "tools/list", {}, query=query))
                await wire.post(posted(MODERN, "prompts/list", {}, query=query))
        kept = sorted((method, *view.toolsets) for method, _, view, _ in wire.surface.front.lists)
    assert kept == [("prompts/list", "core"), ("tools/list", "core"), ("tools/list", "jobs")]
