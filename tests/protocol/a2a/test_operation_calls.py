"""A data part {tool, arguments} calls an operation and is answered with one Message, in all four forms of A2A."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.a2a_requests import (
    FORMS,
    HTTP_03,
    HTTP_1,
    RPC_03,
    RPC_1,
    RPC_FORMS,
    anonymous,
    connected,
    error_of,
    offered,
    over_rest,
    register,
    spelled,
)
from tests.support.echo_operations import SAID, echoing
from tools.engine.context import Surface
from tools.engine.dispatch import Market
from tools.engine.registry import CATALOGUE
from tools.kernel.records import Ready
from tools.kernel.strict_json import MAX_DEPTH, MAX_INTEGER

NUMBERS = {
    "whole": 10000,
    "zero": 0,
    "largest": MAX_INTEGER,
    "smallest": -MAX_INTEGER,
    "part": 4.5,
    "tiny": -1e-7,
    "huge": 1e21,
    "yes": True,
    "none": None,
    "texts": ["1.0", "10000.0", "", "\u2028\u0085é😀", '{"held":"0"}'],
}


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


def nested(depth: int) -> Any:
    """Return a value of `depth` nested objects."""
    value: Any = 1
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize("stream", [False, True], ids=["send", "stream"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_call_is_answered_with_one_message_that_holds_the_record(
    market: Market, form: str, stream: bool
) -> None:
    async with connected(market) as a2a:
        agent, _ = await register(a2a)
        heard = await a2a.call(form, "get_agent", {"agent_id": "ada"}, stream=stream, contextId="ctx-1")
    assert heard.status == 200
    assert spelled(heard.data) == spelled(await over_rest(market, "GET", f"/v1/agents/{agent}"))
    answered = heard.message
    assert answered["role"] == ("agent" if form == RPC_03 else "ROLE_AGENT")
    assert answered["contextId"] == "ctx-1"
    assert len(answered["messageId"]) == 32
    assert "taskId" not in answered


@pytest.mark.parametrize("stream", [False, True], ids=["send", "stream"])
@pytest.mark.parametrize("form", FORMS)
async def test_numbers_stay_the_numbers_they_were_and_text_stays_its_text(
    market: Market, form: str, stream: bool
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": NUMBERS}, stream=stream)
    assert spelled(SAID[-1]) == spelled(NUMBERS)
    assert spelled(heard.data["value"]) == spelled(NUMBERS)
    assert heard.data["number"] == 1


@pytest.mark.parametrize("form", FORMS)
async def test_the_record_is_the_door_s_own_text_with_its_keys_in_order(market: Market, form: str) -> None:
    value = {"z": 1, "a": {"y": 2, "b": [3]}}
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": value})
    assert '{"object":"echo","value":{"z":1,"a":{"y":2,"b":[3]}},"caller":null,"number":1}' in heard.raw


@pytest.mark.parametrize("form", FORMS)
async def test_a_double_without_a_fraction_is_an_integer_because_protobuf_clients_send_nothing_else(
    market: Market, form: str
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": 10000.0, "times": 2.0})
    assert spelled(SAID[-1]) == "10000"
    assert spelled(heard.data["value"]) == "10000"


@pytest.mark.parametrize("form", FORMS)
async def test_arguments_nest_as_deep_as_over_rest_and_no_deeper(market: Market, form: str) -> None:
    deepest = nested(MAX_DEPTH - 1)  # the arguments are one level
    async with connected(market) as a2a:
        allowed = await a2a.call(form, "say_json", {"value": deepest})
        refused = error_of(await a2a.call(form, "say_json", {"value": {"in": deepest}}))
    assert allowed.data["value"] == deepest
    expected = await over_rest(market, "POST", "/v1/echoes", json={"value": {"in": deepest}})
    assert refused == anonymous(expected["error"])


@pytest.mark.parametrize("form", FORMS)
async def test_a_refusal_is_a_message_with_the_same_error_object_as_over_rest(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        lost = error_of(await a2a.call(form, "lose_echo"))
        wrong = error_of(await a2a.call(form, "say_json", {"times": 12, "tiems": 1}))
        is_anonymous = error_of(await a2a.call(form, "get_me"))
    for got, (method, path, options) in (
        (lost, ("GET", "/v1/echoes/lost", {})),
        (wrong, ("POST", "/v1/echoes", {"json": {"times": 12, "tiems": 1}})),
        (is_anonymous, ("GET", "/v1/agents/me", {})),
    ):
        expected = (await over_rest(market, method, path, **options))["error"]
        assert got == anonymous(expected)
    assert [lost["code"], wrong["code"], is_anonymous["code"]] == ["not_found", "invalid_request", "unauthenticated"]


@pytest.mark.parametrize("form", FORMS)
async def test_terms_of_payment_are_an_answer_and_no_error(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        _, key = await register(a2a)
        heard = await a2a.call(form, "pay_echo", headers={"x-api-key": key})
    assert heard.data == {"object": "terms", "amount": 1_000_000}


@pytest.mark.parametrize("form", FORMS)
async def test_a_refusal_carries_the_request_id_of_its_call(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "lose_echo", headers={"x-request-id": "trace-0001"})
    assert heard.data["error"]["request_id"] == "trace-0001"
    assert heard.headers["x-request-id"] == "trace-0001"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parts", [["Buy me a translation"], [{"listing": "lst_1"}], ["see", {"hello": 1}]])
async def test_a_message_without_a_call_is_answered_with_how_to_call_and_every_tool(
    market: Market, form: str, parts: list[Any]
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.say(form, parts)
    text = heard.message["content" if form == HTTP_03 else "parts"][0]["text"]
    assert all(name in text for name in offered())
    assert [tool["tool"] for tool in heard.data["tools"]] == offered()
    assert heard.data["tools"][offered().index("register_agent")] == {
        "tool": "register_agent",
        "summary": CATALOGUE["register_agent"].summary,
        "needs_key": False,
        "example": {"tool": "register_agent", "arguments": {"name": "Ada"}},
    }
    assert SAID == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ([{"tool": "sey_json"}], "Unknown tool: sey_json"),
        ([{"tool": 5}], "tool must be the name of a tool"),
        ([{"tool": "say_json", "arguments": [1]}], "arguments must be an object"),
        ([{"tool": "say_json", "args": {"value": 1}}], "unknown member args beside tool and arguments"),
        (
            [{"tool": "say_json"}, {"tool": "say_json"}],
            "one message makes one call: send one data part {tool, arguments}",
        ),
    ],
)
async def test_a_call_that_is_no_call_is_invalid_params_and_nothing_runs(
    market: Market, form: str, parts: list[Any], fault: str
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.say(form, parts)
    assert heard.error == (-32602 if form in RPC_FORMS else 400, fault)
    assert SAID == []


async def test_an_unknown_tool_is_answered_with_the_closest_one(market: Market) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(HTTP_1, "sey_json")
        strange = await a2a.call(HTTP_1, "frobnicate")
    assert heard.body["error"]["details"][0]["metadata"] == {"param": "tool", "hint": "Did you mean say_json?"}
    assert strange.body["error"]["details"][0]["metadata"]["hint"] == f"Tools: {', '.join(offered())}."


async def test_a_tool_of_rest_alone_is_refused_with_the_reason(market: Market) -> None:
    there = {"surfaces": frozenset({Surface.REST}), "rest_only_reason": "an operator's"}
    CATALOGUE["say_there"] = replace(CATALOGUE["say_json"], name="say_there", **there)
    async with connected(market) as a2a:
        heard = await a2a.call(RPC_1, "say_there")
    assert heard.error == (-32602, "say_there is served over REST only: an operator's")


async def test_a_fault_of_ours_is_told_without_what_it_says_and_logged_with_it(market: Market) -> None:
    def broken(*given: Any) -> Any:
        raise AssertionError("SELECT secret")

    market.call = broken  # type: ignore[method-assign]
    with capture_logs() as logs:
        async with connected(market) as a2a:
            heard = [await a2a.call(form, "say_json") for form in FORMS]
    assert [one.error for one in heard] == [
        (-32603 if form in RPC_FORMS else 500, "something went wrong on our side") for form in FORMS
    ]
    assert [(line["event"], line["log_level"]) for line in logs] == [("fault", "error")] * 4


@pytest.mark.parametrize("form", FORMS)
async def test_text_beside_a_call_changes_nothing(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.say(form, ["please", {"tool": "say_json", "arguments": {"value": 1}}, "thanks"])
    assert heard.data["value"] == 1


@pytest.mark.parametrize("arguments", [None, {}])
async def test_arguments_may_be_left_out(market: Market, arguments: Any) -> None:
    async with connected(market) as a2a:
        bare = await a2a.say(RPC_1, [{"tool": "say_json"}])
        heard = await a2a.say(RPC_1, [{"tool": "say_json", "arguments": arguments}])
    assert [bare.data["value"], heard.data["value"]] == [None, None]


@pytest.mark.parametrize("form", FORMS)
async def test_a_stream_has_lines_that_every_reader_splits_alike(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": "a\u2028b\u2029c\u0085d"}, stream=True)
    assert heard.headers["content-type"].startswith("text/event-stream")
    assert "\r" not in heard.raw
    assert heard.raw.splitlines() == heard.raw.split("\n")[:-1]
    assert heard.data["value"] == "a\u2028b\u2029c\u0085d"


@pytest.mark.parametrize("form", FORMS)
async def test_what_a_client_sends_cannot_stand_for_a_document_of_the_answer(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": {"held": "0"}}, contextId='{"held":"0"}')
    assert heard.data["value"] == {"held": "0"}
    assert heard.message["contextId"] == '{"held":"0"}'
    assert heard.raw.count('"object":"echo"') == 1


@pytest.mark.parametrize("form", FORMS)
async def test_a_document_kept_with_line_breaks_is_one_event_of_a_stream(market: Market, form: str) -> None:
    def ready(*given: Any) -> Ready:
        return Ready(b'{\r\n  "object": "echo",\n  "text": "a\\nb"\n}')

    CATALOGUE["say_ready"] = replace(CATALOGUE["show_tree"], name="say_ready", run=ready)
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_ready", stream=True)
        whole = await a2a.call(form, "say_ready")
    assert heard.data == whole.data == {"object": "echo", "text": "a\nb"}
    assert heard.raw.count("\n") == 2
