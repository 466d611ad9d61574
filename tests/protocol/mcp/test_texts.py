"""The texts of /mcp: instructions, prompts, completions, resources."""

import re
from typing import Any

import pytest

from protocol.discovery.skills import Skill
from protocol.mcp.resources import TEMPLATES
from protocol.mcp.texts import BUYING, COMMON_CATEGORIES, GUIDES, SELLING, instructions
from protocol.mcp.toolsets import CALL
from protocol.mcp.wording import Wording
from tests.support.fixed_market import FixedTexts
from tests.support.mcp_client import ERAS, MODERN, connected
from tools.engine.dispatch import Market
from tools.engine.registry import CATALOGUE

ARGUMENTS = {"api_key", "idempotency_key", "as_test_", "as_live_"}
EVERY_TOOL = {name for names, _ in (*BUYING, *SELLING) for name in names.split()}
PLAIN = Wording(frozenset())
WORD = re.compile(r"[a-z]+(?:_[a-z]*)+")


@pytest.mark.parametrize("registered", [EVERY_TOOL, set(), {"register_agent", "create_job"}])
def test_instructions_are_short_and_name_only_registered_tools(registered: set[str]) -> None:
    text = instructions(registered, PLAIN)
    assert len(text.encode()) <= 1536
    assert set(WORD.findall(text)) - ARGUMENTS <= registered


def test_instructions_name_every_step_of_buying_and_selling() -> None:
    text = instructions(EVERY_TOOL - {"hire"}, PLAIN)
    assert set(WORD.findall(text)) - ARGUMENTS == EVERY_TOOL - {"hire"}


def test_of_two_tools_for_one_step_the_first_that_is_registered_is_named() -> None:
    assert "hire (order, with the input the listing asks for)" in instructions(EVERY_TOOL, PLAIN)
    assert "create_job" not in instructions(EVERY_TOOL, PLAIN)


async def test_what_the_server_says_names_only_tools_it_lists(market: Market) -> None:
    async with connected(market) as mcp:
        text = (await mcp.ask(MODERN, "server/discover")).result["instructions"]
        prompts = [(await mcp.ask(MODERN, "prompts/get", {"name": name})).result for name in GUIDES]
    said = f"{text} {[part['content']['text'] for prompt in prompts for part in prompt['messages']]}"
    assert set(WORD.findall(said)) - ARGUMENTS <= {*CATALOGUE, CALL}


