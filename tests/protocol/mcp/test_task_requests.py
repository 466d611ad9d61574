"""MCP tasks at the protocol level: ownership, keys, malformed requests, and notifications."""

import json
from typing import Any

import pytest

from protocol.mcp.request import TASKS
from tests.support.mcp_client import HANDSHAKE, MODERN, TASK_METHODS, connected
from tests.support.mcp_task_client import Host, accepted, host_of
from tests.support.trade import Trade

NOWHERE = "job_" + "0" * 26


async def test_a_task_of_another_is_as_unknown_as_none(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job, nosy = await trade.job_at("open", seller, buyer), await trade.agent("Nosy")
    async with connected(trade.market.market) as mcp:
        for method in TASK_METHODS:
            for host in (Host(mcp, seller), Host(mcp, nosy)):
                given: Any = {"inputResponses": {}} if method == "tasks/update" else {}
                mine = (await host.ask(method, taskId=job["id"], **given)).error
                none = (await host.ask(method, taskId=NOWHERE, **given)).error
                assert (mine["code"], mine["message"]) == (none["code"], none["message"]) == (-32602, "Unknown task")
                assert mine["data"].keys() == none["data"].keys()
                assert mine["data"]["error"]["code"] == none["data"]["error"]["code"] == "not_found"
            nobody = (await Host(mcp, None).ask(method, taskId=job["id"], **given)).error
            assert (nobody["code"], nobody["data"]["error"]["code"]) == (-32602, "unauthenticated")
    assert (await trade.seen(buyer, job))["status"] == "open"


async def test_the_key_of_a_task_may_come_as_the_reserved_member_and_is_never_said_again(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    key = buyer.keys["test"]
    async with connected(trade.market.market) as mcp:
        stranger, other = Host(mcp, None), Host(mcp, seller)
        heard = await stranger.ask("tasks/get", taskId=job["id"], api_key=key)
        assert heard.result["taskId"] == job["id"]
        for host, given, code in (
            (other, key, "invalid_request"),
            (stranger, [54321], "invalid_request"),
            (stranger, key + "x", None),
        ):
            refused = await host.ask("tasks/get", taskId=job["id"], api_key=given)
            assert refused.error["code"] == -32602
            assert code in (None, refused.error["data"]["error"]["code"])
            assert str(given) not in json.dumps(refused.messages)
        await stranger.ask("tasks/cancel", taskId=job["id"], api_key=key)
    assert key not in json.dumps(heard.messages)
    assert (await trade.seen(buyer, job))["status"] == "cancelled"


@pytest.mark.parametrize("method", TASK_METHODS)
async def test_what_is_wrong_with_a_request_is_said_as_the_extension_says_it(trade: Trade, method: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    good: Any = {"taskId": job["id"]} | ({"inputResponses": {}} if method == "tasks/update" else {})
    async with host_of(trade, buyer) as host:
        wrong = [{**good, "taskId": 7}, {**good, "taskId": None}, {k: v for k, v in good.items() if k != "taskId"}]
        wrong += [{**good, "taskId": "x" * 500}]
        wrong += [{"taskId": job["id"]}, {**good, "inputResponses": []}] if method == "tasks/update" else []
        for params in wrong:
            heard = await host.ask(method, **params)
            assert (heard.status, heard.error["code"]) == (400, -32602), params
        plain = Host(host.mcp, buyer, tasks=False)
        undeclared = (await plain.ask(method, **good)).error
        assert undeclared["code"] == -32021
        assert undeclared["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": good | {"_meta": _whole(host)}}
        common = [("content-type", "application/json"), ("accept", "application/json, text/event-stream"),
                  ("mcp-protocol-version", MODERN), ("mcp-method", method), *host.headers]  # fmt: skip
        elsewhere = await host.mcp.post(json.dumps(body).encode(), [*common, ("mcp-name", NOWHERE)])
        assert (elsewhere.status, elsewhere.error["code"]) == (400, -32020)
        unnamed = await host.mcp.post(json.dumps(body).encode(), common)
        assert unnamed.status == 200
        for removed in ("tasks/list", "tasks/result"):
            assert (await host.ask(removed, taskId=job["id"])).error["code"] == -32601
        assert (await host.mcp.ask(HANDSHAKE, method, good, headers=host.headers)).error["code"] == -32601


def _whole(host: Host) -> dict[str, Any]:
    said = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    return said | host.meta["_meta"]


async def test_discovery_says_so_and_the_handshake_which_has_no_tasks_does_not(trade: Trade) -> None:
    async with host_of(trade, None) as host:
        found = (await host.ask("server/discover")).result["capabilities"]
        hello: Any = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {"extensions": {TASKS: {}}},
            "clientInfo": {"name": "t", "version": "1"},
        }
        answered = (await host.mcp.ask(HANDSHAKE, "initialize", hello)).result["capabilities"]
    assert found["extensions"][TASKS] == {}
    assert "tasks" not in found
    assert TASKS not in json.dumps(answered)


async def test_at_the_address_for_reading_a_task_is_read_and_nothing_else(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with host_of(trade, buyer, query="/readonly") as host:
        ((key, _),) = (await host.task(job["id"]))["inputRequests"].items()
        for heard in (
            await host.ask("tasks/cancel", taskId=job["id"]),
            await host.update(job["id"], **{key: accepted(transaction="0x" + "1" * 64)}),
        ):
            assert (heard.error["code"], heard.error["data"]["error"]["code"]) == (-32602, "forbidden")
    assert (await trade.seen(buyer, job))["status"] == "delivered"
