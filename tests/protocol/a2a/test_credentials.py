"""Keys over A2A: credentials and idempotency keys come in headers or metadata, and no answer contains them."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from protocol.a2a.sdk_bodies import CallState, for_sdk
from protocol.a2a.server import KEY_ADVICE
from tests.support.a2a_requests import (
    FORMS,
    HTTP_1,
    RPC_03,
    RPC_1,
    RPC_FORMS,
    A2a,
    connected,
    error_of,
    message_of,
    offered,
    over_rest,
    register,
    request,
)
from tests.support.echo_operations import SAID, echoing
from tools.engine.context import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.rate_limits import ALLOWANCES, Rate
from tools.engine.registry import CATALOGUE

WRONG = "as_test_" + "0" * 40
REPEAT = "repeat-" + "a" * 20


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stream", [False, True], ids=["send", "stream"])
async def test_a_key_in_the_message_s_metadata_opens_what_a_header_opens(
    market: Market, form: str, stream: bool
) -> None:
    async with connected(market) as a2a:
        agent, key = await register(a2a)
        inside = await a2a.call(form, "get_me", stream=stream, metadata={"api_key": key, "trace": {"a": 1.5}})
        bearer = await a2a.call(form, "get_me", stream=stream, headers={"authorization": f"Bearer {key}"})
        header = await a2a.call(form, "get_me", stream=stream, headers={"x-api-key": key}, metadata={"api_key": key})
    assert [heard.data["id"] for heard in (inside, bearer, header)] == [agent] * 3
    assert inside.data == bearer.data == header.data
    assert all(key not in heard.raw for heard in (inside, bearer, header))


@pytest.mark.parametrize("form", FORMS)
async def test_the_reserved_keys_may_stand_beside_or_among_the_arguments_as_over_mcp(market: Market, form: str) -> None:
    stored = {"key": "a", "value": 1}
    async with connected(market) as a2a:
        _, key = await register(a2a)
        among = await a2a.call(
            form, "put_memory", stored | {"api_key": key, "dry_run": True, "idempotency_key": "once"}
        )
        beside = await a2a.say(form, [{"tool": "put_memory", "arguments": stored, "dry_run": True, "api_key": key}])
        kept = await a2a.call(form, "list_memory", {"api_key": key})
        wrong = await a2a.call(form, "put_memory", stored | {"dry_run": "yes"}, metadata={"api_key": key})
        apart = await a2a.call(form, "get_me", {"api_key": WRONG}, metadata={"api_key": key})
    for heard in (among, beside):
        assert heard.message["metadata"]["emporion/dryRun"] is True
        assert key not in heard.raw
    assert kept.data["data"] == []
    assert error_of(wrong)["message"] == "dry_run: must be true or false"
    assert error_of(apart)["param"] == "api_key"
    assert key not in apart.raw
    assert WRONG not in apart.raw


async def test_a_key_in_the_request_s_metadata_counts_too(market: Market) -> None:
    async with connected(market) as a2a:
        agent, key = await register(a2a)
        params = {"message": message_of(RPC_1, [{"tool": "get_me"}]), "metadata": {"api_key": key}}
        heard = await a2a.ask(RPC_1, "SendMessage", params)
    assert heard.data["id"] == agent


@pytest.mark.parametrize("form", FORMS)
async def test_two_different_keys_are_refused(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        _, key = await register(a2a)
        _, other = await register(a2a, "Eve")
        apart = await a2a.call(form, "get_me", headers={"x-api-key": key}, metadata={"api_key": other})
        path, body = request(form, message_of(form, [{"tool": "get_me"}], metadata={"api_key": key}))
        body.get("params", body)["metadata"] = {"api_key": other}
        together = await a2a.http.post(path, json=body, headers={"a2a-version": "1.0" if "1.0" in form else "0.3"})
    refused = error_of(apart)
    assert (refused["code"], refused["param"]) == ("invalid_request", "api_key")
    assert "one call came with two different values" in together.text
    assert all(secret not in apart.raw + together.text for secret in (key, other))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["api_key", "idempotency_key"])
async def test_a_reserved_key_that_is_no_text_is_refused_and_not_echoed(market: Market, form: str, name: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": 1}, metadata={name: {"secret": "as_test_x"}})
    refused = error_of(heard)
    assert (refused["code"], refused["message"], refused["param"]) == (
        "invalid_request",
        f"{name}: must be a string",
        name,
    )
    assert "as_test_x" not in heard.raw
    assert SAID == []


@pytest.mark.parametrize("form", FORMS)
async def test_a_wrong_key_is_refused_even_where_none_is_needed_and_is_not_echoed(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(form, "say_json", {"value": 1}, metadata={"api_key": WRONG})
    assert error_of(heard)["code"] == "unauthenticated"
    assert WRONG not in heard.raw
    assert SAID == []


@pytest.mark.parametrize("form", FORMS)
async def test_keys_are_in_no_log_and_in_no_error_of_the_protocol(
    market: Market, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = {"api_key": WRONG, "idempotency_key": REPEAT}
    with capture_logs() as logs:
        async with connected(market) as a2a:
            heard = [await a2a.call(form, tool, metadata=secrets) for tool in ("say_json", "nothing_like_it")]
            heard.append(await a2a.say(form, ["hello"], metadata=secrets))
            heard.append(await a2a.call(form, "say_json", metadata=secrets, role=[1], messageId={"a": 1}))
            heard.append(await a2a.call(form, "say_json", {"value": 2**53}, metadata=secrets))
    assert [one.status < 500 for one in heard] == [True] * len(heard)
    told = caplog.text + str(logs) + "".join(one.raw for one in heard)
    assert all(secret not in told for secret in secrets.values())


@pytest.mark.parametrize("params", [{}, {"message": {}}])
async def test_an_error_that_shows_what_was_sent_shows_no_key(market: Market, params: dict[str, Any]) -> None:
    params.get("message", params)["metadata"] = {"api_key": "as_test_x", "note": 1}
    async with connected(market) as a2a:
        heard = await a2a.ask(RPC_03, "message/send", params)
    assert heard.error == (-32602, "Invalid params")
    assert "'note': 1" in heard.body["error"]["data"]
    assert "as_test_x" not in heard.raw


def test_the_sdk_is_shown_no_credential() -> None:
    secret = [(name, b"secret") for name in (b"authorization", b"x-api-key", b"idempotency-key")]
    call = CallState(CallRequest(Surface.A2A, "203.0.113.7", "req_1"))
    shown = for_sdk({"type": "http", "headers": [*secret, (b"a2a-version", b"1.0")]}, call)
    assert shown == {"type": "http", "headers": [(b"a2a-version", b"1.0")], "a2a.call": call}


@pytest.mark.parametrize("form", FORMS)
async def test_the_log_has_one_line_for_a_call_and_says_that_it_came_over_a2a(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        with capture_logs() as logs:
            await a2a.call(form, "say_json", {"value": 1}, headers={"x-request-id": "trace-0001"})
    assert [(line["event"], line["operation"], line["surface"], line["request_id"]) for line in logs] == [
        ("call", "say_json", "a2a", "trace-0001")
    ]


@pytest.mark.parametrize("form", FORMS)
async def test_a_repeat_with_its_key_in_metadata_runs_once_and_is_told_apart(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        first = await a2a.call(form, "say_json", {"value": 1}, metadata={"idempotency_key": REPEAT})
        again = await a2a.call(form, "say_json", {"value": 1}, metadata={"idempotency_key": REPEAT})
        other = await a2a.call(form, "say_json", {"value": 2}, metadata={"idempotency_key": REPEAT})
    assert first.data == again.data
    assert SAID == [1]
    assert ("metadata" in first.message, again.message["metadata"]) == (False, {"emporion/replayed": True})
    assert error_of(other)["code"] == "idempotency_key_reused"


async def test_a_repeat_may_come_in_another_form_or_over_another_surface(market: Market) -> None:
    async with connected(market) as a2a:
        first = await a2a.call(RPC_1, "say_json", {"value": 1}, metadata={"idempotency_key": REPEAT})
        header = await a2a.call(HTTP_1, "say_json", {"value": 1.0}, headers={"idempotency-key": REPEAT})
        old = await a2a.call(RPC_03, "say_json", {"value": 1}, metadata={"idempotency_key": REPEAT})
    rest = await over_rest(market, "POST", "/v1/echoes", json={"value": 1}, headers={"idempotency-key": REPEAT})
    assert first.data == header.data == old.data == rest
    assert SAID == [1]


async def test_two_different_repeat_keys_of_one_call_are_refused(market: Market) -> None:
    async with connected(market) as a2a:
        heard = await a2a.call(
            RPC_1,
            "say_json",
            {"value": 1},
            metadata={"idempotency_key": REPEAT},
            headers={"idempotency-key": REPEAT + "b"},
        )
    refused = error_of(heard)
    assert (refused["code"], refused["param"]) == ("invalid_request", "idempotency_key")
    assert SAID == []


@pytest.mark.parametrize("form", FORMS)
async def test_a_stranger_is_told_where_a_key_belongs(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        made = await a2a.call(form, "register_agent", {"name": "Ada"})
        key = made.data["api_keys"]["test"]
        inside = await a2a.call(form, "get_me", metadata={"api_key": key})
        header = await a2a.call(form, "get_me", headers={"x-api-key": key})
    assert made.message["metadata"] == inside.message["metadata"] == {"emporion/apiKey": KEY_ADVICE}
    assert "metadata" not in header.message


async def test_a6_calls_are_counted_against_the_address_they_come_from(limited: Market) -> None:
    async with connected(limited) as one, connected(limited, "203.0.113.8") as other:
        heard = [
            await one.call(RPC_1, "get_agent", {"agent_id": "ada"}) for _ in range(ALLOWANCES[Rate.READS].calls + 1)
        ]
        elsewhere = await other.call(RPC_1, "get_agent", {"agent_id": "ada"})
    codes: list[Any] = [answer.data["error"]["code"] for answer in heard]
    assert codes == ["not_found"] * ALLOWANCES[Rate.READS].calls + ["rate_limited"]
    assert elsewhere.data["error"]["code"] == "not_found"


async def test_registration_over_a2a_is_counted_with_every_other_registration(limited: Market) -> None:
    async with connected(limited) as a2a:
        heard = [await a2a.call(RPC_1, "register_agent", {"name": "Ada"}) for _ in range(21)]
    assert ["error" in answer.data for answer in heard] == [False] * 20 + [True]
    assert heard[-1].data["error"]["code"] == "rate_limited"


async def ask_card(a2a: A2a, form: str, key: str | None) -> Any:
    """Request the extended card; return the answer."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    if form in RPC_FORMS:
        method = "GetExtendedAgentCard" if form == RPC_1 else "agent/getAuthenticatedExtendedCard"
        return await a2a.ask(form, method, {}, headers)
    return await a2a.fetch(form, "/a2a/extendedAgentCard" if form == HTTP_1 else "/a2a/v1/card", headers=headers)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", [None, WRONG, "nonsense"])
async def test_the_extended_card_is_shown_to_nobody_without_a_valid_key(
    market: Market, form: str, key: str | None
) -> None:
    async with connected(market) as a2a:
        heard = await ask_card(a2a, form, key)
    code, message = heard.error
    assert code == (-32007 if form in RPC_FORMS else 400)
    assert message.startswith("the extended card is for callers with a key: ")
    assert "skills" not in heard.raw


@pytest.mark.parametrize("form", FORMS)
async def test_the_extended_card_lists_every_operation_as_a_skill(market: Market, form: str) -> None:
    async with connected(market) as a2a:
        _, key = await register(a2a)
        heard = await ask_card(a2a, form, key)
    card = heard.body["result"] if form in RPC_FORMS else heard.body
    assert {skill["id"]: skill["description"].split("\n")[0] for skill in card["skills"]} == {
        name: CATALOGUE[name].summary for name in offered()
    }
