"""tools/call: one call path and one form of answer, in both eras of the protocol."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from protocol.mcp.toolsets import CALL
from protocol.reserved_arguments import KEY_ADVICE
from tests.requirements import covers
from tests.support.brief_texts import is_short_for
from tests.support.echo_operations import SAID, echoing
from tests.support.mcp_client import ERAS, HANDSHAKE, MODERN, Mcp, connected, from_address, headers_of, request
from tools.engine.dispatch import Market
from tools.engine.rate_limits import ALLOWANCES, Rate

WRONG = "as_test_" + "0" * 40


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


async def register(mcp: Mcp, name: str = "Ada") -> tuple[str, str]:
    """Register an agent; return its id and test key."""
    made = (await mcp.call(MODERN, "register_agent", {"name": name}))["structuredContent"]
    return made["agent"]["id"], made["api_keys"]["test"]


def keyed(key: str) -> list[tuple[str, str]]:
    return [("x-api-key", key)]


def error_of(result: Any) -> Any:
    """Return the error object.

    It must be the same in the text and in `_meta`, and there is no structured content.
    """
    assert result["isError"] is True
    assert "structuredContent" not in result
    (text,) = result["content"]
    error = json.loads(text["text"])["error"]
    assert result["_meta"]["emporion/error"] == error
    return error


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_is_the_record_as_text_and_as_structured_content(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        agent, key = await register(mcp)
        result = await mcp.call(era, "get_me", headers=keyed(key))
    assert result["isError"] is False
    assert [part["type"] for part in result["content"]] == ["text"]
    assert is_short_for(json.loads(result["content"][0]["text"]), result["structuredContent"])
    assert {name: result["structuredContent"][name] for name in ("object", "id", "handle", "env")} == {
        "object": "agent",
        "id": agent,
        "handle": "ada",
        "env": "test",
    }


@pytest.mark.parametrize("era", ERAS)
async def test_json_comes_back_as_it_was_sent(market: Market, era: str) -> None:
    value: dict[str, Any] = {
        "largest": 9007199254740991,
        "smallest": -9007199254740991,
        "amount": 10000,
        "fraction": 0.1,
        "nothing": None,
        "list": [None, True, [], {}, ""],
        "_meta": {"title": "kept", "x": None},
        "text": "\u2028\u2029\u0085 \U0001f600 שלום",
    }
    async with connected(market) as mcp:
        result = await mcp.call(era, "say_json", {"value": value})
    expected = {"object": "echo", "value": value, "caller": None, "number": 1}
    assert typed(result["structuredContent"]) == typed(expected)
    read = json.loads(result["content"][0]["text"])
    assert typed(read) == typed({"object": "echo", "value": value, "number": 1})
    assert typed(SAID) == typed([value])


def typed(value: Any) -> str:
    """Return JSON text, which distinguishes 1, 1.0 and true."""
    return json.dumps(value)


@pytest.mark.parametrize("era", ERAS)
async def test_a_refusal_is_a_result_with_the_contracts_error_object(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, "tools/call", {"name": "lose_echo"}, headers=[("x-request-id", "req_given")])
    assert heard.status == 200
    assert error_of(heard.result) == {
        "type": "not_found",
        "code": "not_found",
        "message": "there is no echo\u2028here",
        "hint": "Check the id, and that your key is of the environment (live or test) the record was made in.",
        "param": "value",
        "next_steps": [{"tool": CALL, "arguments": {"name": "say_json", "arguments": {}}}],
        "docs": "https://market.example/docs/errors#not_found",
        "request_id": "req_given",
        "retryable": False,
    }


@pytest.mark.parametrize("era", ERAS)
async def test_a_missing_key_is_a_result_and_never_a_401_that_makes_clients_start_oauth(
    market: Market, era: str
) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, "tools/call", {"name": "get_me"})
    assert (heard.status, error_of(heard.result)["code"]) == (200, "unauthenticated")
    assert "www-authenticate" not in heard.headers


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("given", [{"headers": [("authorization", f"Bearer {WRONG}")]}, {"query": f"?api_key={WRONG}"}])
async def test_a_wrong_key_is_refused_even_where_none_is_needed(market: Market, era: str, given: Any) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, "tools/call", {"name": "say_json", "arguments": {"value": 1}}, **given)
    assert (heard.status, error_of(heard.result)["code"], SAID) == (200, "unauthenticated", [])


@pytest.mark.parametrize("era", ERAS)
@covers("auth.2.mcp_query", "auth.2.bearer", "auth.2.x_api_key")
async def test_every_way_of_carrying_a_key_opens_the_same_account(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        agent, key = await register(mcp)
        answers = [
            await mcp.call(era, "get_me", headers=[("authorization", f"Bearer {key}")]),
            await mcp.call(era, "get_me", headers=[("authorization", f"bearer {key}")]),
            await mcp.call(era, "get_me", headers=keyed(key)),
            await mcp.call(era, "get_me", query=f"?api_key={key}"),
            await mcp.call(era, "get_me", {"api_key": key}),
            await mcp.call(era, "get_me", {"api_key": key}, headers=keyed(key)),
        ]
    assert [answer["structuredContent"]["id"] for answer in answers] == [agent] * 6


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_a_fault_of_the_protocol(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, "tools/call", {"name": "no_such_tool"})
        misspelt = await mcp.ask(era, "tools/call", {"name": "serch_listings"})
        short = await mcp.ask(era, "tools/call", {"name": "award"})
        inside = await mcp.call(era, "call_tool", {"name": "award"})
    assert heard.error == {"code": -32602, "message": "Unknown tool: no_such_tool. find_tools names them."}
    assert misspelt.error["message"].endswith("Did you mean search_listings? find_tools names others.")
    for said in (short.error["message"], inside["content"][0]["text"]):
        assert "Did you mean call_tool(name=award_bounty)? find_tools names others." in said


@pytest.mark.parametrize("era", ERAS)
async def test_all_that_is_wrong_with_the_arguments_is_said_at_once(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        error = error_of(await mcp.call(era, "say_json", {"times": 10, "env": "moon", "valeu": 1}))
    assert (error["code"], error["param"]) == ("invalid_request", "times")
    assert error["details"]["violations"] == [
        {"param": "times", "message": "Input should be less than or equal to 9"},
        {"param": "env", "message": "Input should be 'live' or 'test'"},
        {"param": "valeu", "message": "unknown field", "hint": "Did you mean value?"},
    ]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("arguments", ["text", [1], 7])
async def test_arguments_that_are_no_object_are_a_fault_of_the_protocol(
    market: Market, era: str, arguments: Any
) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, "tools/call", {"name": "say_json", "arguments": arguments})
    assert heard.error["code"] == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_terms_of_payment_are_a_good_answer(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        _, key = await register(mcp)
        result = await mcp.call(era, "pay_echo", headers=keyed(key))
    assert (result["isError"], result["structuredContent"]) == (False, {"object": "terms", "amount": 1_000_000})
    assert "emporion/error" not in result.get("_meta", {})


# --- the reserved arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_the_reserved_arguments_are_taken_out_before_the_operation_reads(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        agent, key = await register(mcp)
        result = await mcp.call(era, "say_json", {"value": 1, "api_key": key, "idempotency_key": "once"})
    assert result["structuredContent"] == {"object": "echo", "value": 1, "caller": agent, "number": 1}


@pytest.mark.parametrize("era", ERAS)
async def test_another_key_than_the_connections_is_refused(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        _, key = await register(mcp)
        error = error_of(await mcp.call(era, "get_me", {"api_key": WRONG}, headers=keyed(key)))
    assert (error["code"], error["param"]) == ("invalid_request", "api_key")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["api_key", "idempotency_key"])
@pytest.mark.parametrize("value", [7, ["secret-value"], {"secret-value": 1}, True])
async def test_a_reserved_argument_that_is_no_text_is_refused_and_not_echoed(
    market: Market, era: str, name: str, value: Any
) -> None:
    async with connected(market) as mcp:
        result = await mcp.call(era, "say_json", {"value": 1, name: value})
    error = error_of(result)
    assert (error["code"], error["message"], error["param"]) == ("invalid_request", f"{name}: must be a string", name)
    assert "secret-value" not in json.dumps(result)
    assert SAID == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["api_key", "idempotency_key"])
async def test_null_leaves_a_reserved_argument_out(market: Market, era: str, name: str) -> None:
    async with connected(market) as mcp:
        result = await mcp.call(era, "say_json", {"value": 1, name: None})
    assert result["structuredContent"]["caller"] is None


@pytest.mark.parametrize("era", ERAS)
async def test_a_key_in_the_arguments_is_never_echoed(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        _, key = await register(mcp)
        answers = [
            await mcp.call(era, "say_json", {"api_key": key, "times": "x", "oops": key[:4]}),
            await mcp.call(era, "get_me", {"api_key": WRONG}),
            await mcp.call(era, "get_me", {"api_key": key}),
        ]
    assert [answer["isError"] for answer in answers] == [True, True, False]
    assert not [answer for answer in answers if key in json.dumps(answer) or WRONG in json.dumps(answer)]


@pytest.mark.parametrize("era", ERAS)
async def test_a_repeated_call_gets_the_first_answer_again_and_says_so(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        _, key = await register(mcp)
        first = await mcp.call(era, "say_json", {"value": 1, "idempotency_key": "k"}, headers=keyed(key))
        again = await mcp.call(era, "say_json", {"value": 1, "idempotency_key": "k", "api_key": key})
        other = error_of(await mcp.call(era, "say_json", {"value": 2, "idempotency_key": "k"}, headers=keyed(key)))
    assert again["structuredContent"] == first["structuredContent"]
    assert "emporion/replayed" not in first.get("_meta", {})
    assert again["_meta"]["emporion/replayed"] is True
    assert (other["code"], SAID) == ("idempotency_key_reused", [1])


@pytest.mark.parametrize("era", ERAS)
async def test_a_connection_without_a_key_is_told_how_to_carry_one_for_good(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        made = await mcp.call(era, "register_agent", {"name": "Ada"})
        key = made["structuredContent"]["api_keys"]["test"]
        with_argument = await mcp.call(era, "get_me", {"api_key": key})
        with_header = await mcp.call(era, "get_me", headers=keyed(key))
    assert [part["text"] for part in made["content"]][1:] == [KEY_ADVICE]
    assert made["_meta"]["emporion/api_key"] == KEY_ADVICE
    assert len(with_argument["content"]) == 1
    assert with_argument["_meta"]["emporion/api_key"] == KEY_ADVICE
    assert "emporion/api_key" not in with_header.get("_meta", {})


@pytest.mark.parametrize("era", ERAS)
async def test_no_key_reaches_a_log(
    market: Market, era: str, caplog: pytest.LogCaptureFixture, every_level: None
) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(market) as mcp:
        _, key = await register(mcp)
        with capture_logs() as said:
            await mcp.call(era, "get_me", {"api_key": key})
            await mcp.call(era, "get_me", headers=keyed(key))
            await mcp.call(era, "get_me", headers=[("authorization", f"Bearer {key}")])
            await mcp.ask(era, "tools/call", {"name": "nobody", "arguments": {"api_key": key}}, query=f"?api_key={key}")
            await mcp.ask(era, "tools/call", {"name": "get_me", "arguments": key})
            await mcp.call(era, "get_me", {"api_key": key, "idempotency_key": 7})
    logged = [record.getMessage() for record in caplog.records if record.name.partition(".")[0] not in CLIENTS]
    assert [entry["operation"] for entry in said if entry["event"] == "call"] == ["get_me"] * 3
    assert not [line for line in [*logged, str(said)] if key in line]


@pytest.fixture
def every_level() -> Iterator[None]:
    """Writes log lines of every level while the test runs."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET))
    yield
    structlog.configure(**before)


