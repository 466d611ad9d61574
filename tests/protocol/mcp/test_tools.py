"""tools/list: the catalogue as tools, with schemas that published clients and model providers accept."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from protocol.mcp.toolsets import CALL, FIND
from protocol.reserved_arguments import API_KEY, DRY_RUN, IDEMPOTENCY_KEY, PROPERTIES, listed_schema
from tests.support.echo_operations import Node, echoing
from tests.support.mcp_client import ERAS, MODERN, connected
from tools.engine.arguments import Arguments
from tools.engine.caller import Surface
from tools.engine.context import TxContext
from tools.engine.dispatch import Market
from tools.engine.json_schemas import input_schema, output_schema
from tools.engine.registry import CATALOGUE, operation

KEY = [("x-api-key", "as_test_" + "0" * 40)]


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


ALL = "?toolsets=all"


def served() -> list[str]:
    """Return all tools in the order of ?toolsets=all: the tool that finds the others is first."""
    names = [op.name for op in CATALOGUE.values() if Surface.MCP in op.surfaces]
    return [FIND, CALL, *(name for name in names if name != FIND)]


async def tools_of(market: Market, era: str = MODERN, headers: Any = ()) -> dict[str, Any]:
    async with connected(market) as mcp:
        listed = (await mcp.ask(era, "tools/list", headers=headers, query=ALL)).result["tools"]
    return {tool["name"]: tool for tool in listed}


@pytest.mark.parametrize("era", ERAS)
async def test_every_operation_is_one_tool_in_the_order_of_the_catalogue(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        listed = (await mcp.ask(era, "tools/list", query=ALL)).result["tools"]
    assert [tool["name"] for tool in listed] == served()


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_says_what_it_does_takes_answers_and_changes(market: Market, era: str) -> None:
    assert (await tools_of(market, era))["pay_echo"] == {
        "name": "pay_echo",
        "title": "Pay echo",
        "description": "Say what is owed, or the value where nothing is.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "$defs": {"Env": ENV_SCHEMA},
            "properties": {
                "value": {"description": "any JSON"},
                "times": {"maximum": 9, "minimum": 1, "type": "integer", "description": "how often"},
                "env": {
                    "$ref": "#/$defs/Env",
                    "description": "live or test; default: the key's, otherwise live",
                },
                "api_key": PROPERTIES[API_KEY],
                "idempotency_key": PROPERTIES[IDEMPOTENCY_KEY],
                "dry_run": PROPERTIES[DRY_RUN],
            },
        },
        "outputSchema": {
            "type": "object",
            "properties": {"object": {"enum": ["echo", "terms"]}},
            "required": ["object"],
            "anyOf": [{"$ref": "#/$defs/Echoed"}, {"$ref": "#/$defs/Terms"}],
            "$defs": {
                "Echoed": {
                    "description": "What was said.",
                    "type": "object",
                    "properties": {
                        "object": {"const": "echo", "type": "string"},
                        "value": {},
                        "caller": {"type": ["string", "null"]},
                        "number": {"description": "counts up", "type": "integer"},
                    },
                    "required": ["value", "caller", "number"],
                },
                "Terms": {
                    "description": "What is owed.",
                    "type": "object",
                    "properties": {
                        "object": {"const": "terms", "type": "string"},
                        "amount": {"type": "integer"},
                    },
                    "required": ["amount"],
                },
            },
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }


ENV_SCHEMA = {
    "description": "The environment a key belongs to: live trades real USDC, test trades the faucet's.",
    "enum": ["live", "test"],
    "type": "string",
}


@pytest.mark.parametrize("era", ERAS)
async def test_the_key_argument_is_listed_only_where_the_connection_carries_no_credential(
    market: Market, era: str
) -> None:
    anonymous, keyed = await tools_of(market, era), await tools_of(market, era, KEY)
    takes_key = {name for name, tool in anonymous.items() if "api_key" in tool["inputSchema"]["properties"]}
    assert takes_key == {name for name in served() if name == CALL or CATALOGUE[name].auth != "none"}
    assert not [name for name, tool in keyed.items() if "api_key" in tool["inputSchema"]["properties"]]


async def test_the_key_of_a_repeat_is_listed_on_every_tool_that_changes_something(market: Market) -> None:
    listed = await tools_of(market)
    repeatable = {name for name, tool in listed.items() if "idempotency_key" in tool["inputSchema"]["properties"]}
    assert repeatable == {
        name for name in served() if name == CALL or not (CATALOGUE[name].safe or CATALOGUE[name].paid_rate)
    }


async def test_a_wrong_key_still_lists_the_tools(market: Market) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(MODERN, "tools/list", headers=[("authorization", "Bearer wrong")], query=ALL)
    assert (heard.status, [tool["name"] for tool in heard.result["tools"]]) == (200, served())


async def test_input_schemas_are_flat_objects_without_composition_at_their_root(market: Market) -> None:
    for name, tool in (await tools_of(market)).items():
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object", name
        assert schema["additionalProperties"] is False, name
        assert not {"anyOf", "oneOf", "allOf", "not", "$ref"} & set(schema), name


async def test_output_schemas_are_objects_at_their_root(market: Market) -> None:
    for name, tool in (await tools_of(market)).items():
        if name == "buy_with_x402":  # its unpaid result has the form of x402
            assert "outputSchema" not in tool
            continue
        Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["outputSchema"]["type"] == "object", name


def test_a_record_that_is_described_by_a_reference_still_has_an_object_at_its_root() -> None:
    node = {
        "description": "A tree, which pydantic describes with a reference.",
        "type": "object",
        "properties": {
            "object": {"const": "node", "default": "node", "type": "string"},
            "inner": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        },
        "required": ["inner"],
    }
    assert output_schema(CATALOGUE["show_tree"]) == {"$defs": {"Node": node}, **node}


def test_an_operation_that_answers_with_no_record_is_a_mistake_of_ours() -> None:
    def count_echoes(ctx: TxContext, _: Arguments) -> int:
        """Count."""
        return 0

    operation("GET /v1/echoes/count")(count_echoes)
    with pytest.raises(TypeError, match="count_echoes answers with something that is no record"):
        output_schema(CATALOGUE["count_echoes"])


def test_an_argument_with_a_reserved_name_is_a_mistake_of_ours() -> None:
    class Taken(Arguments):
        api_key: str

    def take_key(ctx: TxContext, _: Taken) -> Node:
        """Take a key."""
        return Node(inner=None)

    take_key.__annotations__["_"] = Taken
    operation("GET /v1/echoes/key")(take_key)
    with pytest.raises(TypeError, match=r"take_key has an argument with a reserved name: \['api_key'\]"):
        listed_schema(CATALOGUE["take_key"], is_anonymous=True)


def test_no_schema_carries_titles_that_pydantic_made_of_names() -> None:
    for op in CATALOGUE.values():
        for schema in (input_schema(op), output_schema(op)):
            assert not list(titles(schema)), op.name


def titles(schema: Any) -> Iterator[str]:
    """Yield every `title` keyword in a schema.

    A property or definition of that name is left out.
    """
    if isinstance(schema, list):
        for part in schema:
            yield from titles(part)
    if not isinstance(schema, dict):
        return
    for word, value in schema.items():
        if word == "title" and isinstance(value, str):
            yield value
        named = word in ("properties", "$defs")
        yield from titles(list(value.values()) if named else value)


async def test_the_sdk_knows_the_schema_of_every_tool_it_lists(market: Market) -> None:
    """Without the schemas, each call would first run the whole listing.

    With a gap, header checks are skipped.
    """
    async with connected(market) as mcp:
        lookup = mcp.surface.server.get_tool_input_schema
    assert lookup is not None
    assert [name for name in served() if lookup(name) is None] == []


async def test_the_list_may_be_kept_for_a_minute_by_the_connection_it_was_made_for(market: Market) -> None:
    async with connected(market) as mcp:
        result = (await mcp.ask(MODERN, "tools/list")).result
    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
@pytest.mark.parametrize("cursor", ["", "eA==", "\u2028" * 2000])
async def test_a_cursor_nobody_gave_is_refused(market: Market, era: str, method: str, cursor: str) -> None:
    async with connected(market) as mcp:
        heard = await mcp.ask(era, method, {"cursor": cursor})
    assert heard.error == {"code": -32602, "message": "Invalid cursor"}
