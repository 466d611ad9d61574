"""Tools of an MCP server that is a command are sold by the command line; the command may misbehave."""

import sys
from pathlib import Path

import pytest
from client_market import eventually
from test_client_sources import listed, selling

from emporion_client import EmporionError, Market, NotDelivered, mcp_command
from emporion_client.mcp_command import McpCommand

TOOLS = """
import os
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
server = FastMCP("Texts")

@server.tool
def reverse_text(text: str) -> dict[str, str | list[str]]:
    "Reverse a text."
    if not text:
        raise ToolError("No empty texts.")
    return {"text": text[::-1], "secrets": [name for name in os.environ if name.startswith("EMPORION_")]}

@server.tool
def leave() -> str:
    "End the server."
    os._exit(1)

server.run(transport="stdio", show_banner=False)
"""
LONE = """
import json, sys
print("ready")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
    elif "id" in asked:
        %s
"""


def program(folder: Path, text: str) -> list[str]:
    """Write a program; return the command that runs it."""
    (folder / "server.py").write_text(text)
    return [sys.executable, str(folder / "server.py")]


def test_tools_of_a_command_are_sold_by_one_command(buyer: Market, tmp_path: Path, market_url: str) -> None:
    words = ["sell-mcp", "--run", " ".join(program(tmp_path, TOOLS)), "--tool", "reverse_text", "--price", "0.01"]
    with selling(market_url, tmp_path / "home", *words):
        listing = listed(buyer, "Reverse Text")
        assert buyer.buy(listing, {"text": "abc"}, "0.01").output == {"text": "cba", "secrets": []}
        assert buyer.get_listing(listing_id=listing)["input_schema"]["required"] == ["text"]
        with pytest.raises(NotDelivered, match="No empty texts"):
            buyer.buy(listing, {"text": ""}, "0.01")


def test_a_command_that_ended_is_started_again(tmp_path: Path) -> None:
    server = McpCommand(program(tmp_path, TOOLS), timeout=60)
    assert set(server.tools()) == {"reverse_text", "leave"}
    with pytest.raises(EmporionError, match="ended"):
        server.tool("leave")()
    assert server.tool("reverse_text")(text="ab")["text"] == "ba"
    server.close()
    running = server._running
    assert running is not None
    eventually(lambda: running.ended, 10)
    assert running._process.poll() is not None


@pytest.mark.parametrize(
    ("answering", "told"),
    [
        ("pass", "TimeoutError"),
        ("sys.exit()", "ended"),
        ("sys.stdout.write('x' * 5000); sys.stdout.flush()", "too long"),
        ("print(json.dumps({'id': asked['id'], 'error': 'no'}), flush=True)", "refuses tools/list"),
        ("print(json.dumps({'id': asked['id'], 'result': 1}), flush=True)", "without a result"),
        ("print('[' * 900 + '\\\\xff', flush=True); sys.exit()", "ended"),
    ],
)
def test_an_answer_of_a_command_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answering: str, told: str
) -> None:
    monkeypatch.setattr(mcp_command, "MAX_LINE_BYTES", 1000)
    server = McpCommand(program(tmp_path, LONE % answering), timeout=2)
    with pytest.raises(EmporionError, match=told):
        server.tools()
    server.close()


def test_a_command_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmporionError, match="nothing cannot be run"):
        McpCommand([str(tmp_path / "nothing")]).tools()