CLIENTS = ("httpx", "httpcore")  # the test's own clients log the URL that they call


# --- hostile JSON -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "value, param",
    [
        (b'{"a":1,"a":2}', "value"),
        (b"NaN", "value"),
        (b"[1,-Infinity]", "value.1"),
        (b'"\\ud800"', "value"),
        (b'{"\\udfff":1}', "value"),
        (b"9007199254740992", "value"),
        (b'"\\u0000"', "value"),
        (b"[" * 64 + b"]" * 64, "value" + ".0" * 63),
    ],
)
async def test_json_that_readers_understand_differently_is_refused(
    market: Market, era: str, value: bytes, param: str
) -> None:
    body = request(era, "tools/call", {"name": "say_json", "arguments": {"value": 0}})
    raw = json.dumps(body).encode().replace(b'"value": 0', b'"value": ' + value)
    async with connected(market) as mcp:
        heard = await mcp.post(raw, headers_of(era, body))
    error = error_of(heard.result)
    assert (heard.status, heard.messages[0]["id"], error["code"], error["param"]) == (200, 7, "malformed_json", param)
    assert SAID == []


@pytest.mark.parametrize("era", ERAS)
async def test_arguments_may_nest_as_deep_as_over_rest(market: Market, era: str) -> None:
    """The limit is 64 levels, and the arguments are the first."""
    deepest: Any = 1
    for _ in range(63):
        deepest = [deepest]
    async with connected(market) as mcp:
        taken = await mcp.call(era, "say_json", {"value": deepest})
        refused = error_of(await mcp.call(era, "say_json", {"value": [deepest]}))
    assert (taken["isError"], refused["code"]) == (False, "malformed_json")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_json","arguments":{},"arguments":{"value":1}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"buy","arguments":{"what":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"say_json","arguments":{"a":1,"a":2}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{"a":NaN}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say_json","arguments":{"value":1}}} {}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params.arguments":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params.arguments":{"a":NaN},"params":{"name":"say_json"}}',
        b"[" * 100_000,
    ],
)
async def test_a_request_that_cannot_be_read_is_a_parse_error(market: Market, era: str, raw: bytes) -> None:
    body = request(era, "tools/call", {"name": "say_json"})
    async with connected(market) as mcp:
        heard = await mcp.post(raw, headers_of(era, body))
    assert (heard.status, heard.messages[0]["id"], heard.error["code"], SAID) == (400, None, -32700, [])


# --- the address of the client
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_a6_one_address_cannot_use_up_the_calls_of_another(limited: Market, era: str) -> None:
    async with connected(limited) as mcp:
        for _ in range(ALLOWANCES[Rate.READS].calls):
            limited.services.rate_limits.windows.count(Rate.READS, ALLOWANCES[Rate.READS], "203.0.113.7", 0.0)
        error = error_of(await mcp.call(era, "show_tree"))
        other = await from_address(mcp, limited, "198.51.100.9").call(era, "show_tree")
    assert (error["code"], error["retryable"], error["details"]["retry_after_seconds"]) == ("rate_limited", True, 60)
    assert other["structuredContent"] == {"object": "node", "inner": {"object": "node", "inner": None}}


async def test_a_call_in_one_era_is_repeated_in_the_other(market: Market) -> None:
    async with connected(market) as mcp:
        _, key = await register(mcp)
        first = await mcp.call(HANDSHAKE, "say_json", {"value": 1, "idempotency_key": "k"}, headers=keyed(key))
        again = await mcp.call(MODERN, "say_json", {"value": 1, "idempotency_key": "k"}, headers=keyed(key))
    assert (again["structuredContent"], SAID) == (first["structuredContent"], [1])
