"""Ambiguous and unreadable JSON bodies. Every surface refuses them alike, never with an internal error."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.a2a_requests import (
    FORMS,
    RPC_1,
    RPC_FORMS,
    anonymous,
    connected,
    message_of,
    over_rest,
    request,
    text_of,
)
from tests.support.echo_operations import SAID, echoing
from tools.engine.dispatch import Market


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


# --- ambiguous JSON
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ('{"value": 9007199254740993}', "value"),
        ('{"value": {"deep": [1, -9007199254740992]}}', "value.deep.1"),
        ('{"value": 1, "value": 2}', None),
        ('{"value": "a\\u0000b"}', "value"),
    ],
    ids=["large integer", "deep large integer", "key twice", "NUL"],
)
@pytest.mark.parametrize("form", FORMS)
async def test_arguments_that_are_not_admitted_are_malformed_json_as_over_rest(
    market: Market, form: str, arguments: str, param: str
) -> None:
    path, body = text_of(form, arguments)
    async with connected(market) as a2a:
        heard = await a2a.post(form, body, path)
    headers = {"content-type": "application/json"}
    rest = await over_rest(market, "POST", "/v1/echoes", content=arguments.encode(), headers=headers)
    refused = heard.data["error"]
    assert (heard.status, refused["code"], refused.get("param")) == (200, "malformed_json", param)
    assert anonymous(refused) == anonymous(rest["error"])
    assert SAID == []


@pytest.mark.parametrize(
    "arguments",
    [
        '{"value": NaN}',
        '{"value": Infinity}',
        '{"value": 1e999}',
        '{"value": "\\ud800"}',
        '{"value": 01}',
        '{"value": 1,}',
    ],
)
@pytest.mark.parametrize("form", FORMS)
async def test_a_text_that_is_no_json_is_a_parse_error_under_its_id_where_it_has_one(
    market: Market, form: str, arguments: str
) -> None:
    path, body = text_of(form, arguments)
    async with connected(market) as a2a:
        heard = await a2a.post(form, body, path)
    assert heard.error[0] == (-32700 if form in RPC_FORMS else 400)
    if form in RPC_FORMS:
        assert heard.body["id"] == (None if arguments in ('{"value": 01}', '{"value": 1,}') else 7)
    assert SAID == []


@pytest.mark.parametrize(
    "body", [b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"{}{}", b"[" * 2_000, b'{"a":' * 2_000], ids=repr
)
@pytest.mark.parametrize("form", FORMS)
async def test_bytes_that_are_no_json_text_are_a_parse_error(market: Market, form: str, body: bytes) -> None:
    async with connected(market) as a2a:
        heard = await a2a.post(form, body, request(form, {})[0])
    assert heard.error[0] == (-32700 if form in RPC_FORMS else 400)
    assert heard.status == (200 if form in RPC_FORMS else 400)


@pytest.mark.parametrize("form", FORMS)
async def test_what_is_not_admitted_outside_the_arguments_is_invalid_params_under_the_request_s_id(
    market: Market, form: str
) -> None:
    path, body = request(form, message_of(form, [{"tool": "say_json"}], metadata={"size": 2**60}))
    async with connected(market) as a2a:
        heard = await a2a.post(form, json.dumps(body).encode(), path)
    assert heard.error == (
        -32602 if form in RPC_FORMS else 400,
        "An integer beyond ±(2^53-1) is not admitted; send it as a string.",
    )
    assert heard.body.get("id") == (7 if form in RPC_FORMS else None)
    assert SAID == []


@pytest.mark.parametrize(
    "identity", ["9007199254740993", "1e400", "[1]", "{}", "true", "1.5", '"\\ud800"', '"a\\u0000"']
)
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_an_id_that_cannot_be_given_back_is_null_in_the_answer(
    market: Market, identity: str, version: str
) -> None:
    method = "GetTask" if version == "1.0" else "tasks/get"
    body = f'{{"jsonrpc":"2.0","id":{identity},"method":"{method}","params":{{"id":"t-1"}}}}'
    async with connected(market) as a2a:
        heard = await a2a.post(RPC_1, body.encode(), headers={"a2a-version": version})
    assert (heard.status, heard.error[0] in (-32700, -32600, -32602), heard.body["id"]) == (200, True, None)


@pytest.mark.parametrize("form", FORMS)
async def test_a_refused_request_does_not_write_itself_into_the_log(
    market: Market, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(market) as a2a:
        heard = await a2a.say(form, ["text"], role="marked-by-us", messageId=["marked-by-us"])
    assert heard.error[0] == (-32602 if form in RPC_FORMS else 400)
    assert "marked-by-us" not in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = [
    "message",
    "parts",
    "content",
    "data",
    "kind",
    "role",
    "messageId",
    "metadata",
    "configuration",
    "taskId",
    "text",
]
SHAPED = st.recursive(
    JSON | st.sampled_from(["data", "text", "file", "ROLE_USER", "user", "m-1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(form=st.sampled_from(FORMS), stream=st.booleans(), changed=st.sampled_from(MEMBERS), value=SHAPED, params=SHAPED)
async def test_no_request_is_answered_with_a_fault(
    market: Market, form: str, stream: bool, changed: str, value: Any, params: Any
) -> None:
    async with connected(market) as a2a:
        message = {**message_of(form, [{"tool": "say_json", "arguments": {"value": 1}}]), changed: value}
        for sent in (message, params):
            path, body = request(form, sent, stream)
            heard = await a2a.post(form, json.dumps(body).encode(), path)
            assert heard.status < 500
            assert heard.body.get("error", {}).get("code") != -32603
