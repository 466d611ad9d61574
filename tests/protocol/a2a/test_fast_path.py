"""The fast path in front of the a2a-sdk gives the SDK's answers, and answers all requests that it is made for."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from protocol.a2a.server import A2aSurface
from tests.support.a2a_requests import FORMS, HTTP_03, HTTP_1, RPC_03, RPC_1, RPC_FORMS, VERSION, message_of, request
from tests.support.asgi import IP, post
from tests.support.echo_operations import SAID, echoing
from tests.support.fixed_market import approach_of, house
from tools.engine.config import Limits
from tools.engine.dispatch import Market
from tools.engine.rate_limits import ALLOWANCES, Rate

FRONTED = (RPC_1, RPC_03, HTTP_1)
JSON_KIND = {"content-type": "application/json"}


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


@dataclass
class Sent:
    """A request. If `good`, the fast path must answer it."""

    name: str
    form: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    path: str = "/a2a"
    good: bool = False


def called(form: str, tool: Any, arguments: Any = None, /, **more: Any) -> Sent:
    """Return one call of a tool as a client of that form writes it."""
    part = {"tool": tool} | ({} if arguments is None else {"arguments": arguments})
    path, body = request(form, message_of(form, [part], **more))
    version = VERSION if form in (RPC_1, HTTP_1) else {}
    return Sent(
        f"{tool} {arguments} {more}", form, json.dumps(body).encode(), JSON_KIND | version, path, form in FRONTED
    )


def changed(one: Sent, name: str, change: Callable[[Any, Any, Any], Any], *, good: bool = False) -> Sent:
    """Return the request with its body, params or message changed."""
    body = json.loads(one.body)
    params = body["params"] if one.form in RPC_FORMS else body
    body = change(body, params, params["message"]) or body
    return Sent(f"{name}: {one.name}", one.form, json.dumps(body).encode(), one.headers, one.path, good)


def put(holder: str, name: str, value: Any) -> Callable[[Any, Any, Any], Any]:
    def change(body: Any, params: Any, message: Any) -> None:
        {"body": body, "params": params, "message": message}[holder][name] = value

    return change


def lacking(holder: str, name: str) -> Callable[[Any, Any, Any], Any]:
    def change(body: Any, params: Any, message: Any) -> None:
        {"body": body, "params": params, "message": message}[holder].pop(name, None)

    return change


def calls(form: str, key: str) -> Iterator[Sent]:
    """Yield requests that the fast path answers, except in HTTP+JSON 0.3."""
    yield called(form, "register_agent", {"name": "Bo"})
    yield called(form, "get_me", metadata={"api_key": key})
    yield called(form, "get_me", {}, metadata={"api_key": "as_test_" + "0" * 40})
    yield called(form, "get_me", {}, contextId="a context")
    yield called(form, "search_listings", {"env": "test", "limit": 101, "colour": "red"})
    yield called(form, "search_listings", {"env": "test", "limit": 3})
    yield called(form, "list_events", {}, metadata={"api_key": key, "detail": "brief"})
    yield called(
        form,
        "put_memory",
        {"key": "a", "value": {"n": [1, 1.5, -0.0, 2**53 - 1, "ä\u2028\u0085", None, True]}},
        metadata={"api_key": key},
    )
    yield called(form, "put_memory", {"key": "b", "value": 1}, metadata={"api_key": key, "idempotency_key": "one call"})
    yield called(form, "put_memory", {"key": "c", "value": 1}, metadata={"api_key": key, "dry_run": True})
    yield called(form, "get_memory", {"key": "none"}, metadata={"api_key": key})
    for tree in ([], {}, [{}], "x", 0, {"a": {"b": [1, 2, {"c": None}]}}):
        yield called(form, "say_json", {"value": tree})
    for arguments in ({"value": "a" * 3000}, {"value": 1, "more": 2}, {"value": {"held": "0"}}):
        yield called(form, "say_json", arguments)


def oddities(form: str, key: str) -> Iterator[Sent]:
    """Yield requests that are refused or that the SDK may have to answer."""
    yield from (*odd_calls(form), *odd_members(form), *odd_parts(form), *odd_requests(form, key))
    if form in RPC_FORMS:
        yield from odd_envelopes(form)


def odd_calls(form: str) -> Iterator[Sent]:
    for tool in ("no_such_tool", "", 1, None, ["get_me"], {"a": 1}):
        yield replace(called(form, tool, {}), good=False)
    for arguments in ([], "x", 1, True, {"a": float("1e300")}):
        yield replace(called(form, "get_health", arguments), good=False)


def odd_members(form: str) -> Iterator[Sent]:
    plain = called(form, "get_health")
    for name, value in (
        ("messageId", ""),
        ("messageId", 1),
        ("messageId", None),
        ("role", "agent"),
        ("role", 2),
        ("role", "ROLE_AGENT"),
        ("taskId", "job_1"),
        ("taskId", ""),
        ("contextId", ""),
        ("contextId", 1),
        ("contextId", "c" * 2000),
        ("metadata", {"more": 1}),
        ("metadata", {}),
        ("metadata", None),
        ("metadata", []),
        ("extensions", ["a"]),
        ("referenceTaskIds", ["a"]),
        ("colour", "red"),
        ("kind", "task"),
        ("parts", []),
        ("parts", None),
    ):
        yield changed(plain, f"message.{name} {value!r:.20}", put("message", name, value))
    for name in ("messageId", "role", "parts", "kind", "content"):
        yield changed(plain, f"message without {name}", lacking("message", name))
    for name, value in (
        ("configuration", None),
        ("configuration", []),
        ("configuration", {"colour": 1}),
        ("metadata", {"a": 1}),
        ("configuration", {"historyLength": -1}),
        ("configuration", {"historyLength": 3}),
        ("tenant", "x"),
        ("colour", 1),
        ("configuration", {"acceptedOutputModes": "text"}),
        ("configuration", {"blocking": 1}),
        ("configuration", {"returnImmediately": "yes"}),
        ("metadata", None),
        ("metadata", []),
    ):
        yield changed(plain, f"params.{name} {value!r}", put("params", name, value))


def odd_parts(form: str) -> Iterator[Sent]:
    plain = called(form, "get_health")
    for part in (
        {"text": "x"},
        {"data": {"tool": "get_health"}, "metadata": {"a": 1}},
        {"data": {"tool": "get_health"}, "mediaType": "image/png"},
        {"kind": "data", "data": {"tool": "get_health"}, "metadata": {}},
        {"data": [1]},
        {"data": None},
        {"kind": "text", "text": "x"},
        7,
        {"data": {"tool": "get_health", "more": 1}},
        {"data": {"more": 1}},
        {"data": {"tool": "get_health"}, "filename": "a"},
    ):
        yield changed(plain, f"part {part}", put("message", "content" if form == HTTP_03 else "parts", [part]))
        two = json.loads(plain.body)
        mine = (two["params"] if form in RPC_FORMS else two)["message"]["content" if form == HTTP_03 else "parts"]
        yield changed(
            plain, f"and part {part}", put("message", "content" if form == HTTP_03 else "parts", [*mine, part])
        )


def odd_requests(form: str, key: str) -> Iterator[Sent]:
    plain = called(form, "get_health")
    for headers in (
        {"a2a-version": "1.0"},
        {"a2a-version": "0.3"},
        {"a2a-version": "2.0"},
        {"a2a-version": ""},
        {"a2a-version": "1.0.1"},
        {"a2a-version": " 1.0"},
        {"a2a-extensions": "https://x.example/e"},
        {"content-type": "text/plain"},
        {"x-api-key": key},
        {"authorization": f"Bearer {key}"},
        {"idempotency-key": "another call"},
        {"x-api-key": "as_test_x"},
    ):
        yield Sent(f"headers {headers}", form, plain.body, plain.headers | headers, plain.path)
    for raw in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"7",
        plain.body + b"x",
        plain.body.replace(b'"ROLE', b'"role":1,"ROLE'),
    ):
        yield Sent(f"body {raw[:20]!r}", form, raw, plain.headers, plain.path)


def odd_envelopes(form: str) -> Iterator[Sent]:
    plain = called(form, "get_health")
    for name, value in (
        ("jsonrpc", "1.0"),
        ("jsonrpc", 2),
        ("id", None),
        ("id", True),
        ("id", 1.5),
        ("id", "text"),
        ("id", 2**53),
        ("id", ""),
        ("id", [1]),
        ("id", -3),
        ("method", "SendMessag"),
        ("method", "message/send"),
        ("method", "SendMessage"),
        ("method", 1),
        ("params", []),
        ("params", None),
        ("more", 1),
    ):
        yield changed(plain, f"{name} {value!r}", put("body", name, value))
    for name in ("jsonrpc", "id", "method", "params"):
        yield changed(plain, f"without {name}", lacking("body", name))


def settled(form: str) -> Iterator[Sent]:
    """Yield calls with the members that published clients add."""
    modes = {"acceptedOutputModes": ["application/json", "text/plain"]}
    switch = "blocking" if form == RPC_03 else "returnImmediately"
    for value in ({}, modes, {switch: True}, modes | {switch: False}):
        yield changed(
            called(form, "get_health"),
            f"configuration {value}",
            put("params", "configuration", value),
            good=form in FRONTED,
        )


class Wire:
    """A surface without the edge. It notes whether the SDK made the last answer."""

    def __init__(self, market: Market, monkeypatch: pytest.MonkeyPatch, *, fronted: bool) -> None:
        self.surface, self.asked, handled = A2aSurface(market, approach_of), False, A2aSurface._handled

        async def noted(surface: A2aSurface, *given: Any) -> None:
            self.asked = True
            await handled(surface, *given)

        async def none(*given: Any) -> bool:
            return False

        monkeypatch.setattr(A2aSurface, "_handled", noted)
        if not fronted:
            monkeypatch.setattr(self.surface.front, "serve", none)

    async def post(self, one: Sent) -> Any:
        self.asked = False
        status, headers, body = await post(self.surface, one.path, one.body, one.headers.items())
        kept = sorted((name.lower(), value) for name, value in headers if name.lower() != b"content-length")
        return status, kept, json.dumps(json.loads(body), sort_keys=True) if body else body


async def lived(market: Market, monkeypatch: pytest.MonkeyPatch, *, fronted: bool) -> tuple[list[Any], list[str], int]:
    """Send all requests; return the answers, the missed requests, and a count.

    Missed are good requests that reached the SDK. The count is of the answers without the SDK.
    """
    SAID.clear()
    wire, answers, missed, spared = Wire(market, monkeypatch, fronted=fronted), list[Any](), list[str](), 0
    made = json.loads((await wire.post(called(RPC_1, "register_agent", {"name": "Ada"})))[2])
    key = made["result"]["message"]["parts"][0]["data"]["api_keys"]["test"]
    for form in FORMS:
        for one in (*calls(form, key), *settled(form), *oddities(form, key)):
            answers.append((one, [await wire.post(one), await wire.post(one)]))
            spared += not wire.asked and one.good
            missed += [f"{form}: {one.name}"] if one.good and wire.asked else []
    return answers, missed, spared


async def test_the_front_and_the_sdk_say_the_same(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fronted, missed, spared = await lived(markets("fronted"), patch, fronted=True)
    with monkeypatch.context() as patch:
        plain, _, none = await lived(markets("plain"), patch, fronted=False)
    different = [(a[0].form, a[0].name, a[1], b[1]) for a, b in zip(fronted, plain, strict=True) if a != b]
    assert different == []
    assert (missed, none) == ([], 0)
    assert (len(fronted) > 400, spared > 60) == (True, True)


@pytest.mark.parametrize("form", FRONTED)
async def test_what_is_answered_in_front_is_counted_as_what_the_sdk_answers(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    heard = []
    for fronted in (True, False):
        SAID.clear()
        market = markets(str(fronted))
        market.config = house(Limits())
        for rate in (Rate.READS, Rate.ANONYMOUS_FAILURES):
            for _ in range(ALLOWANCES[rate].calls - 2):
                market.windows.count(rate, ALLOWANCES[rate], IP, 0.0)
        with monkeypatch.context() as patch:
            wire = Wire(market, patch, fronted=fronted)
            heard.append([await wire.post(called(form, "show_tree")) for _ in range(4)])
    assert heard[0] == heard[1]
    assert ["rate_limited" in answer[2] for answer in heard[0]] == [False, False, True, True]


async def test_a_fault_of_ours_is_told_as_the_sdks_handler_tells_it(
    markets: Callable[[str], Market], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = []
    for fronted in (True, False):
        market = markets(str(fronted))

        async def broken(*given: Any) -> Any:
            raise KeyError("a secret of ours")

        with monkeypatch.context() as patch:
            wire = Wire(market, patch, fronted=fronted)
            patch.setattr(market, "call", broken)
            heard.append([await wire.post(called(form, "get_health")) for form in FRONTED])
    said = [[json.loads(body)["error"] for _, _, body in answers] for answers in heard]
    told = [[(error["code"], error["message"]) for error in errors] for errors in said]
    assert told[0] == told[1]
    assert [[answer[0] for answer in answers] for answers in heard] == [[200, 200, 500]] * 2
    assert "secret" not in str(heard)
