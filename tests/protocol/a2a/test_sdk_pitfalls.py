"""Requests that the a2a-sdk alone would handle wrongly, and hostile ones. Each gets an error of the protocol."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from protocol.a2a.server import A2aSurface
from tests.support.a2a_requests import (
    FORMS,
    HTTP_03,
    HTTP_1,
    RPC_03,
    RPC_1,
    RPC_FORMS,
    VERSION,
    connected,
    message_of,
    register,
    request,
    text_of,
)
from tests.support.echo_operations import SAID, echoing
from tests.support.fixed_market import approach_of
from tools.engine.dispatch import Market

SEND = {"message": message_of(RPC_1, [{"tool": "say_json", "arguments": {"value": 1}}])}
SEND_OLD = {"message": message_of(RPC_03, [{"tool": "say_json", "arguments": {"value": 1}}])}
TASK_PATHS = [("GET", ""), ("POST", ":cancel"), ("POST", ":subscribe"), ("GET", ":subscribe")]
CONFIGS = "/a2a/tasks/t-1/pushNotificationConfigs"


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


# --- paths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/a2a", "/a2a/"])
@pytest.mark.parametrize("form", RPC_FORMS)
async def test_both_endpoints_answer_json_rpc_without_a_redirect(market: Market, form: str, path: str) -> None:
    _, body = request(form, message_of(form, [{"tool": "say_json", "arguments": {"value": 1}}]))
    async with connected(market) as a2a:
        heard = await a2a.post(form, json.dumps(body).encode(), path)
    assert (heard.status, heard.body["id"], heard.data["value"]) == (200, 7, 1)


@pytest.mark.parametrize(
    "path",
    ["/a2a/a2a/message:send", "/a2a/nobody/message:send", "/a2a/agents/ada", "/a2a/x", "/a2a/tenant/tasks", "/a2a//"],
)
async def test_no_path_is_taken_for_a_tenant(market: Market, path: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.post(RPC_1, json.dumps(SEND).encode(), path)
    assert (heard.status, heard.body["error"]["code"]) == (404, "route_not_found")
    assert SAID == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/a2a", "POST"),
        ("DELETE", "/a2a/", "POST"),
        ("GET", "/a2a/message:send", "POST"),
        ("PUT", "/a2a/tasks/t-1", "GET, HEAD"),
        ("PUT", CONFIGS, "GET, HEAD, POST"),
    ],
)
async def test_another_method_is_answered_with_those_that_are_served(
    market: Market, method: str, path: str, allowed: str
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.fetch(HTTP_1, path, method)
    assert (heard.status, heard.headers["allow"], heard.body["error"]["code"]) == (405, allowed, "method_not_allowed")


# --- forms -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_body_that_is_said_to_be_no_json_is_content_type_not_supported(
    market: Market, form: str, kind: str
) -> None:
    path, body = text_of(form, '{"value":1}')
    async with connected(market) as a2a:
        heard = await a2a.post(form, body, path, {"content-type": kind})
    assert heard.error == (-32005 if form in RPC_FORMS else 415, "Content-Type must be application/json")
    assert heard.status == (200 if form in RPC_FORMS else 415)
    assert "CONTENT_TYPE_NOT_SUPPORTED" in heard.raw
    assert SAID == []


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/a2a+json", "APPLICATION/JSON", ""])
@pytest.mark.parametrize("form", FORMS)
async def test_a23_json_is_read_under_any_name_of_json_and_without_one(market: Market, form: str, kind: str) -> None:
    path, body = text_of(form, '{"value":1}')
    async with connected(market) as a2a:
        heard = await a2a.post(form, body, path, {"content-type": kind})
    assert heard.data["value"] == 1


async def test_a_part_of_a_kind_the_card_does_not_name_is_content_type_not_supported(market: Market) -> None:
    parts = [{"data": {"tool": "say_json"}, "mediaType": "application/xml"}]
    async with connected(market) as a2a:
        heard = await a2a.ask(RPC_1, "SendMessage", {"message": {**SEND["message"], "parts": parts}})
    assert heard.error[0] == -32005
    assert SAID == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_1_0_method_needs_the_version_header(market: Market, stream: bool) -> None:
    async with connected(market) as a2a:
        rpc = await a2a.ask(RPC_03, "SendStreamingMessage" if stream else "SendMessage", SEND)
        path = f"/a2a/message:{'stream' if stream else 'send'}"
        http = await a2a.post(HTTP_03, json.dumps(SEND).encode(), path)
        patched = await a2a.ask(RPC_03, "SendMessage", SEND, {"a2a-version": "1.0.1"})
    assert rpc.error[0] == -32009
    assert (http.status, http.body["error"]["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")
    assert patched.body["result"]["message"]["parts"][0]["data"]["value"] == 1


async def test_a_0_3_method_under_another_version_is_the_request_s_fault(market: Market) -> None:
    async with connected(market) as a2a:
        heard = await a2a.ask(RPC_03, "message/send", SEND_OLD, VERSION)
    assert heard.error == (-32602, "Invalid params")
    assert SAID == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("message/send", {}),
        ("message/send", {"message": {"role": "user"}}),
        ("message/send", {"message": {**SEND_OLD["message"], "role": "owner"}}),
        ("message/send", {"message": {**SEND_OLD["message"], "parts": "text"}}),
        ("message/send", {"message": {**SEND_OLD["message"], "parts": [{"kind": "file", "file": {"bytes": "a"}}]}}),
        ("message/send", [SEND_OLD]),
        ("message/stream", {}),
        ("tasks/get", {}),
        ("tasks/cancel", {"id": 5}),
        ("tasks/pushNotificationConfig/set", {"taskId": "t-1"}),
    ],
)
async def test_0_3_params_that_do_not_validate_are_invalid_params(market: Market, method: str, params: Any) -> None:
    async with connected(market) as a2a:
        heard = await a2a.ask(RPC_03, method, params)
    assert (heard.status, heard.error, heard.body["id"]) == (200, (-32602, "Invalid params"), 7)
    assert len(heard.body["error"]["data"]) <= 500


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("SendMessage", {}),
        ("SendMessage", {"message": {**SEND["message"], "messageId": ""}}),
        ("SendMessage", {"message": {**SEND["message"], "role": "ROLE_UNSPECIFIED"}}),
        ("SendMessage", {"message": {**SEND["message"], "parts": []}}),
        ("SendMessage", {"message": {**SEND["message"], "parts": "text"}}),
        ("SendMessage", {"message": "text"}),
        ("SendMessage", [SEND]),
        ("SendMessage", {**SEND, "configuration": {"historyLength": -1}}),
        ("SendStreamingMessage", {}),
        ("GetTask", {}),
        ("GetTask", {"id": "t-1", "historyLength": -1}),
        ("ListTasks", {"pageSize": 0}),
        ("ListTasks", {"pageSize": 101}),
        ("ListTasks", {"pageToken": "x"}),
    ],
)
async def test_1_0_params_that_do_not_validate_are_invalid_params(market: Market, method: str, params: Any) -> None:
    async with connected(market) as a2a:
        heard = await a2a.ask(RPC_1, method, params)
    assert (heard.status, heard.error[0], heard.body["id"]) == (200, -32602, 7)
    assert SAID == []


@pytest.mark.parametrize(
    ("body", "code", "identity"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t-1"}}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"GetTask"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":5,"method":"message/send"}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":"five","method":"Nothing"}', -32601, "five"),
        (b'{"jsonrpc":"2.0","id":5,"method":"no/thing"}', -32601, 5),
    ],
)
async def test_what_is_no_json_rpc_request_keeps_json_rpc_s_own_codes(
    market: Market, body: bytes, code: int, identity: Any
) -> None:
    async with connected(market) as a2a:
        heard = await a2a.post(RPC_1, body)
    assert (heard.status, heard.error[0], heard.body["id"]) == (200, code, identity)


# --- tasks, push, streams that do not exist
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("keyed", [False, True], ids=["anonymous", "with a key"])
async def test_there_is_no_task_to_get_cancel_or_follow(market: Market, keyed: bool) -> None:
    async with connected(market) as a2a:
        headers = {"x-api-key": (await register(a2a))[1]} if keyed else {}
        new = [
            await a2a.ask(RPC_1, name, {"id": "t-1"}, headers) for name in ("GetTask", "CancelTask", "SubscribeToTask")
        ]
        old = [
            await a2a.ask(RPC_03, name, {"id": "t-1"}, headers)
            for name in ("tasks/get", "tasks/cancel", "tasks/resubscribe")
        ]
        http = [await a2a.fetch(HTTP_1, f"/a2a/tasks/t-1{tail}", method, headers) for method, tail in TASK_PATHS]
        http += [await a2a.fetch(HTTP_03, f"/a2a/v1/tasks/t-1{tail}", method, headers) for method, tail in TASK_PATHS]
    assert {heard.error for heard in new + old} == {(-32001, "Task not found")}
    assert {(heard.status, heard.body["error"]["status"]) for heard in http} == {(404, "NOT_FOUND")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stream", [False, True], ids=["send", "stream"])
async def test_a_message_to_a_task_finds_none_and_calls_nothing(market: Market, form: str, stream: bool) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": 1}, stream=stream, taskId="t-1")
    assert heard.error == (-32001 if form in RPC_FORMS else 404, "Task not found")
    assert SAID == []


async def test_the_list_of_tasks_is_empty(market: Market) -> None:
    async with connected(market) as a2a:
        await a2a.call(RPC_1, "say_json", {"value": 1})
        rpc = await a2a.ask(RPC_1, "ListTasks", {})
        http = await a2a.fetch(HTTP_1, "/a2a/tasks?pageSize=10")
        wrong = await a2a.fetch(HTTP_1, "/a2a/tasks?pageSize=many")
    assert rpc.body["result"] == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}
    assert http.body == {"tasks": [], "nextPageToken": "", "pageSize": 10, "totalSize": 0}
    assert wrong.status == 400


async def test_a_stranger_finds_no_task_to_be_told_of_and_sets_nothing(market: Market) -> None:
    config = {"taskId": "t-1", "url": "https://example.com/hook"}
    old = {"taskId": "t-1", "pushNotificationConfig": {"url": "https://example.com/hook"}}
    name = "TaskPushNotificationConfig"
    async with connected(market) as a2a:
        new = [
            await a2a.ask(RPC_1, f"Create{name}", config),
            await a2a.ask(RPC_1, f"Get{name}", {"taskId": "t-1", "id": "c-1"}),
            await a2a.ask(RPC_1, f"List{name}s", {"taskId": "t-1"}),
            await a2a.ask(RPC_1, f"Delete{name}", {"taskId": "t-1", "id": "c-1"}),
            await a2a.ask(RPC_03, "tasks/pushNotificationConfig/set", old),
            await a2a.ask(RPC_03, "tasks/pushNotificationConfig/get", {"id": "t-1"}),
            await a2a.ask(RPC_03, "tasks/pushNotificationConfig/list", {"id": "t-1"}),
        ]
        http = [
            await a2a.post(HTTP_1, json.dumps(config).encode(), CONFIGS),
            await a2a.fetch(HTTP_1, CONFIGS),
            await a2a.fetch(HTTP_1, f"{CONFIGS}/c-1"),
            await a2a.fetch(HTTP_1, f"{CONFIGS}/c-1", "DELETE"),
        ]
    assert {heard.error for heard in new} == {(-32001, "Task not found")}
    assert {heard.body["error"]["details"][0]["reason"] for heard in http} == {"TASK_NOT_FOUND"}
    assert SAID == []


def counted(url: str) -> dict[str, int]:
    """Return the number of rows of each table of the database file."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as reader:
        names = [name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'")]
        return {name: reader.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


async def test_nothing_is_stored_of_messages_tasks_and_refusals(market: Market, sqlite_url: str) -> None:
    async with connected(market) as a2a:
        _, key = await register(a2a)
        before = counted(sqlite_url)
        for headers in ({}, {"x-api-key": key}):
            for form in FORMS:
                await a2a.say(form, ["hello"], headers=headers)
                await a2a.call(form, "get_agent", {"agent_id": "ada"}, headers=headers)
                await a2a.call(form, "lose_echo", headers=headers)
                await a2a.call(form, "say_json", headers=headers, taskId="t-1")
            for method in ("GetTask", "CancelTask", "SubscribeToTask", "ListTasks"):
                await a2a.ask(RPC_1, method, {"id": "t-1"}, headers)
    assert before["agents"] == 1
    assert counted(sqlite_url) == before


@pytest.mark.parametrize("form", FORMS)
async def test_a_refused_stream_is_an_error_and_not_an_empty_stream(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "nothing_like_it", stream=True)
    assert heard.error == (-32602 if form in RPC_FORMS else 400, "Unknown tool: nothing_like_it")


@pytest.mark.parametrize("path", ["/a2a/v1/message:send", "/a2a/v1/message:stream"])
async def test_what_the_0_3_form_over_http_cannot_convert_is_the_request_s_fault(market: Market, path: str) -> None:
    body = {"message": {**message_of(HTTP_03, ["x"]), "content": [{"file": {"fileWithBytes": "a"}}]}}
    async with connected(market) as a2a:
        sent = await a2a.post(HTTP_03, json.dumps(body).encode(), path)
        asked = await a2a.fetch(HTTP_03, "/a2a/v1/tasks/t-1?historyLength=many")
    assert (sent.status, asked.status) == (400, 400)
    assert asked.error == (400, "the request cannot be read")


# --- the process ---------------------------------------------------------------------------------------------------------


def test_the_sdk_s_tracing_is_off_however_the_environment_has_it() -> None:
    code = "import protocol.a2a.server; from a2a.utils import telemetry; print(telemetry.otel_enabled)"
    environment = {**os.environ, "OTEL_INSTRUMENTATION_A2A_SDK_ENABLED": "true"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout == "False\n"


async def test_a_client_that_leaves_before_its_body_ends_calls_nothing(market: Market) -> None:
    came = iter(
        [{"type": "http.request", "body": json.dumps(SEND).encode(), "more_body": True}, {"type": "http.disconnect"}]
    )
    sent: list[Any] = []

    async def receive() -> Any:
        return next(came)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/a2a",
        "query_string": b"",
        "headers": [(b"a2a-version", b"1.0")],
    }
    scope |= {"state": {"request_id": "req_1"}, "client": ("203.0.113.7", 5), "root_path": ""}
    await A2aSurface(market, approach_of)(scope, receive, send)
    assert (sent, SAID) == ([], [])
