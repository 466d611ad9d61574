"""MCP Skills: the skill is listed with digests that its files have, only in modern protocol versions."""

import hashlib
from typing import Any

import mcp_types as t
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from protocol.mcp.skills import EXTENSION
from tests.support.protocols import served
from tests.support.trade import Trade

MAIN = "skill://emporion/SKILL.md"


class Found(t.Result):
    """A result of the extension's methods."""

    skills: list[dict[str, Any]] | None = None
    skill: dict[str, Any] | None = None


async def ask(client: Client, method: str, **params: Any) -> Found:
    """Call a method of the extension."""
    request: Any = t.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, Found)


async def test_the_listed_digests_are_those_of_the_files(trade: Trade) -> None:
    async with served(trade.market) as url, Client(f"{url}/mcp", mode="auto") as client:
        (entry,) = (await ask(client, "skills/list")).skills or ()
        assert (await ask(client, "skills/get", uri=MAIN)).skill == entry
        listed = {str(one.uri): one for one in (await client.list_resources()).resources}
        for file in entry["resources"]:
            (content,) = (await client.read_resource(file["uri"])).contents
            body = content.text.encode()  # type: ignore[union-attr]
            assert file["digest"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
            assert file["size"] == len(body) == listed[file["uri"]].size
        assert (entry["uri"], listed[MAIN].name) == (MAIN, entry["frontmatter"]["name"])
        assert listed[MAIN].description == entry["frontmatter"]["description"]
        assert client.server_capabilities.extensions == {EXTENSION: {}} | (client.server_capabilities.extensions or {})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills/get", {"uri": "skill://emporion/references/errors.md"}),
        ("skills/get", {"uri": "skill://other/SKILL.md"}),
        ("skills/get", {}),
        ("skills/list", {"cursor": "x"}),
    ],
)
async def test_an_unknown_skill_and_cursor_are_invalid_params(
    trade: Trade, method: str, params: dict[str, Any]
) -> None:
    async with served(trade.market) as url, Client(f"{url}/mcp", mode="auto") as client:
        with pytest.raises(MCPError) as refused:
            await ask(client, method, **params)
    assert refused.value.error.code == t.INVALID_PARAMS


async def test_older_sessions_read_the_files_as_resources_only(trade: Trade) -> None:
    async with served(trade.market) as url, Client(f"{url}/mcp", mode="legacy") as client:
        with pytest.raises(MCPError) as refused:
            await ask(client, "skills/list")
        assert refused.value.error.code == t.METHOD_NOT_FOUND
        assert (await client.read_resource(MAIN)).contents
