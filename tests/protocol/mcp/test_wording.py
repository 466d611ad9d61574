"""Answers over MCP name tools that are not listed by way of call_tool, so that any host can call them."""

import json
from typing import Any

import pytest
from mcp.client import Client

from protocol.mcp.texts import GUIDES
from protocol.mcp.tools import tool_of
from protocol.mcp.toolsets import CALL, CORE, FIND
from protocol.mcp.wording import Wording
from tests.requirements import covers
from tests.support.brief_texts import is_short_for
from tests.support.mcp_client import ERAS, HANDSHAKE, MODERN, connected
from tests.support.protocols import served
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE
from tools.engine.caller import Surface

HIDING = Wording(frozenset({"hire", "get_dispute", "create_bounty"}))
SERVED = frozenset(op.name for op in CATALOGUE.values() if Surface.MCP in op.surfaces)
START = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.parametrize(
    "text, told",
    [
        ("Read it with get_dispute, then vote.", "Read it with call_tool(name=get_dispute), then vote."),
        ("get_dispute shows it; so does get_job.", "call_tool(name=get_dispute) shows it; so does get_job."),
        ("POST /v1/jobs/get_dispute, or `get_dispute`", "POST /v1/jobs/get_dispute, or `get_dispute`"),
        ("See call_tool(name=get_dispute) again", "See call_tool(name=get_dispute) again"),
        ("forget_disputes or my_get_dispute", "forget_disputes or my_get_dispute"),
        ("get_dispute", "get_dispute"),
    ],
)
def test_a_sentence_names_a_tool_that_is_not_listed_by_call_tool(text: str, told: str) -> None:
    assert HIDING.text(text) == told
    assert Wording(frozenset()).text(text) == text


def test_a_step_keeps_its_other_members_and_what_agents_wrote_is_left_alone() -> None:
    step = {"action": "dispute", "why": "See get_dispute.", "tool": "get_dispute", "arguments": {"a": 1}, "path": "/x"}
    theirs = {"next_steps": [step], "hint": "Use get_dispute now."}
    record = {"object": "job", "role": "buyer", "title": "get_dispute it is", "input": theirs, "next_steps": [step]}
    told = HIDING.record(CATALOGUE["get_job"], record)
    through = {"tool": CALL, "arguments": {"name": "get_dispute", "arguments": {"a": 1}}}
    assert told == record | {"next_steps": [step | through | {"why": "See call_tool(name=get_dispute)."}]}
    listed = record | {"next_steps": [step | {"tool": "get_job", "why": "Look."}]}
    assert HIDING.record(CATALOGUE["get_job"], listed) is listed, "nothing is made anew where nothing changes"


def test_what_is_signed_stays_as_it_was_signed() -> None:
    signed = {"object": "signed_receipt", "receipt": {"note": "See get_dispute."}, "signature": {}}
    assert HIDING.record(CATALOGUE["get_receipt"], signed) is signed


async def ended(trade: Trade) -> tuple[Any, dict[str, Any]]:
    """Return a buyer that may dispute, and arguments of get_job; dispute_job is not listed."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    return buyer, {"job_id": job["id"], "api_key": buyer.keys["test"]}


@covers("second.mcp_steps.followed")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_step_of_call_tool_is_followed_as_it_stands(trade: Trade, mode: Any) -> None:
    _, given = await ended(trade)
    async with served(trade.market) as url, Client(f"{url}/mcp", mode=mode) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        seen = (await client.call_tool("get_job", given)).structured_content or {}
        (step,) = [one for one in seen["next_steps"] if one["action"] == "dispute"]
        assert step["tool"] in listed
        call = step["arguments"]
        call["arguments"] |= {"reason": "This is not English."}
        done = await client.call_tool(step["tool"], {**call, "api_key": given["api_key"]})
    assert (done.is_error, (done.structured_content or {})["status"]) == (False, "disputed")


@covers("second.mcp_steps.views")
async def test_each_address_is_told_of_its_own_tools_and_rest_of_none(trade: Trade) -> None:
    """Each URL gets its own wording of the same answer, also if it is in the cache."""
    buyer, given = await ended(trade)
    rest = await trade.market.call("get_job", by=buyer, job_id=given["job_id"])
    async with connected(trade.market.market) as mcp:
        for _ in range(2):
            for query, hidden in (("", True), ("?toolsets=all", False), ("/x/buying", False), ("/readonly", True)):
                result = await mcp.call(MODERN, "get_job", given, query=query)
                told, text = result["structuredContent"], json.loads(result["content"][0]["text"])
                assert is_short_for(text["next_steps"], told["next_steps"], "next_steps")
                (step,) = [one for one in told["next_steps"] if one["action"] == "dispute"]
                assert step["tool"] == (CALL if hidden else "dispute_job"), query
                if query == "?toolsets=all":
                    assert told == rest


async def test_a_refusal_is_told_alike_in_its_text_and_beside_it(trade: Trade) -> None:
    async with connected(trade.market.market) as mcp:
        for query, hint in (("", "call_tool(name=list_my_bounties) shows yours."), ("/x/bounties", "list_my_bounties")):
            agent = await trade.agent("Ada")
            given = {"bounty_id": f"bty_{'0' * 26}", "api_key": agent.keys["test"]}
            result = await mcp.call(MODERN, "close_bounty", given, query=query)
            told = json.loads(result["content"][0]["text"])["error"]
            assert told["hint"].startswith(hint)
            assert told == result["_meta"]["service/error"]


@covers("second.mcp_steps.texts")
@pytest.mark.parametrize("query", ["", "?toolsets=all", "/x/disputes", "/readonly"])
async def test_instructions_prompts_and_descriptions_name_tools_as_the_address_lists_them(
    trade: Trade, query: str
) -> None:
    async with connected(trade.market.market) as mcp:
        tools = (await mcp.ask(MODERN, "tools/list", query=query)).result["tools"]
        said = [
            (await mcp.ask(MODERN, "server/discover", query=query)).result["instructions"],
            (await mcp.ask(HANDSHAKE, "initialize", START, query=query)).result["instructions"],
        ]
        for name in GUIDES:
            prompt = (await mcp.ask(MODERN, "prompts/get", {"name": name}, query=query)).result
            said.append(prompt["messages"][0]["content"]["text"])
    assert said[0] == said[1]
    assert len(said[0].encode()) <= 2048
    hiding = Wording(SERVED - {tool["name"] for tool in tools})
    said += [tool["description"].partition("Other tools: ")[0] for tool in tools]
    assert [text for text in said if hiding.text(text) != text] == []
    assert any("call_tool(name=" in text for text in said) == (query != "?toolsets=all")


@pytest.mark.parametrize("era", ERAS)
async def test_to_sell_is_told_with_listed_tools_alone(trade: Trade, era: str) -> None:
    async with connected(trade.market.market) as mcp:
        prompt = (await mcp.ask(era, "prompts/get", {"name": "sell"})).result
    text = prompt["messages"][0]["content"]["text"]
    assert "get_inbox: wait for orders" in text
    assert "list_jobs" not in text
    assert "call_tool" not in text


async def test_where_all_tools_are_listed_they_are_described_as_the_registry_says(trade: Trade) -> None:
    async with connected(trade.market.market) as mcp:
        tools = (await mcp.ask(MODERN, "tools/list", query="?toolsets=all")).result["tools"]
    described = {tool["name"]: tool["description"] for tool in tools if tool["name"] != CALL}
    assert described == {name: tool_of(CATALOGUE[name], is_anonymous=True).description for name in described}
    assert {FIND, *CORE} - {CALL} <= described.keys()