@pytest.mark.parametrize("era", ERAS)
async def test_the_prompts_are_listed_with_descriptions(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        listed = (await mcp.ask(era, "prompts/list")).result["prompts"]
    assert [(prompt["name"], [one["name"] for one in prompt["arguments"]]) for prompt in listed] == [
        ("buy", ["what", "category", "max_price", "env"]),
        ("sell", ["what", "category", "env"]),
        ("answer_bounty", ["what", "category", "env"]),
        ("judge_dispute", ["env"]),
    ]
    assert all(prompt["description"] for prompt in listed)
    assert all(argument["description"] for prompt in listed for argument in prompt["arguments"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_prompt_is_the_goal_the_wishes_and_the_steps(market: Market, era: str) -> None:
    given = {"what": "a summary of 20 pages", "max_price": "250000", "env": "test"}
    async with connected(market) as mcp:
        mcp.surface.tools.operations = {name: CATALOGUE[name] for name in ("search_listings", "create_job")}
        result = (await mcp.ask(era, "prompts/get", {"name": "buy", "arguments": given})).result
    assert result["description"] == "Find a service, order it, pay for it and take the result."
    assert result["messages"] == [
        {
            "role": "user",
            "content": {
                "type": "text",
                "text": (
                    "Buy a service on this market.\n"
                    "what: a summary of 20 pages\n"
                    "max_price: 250000 USDC minor units\n"
                    "env: test\n"
                    "\n"
                    "Work through these tools in this order and leave out what is done already:\n"
                    "1. search_listings: find a service and its price\n"
                    "2. call_tool(name=create_job): order, with the input the listing asks for"
                ),
            },
        }
    ]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "name, given, message",
    [
        ("rent", {}, "Unknown prompt: rent"),
        ("sell", {"max_price": "1"}, "sell has no argument max_price; it has what, category, env"),
        ("buy", {"env": "moon"}, "env: live or test"),
        ("buy", {"max_price": "1.5"}, "max_price: a whole number of USDC minor units"),
        ("buy", {"max_price": "٣"}, "max_price: a whole number of USDC minor units"),
        ("buy", {"max_price": "1" * 14}, "max_price: a whole number of USDC minor units"),
        ("buy", {"what": "x" * 501}, "what: at most 500 characters"),
    ],
)
async def test_what_a_prompt_cannot_use_is_refused(
    market: Market, era: str, name: str, given: dict[str, str], message: str
) -> None:
    async with connected(market) as mcp:
        answer = await mcp.ask(era, "prompts/get", {"name": name, "arguments": given})
    assert answer.error == {"code": -32602, "message": message}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "argument, begun, values",
    [
        ("category", "", list(COMMON_CATEGORIES)),
        ("category", "A", ["audio", "agent-ops"]),
        ("category", "zzz", []),
        ("env", "t", ["test"]),
        ("max_price", "5", ["500000", "5000000"]),
        ("what", "a", []),
    ],
)
async def test_arguments_of_prompts_complete(
    market: Market, era: str, argument: str, begun: str, values: list[str]
) -> None:
    asked = {"ref": {"type": "ref/prompt", "name": "buy"}, "argument": {"name": argument, "value": begun}}
    async with connected(market) as mcp:
        result = (await mcp.ask(era, "completion/complete", asked)).result
    assert result["completion"] == {"values": values, "total": len(values), "hasMore": False}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "ref, message",
    [
        ({"type": "ref/prompt", "name": "rent"}, "Unknown prompt: rent"),
        ({"type": "ref/prompt", "name": "sell"}, "sell has no argument max_price; it has what, category, env"),
        ({"type": "ref/resource", "uri": "doc://{name}"}, "only arguments of prompts complete"),
    ],
)
async def test_what_does_not_complete_is_refused(market: Market, era: str, ref: Any, message: str) -> None:
    async with connected(market) as mcp:
        answer = await mcp.ask(era, "completion/complete", {"ref": ref, "argument": {"name": "max_price", "value": ""}})
    assert answer.error == {"code": -32602, "message": message}


@pytest.mark.parametrize("era", ERAS)
async def test_the_documents_are_listed_and_read_as_resources(market: Market, era: str) -> None:
    texts = FixedTexts()
    async with connected(market) as mcp:
        listed = (await mcp.ask(era, "resources/list")).result["resources"]
        read = [(await mcp.ask(era, "resources/read", {"uri": one["uri"]})).result["contents"] for one in listed]
        templates = (await mcp.ask(era, "resources/templates/list")).result["resourceTemplates"]
    assert [(one["uri"], one["name"], one["mimeType"], one["size"]) for one in listed[:2]] == [
        ("doc://skill.md", "skill.md", "text/markdown", len(texts.skill_md.encode())),
        ("doc://llms.txt", "llms.txt", "text/markdown", len(texts.llms_txt.encode())),
    ]
    assert read[:2] == [
        [{"uri": "doc://skill.md", "mimeType": "text/markdown", "text": texts.skill_md}],
        [{"uri": "doc://llms.txt", "mimeType": "text/markdown", "text": texts.llms_txt}],
    ]
    assert [one["uri"] for one in listed[2:]] == [one.uri for one in Skill(texts).files]
    assert [one["uriTemplate"] for one in templates] == [one.uri for one in TEMPLATES]
    assert all(one["description"] and one["mimeType"] == "application/json" for one in templates)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("uri", ["doc://other", "file:///etc/passwd", "doc://skill.md/../llms.txt", ""])
async def test_a_resource_that_is_not_there_is_named_in_the_error(market: Market, era: str, uri: str) -> None:
    async with connected(market) as mcp:
        answer = await mcp.ask(era, "resources/read", {"uri": uri})
    assert answer.error == {"code": -32602, "message": "Resource not found", "data": {"uri": uri}}
