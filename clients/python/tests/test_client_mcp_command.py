"""Tools of an MCP server that is a command are sold by the command line; the command may misbehave."""

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from client_market import eventually
from test_client_sources import listed, selling

from emporion_client import EmporionError, Market, NotDelivered, mcp_command
from emporion_client.cli import main
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
    return {"text": text[::-1], "seen": sorted({*os.environ} - {"LC_CTYPE"})}

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
# It writes much before it reads, has a child, and does not end by itself.
ODD = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
heard = []

def say(**message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    asked = json.loads(line)
    heard.append(asked.get("method"))
    name = asked.get("params", {}).get("name")
    if heard[-1] == "notifications/initialized":
        for id in ("a", "x" * 1000, [1], 1.5):
            say(id=id, method="ping")
        say(method="notifications/message", params="x" * 1_000_000)
    elif name == "hang":
        time.sleep(1000)
    elif name == "fork":
        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, start_new_session=True)
        say(id=asked["id"], result={"structuredContent": {"child": child.pid}})
    elif name == "leave":
        break
    elif name == "slow":
        say(method="notifications/progress")
    elif "id" in asked and heard[-1] is not None:
        say(id=asked["id"], result={"structuredContent": {"heard": heard, "process": os.getpid()}})
else:
    time.sleep(1000)
"""


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[McpCommand]:
    """A command that misbehaves."""
    monkeypatch.setattr(mcp_command, "CLOSING_SECONDS", 0.3)
    server = McpCommand(program(tmp_path, ODD), timeout=3)
    yield server
    server.close()


def program(folder: Path, text: str) -> list[str]:
    """Write a program; return the command that runs it."""
    (folder / "server.py").write_text(text)
    return [sys.executable, str(folder / "server.py")]


def test_tools_of_a_command_are_sold_by_one_command(buyer: Market, tmp_path: Path, market_url: str) -> None:
    words = ["sell-mcp", "--run", " ".join(program(tmp_path, TOOLS)), "--tool", "reverse_text", "--price", "0.01"]
    with selling(market_url, tmp_path / "home", *words, "--env", "MODEL_KEY", MODEL_KEY="x", OTHER_KEY="x"):
        listing = listed(buyer, "Reverse Text")
        assert buyer.buy(listing, {"text": "abc"}, "0.01").output == {"text": "cba", "seen": ["MODEL_KEY", "PATH"]}
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
    with pytest.raises(EmporionError, match="closed"):
        server.tool("reverse_text")(text="ab")


@pytest.mark.parametrize(
    ("answering", "told"),
    [
        ("pass", "does not answer tools/list in 2 s"),
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
    monkeypatch.setattr(mcp_command, "MAX_ANSWER_BYTES", 1000)
    server = McpCommand(program(tmp_path, LONE % answering), timeout=2)
    with pytest.raises(EmporionError, match=told):
        server.tools()
    server.close()


def test_a_command_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmporionError, match="nothing cannot be run"):
        McpCommand([str(tmp_path / "nothing")]).tools()


def test_a_variable_that_is_not_set_is_named(market_url: str, tmp_path: Path) -> None:
    words = ["sell-mcp", "--run", "true", "--env", "PATH", "--env", "NO_SUCH_KEY", "--price", "0.01"]
    with pytest.raises(SystemExit) as ended:
        main(["--market", market_url, "--home", str(tmp_path), *words])
    assert ended.value.code == "the environment has no variable NO_SUCH_KEY"


def test_a_variable_is_refused_for_a_server_with_an_address(market_url: str, tmp_path: Path) -> None:
    words = ["sell-mcp", "http://127.0.0.1:9/mcp", "--env", "PATH", "--price", "0.01"]
    with pytest.raises(SystemExit) as ended:
        main(["--market", market_url, "--home", str(tmp_path), *words])
    assert "--env is for a command" in str(ended.value.code)


@pytest.mark.parametrize(
    ("listed_tools", "told"),
    [
        ('{"tools": [{"name": "a"}]}', "no field inputSchema"),
        ('{"tools": [{"inputSchema": {}}]}', "no field name"),
        ('{"tools": [{"name": "a", "inputSchema": []}]}', "inputSchema of an answer is no dict"),
        ('{"tools": 1}', "tools of an answer is no list"),
        ("{}", "no field tools"),
    ],
)
def test_a_list_of_tools_without_what_the_protocol_requires_is_named(
    market_url: str, tmp_path: Path, listed_tools: str, told: str
) -> None:
    answering = f"print(json.dumps({{'id': asked['id'], 'result': {listed_tools}}}), flush=True)"
    run = " ".join(program(tmp_path, LONE % answering))
    with pytest.raises(SystemExit) as ended:
        main(["--market", market_url, "--home", str(tmp_path), "sell-mcp", "--run", run, "--price", "0.01"])
    assert told in str(ended.value.code)


def test_a_command_that_hangs_at_one_input_is_ended_and_started_again(odd: McpCommand) -> None:
    first = odd.tool("tell")()["process"]
    with pytest.raises(EmporionError, match="does not answer"):
        odd.tool("hang")()
    assert odd.tool("tell")()["process"] != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_slow_call_is_cancelled_and_others_go_on(odd: McpCommand) -> None:
    first = odd.tool("tell")()["process"]
    with pytest.raises(EmporionError, match="does not answer"):
        odd.tool("slow")()
    told = odd.tool("tell")()
    assert told["process"] == first
    assert told["heard"][-2:] == ["notifications/cancelled", "tools/call"]


def test_both_may_write_at_once(odd: McpCommand) -> None:
    odd.tool("tell")(text="x" * 1_000_000)
    assert odd.tool("tell")()["heard"].count(None) == 1  # its ping is answered, those with an odd id are not


def test_a_child_in_another_session_does_not_hold_the_end(odd: McpCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    child = odd.tool("fork")()["child"]
    try:
        assert odd._running is not None
        odd._running.write({"params": {"name": "leave"}})
        monkeypatch.setattr(mcp_command, "CLOSING_SECONDS", 3600)
        odd.close()  # the child has the stdout that the client reads
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_closed_command_leaves_no_process_and_is_not_started_again(odd: McpCommand) -> None:
    process = odd.tool("tell")()["process"]
    with ThreadPoolExecutor() as threads:
        hanging = threads.submit(odd.tool("hang"))
        eventually(lambda: odd._running and odd._running._waiting)
        odd.close()
        with pytest.raises(EmporionError, match="ended"):
            hanging.result(1)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    running = odd._running
    assert running is not None
    assert not running._reading.is_alive()  # its child, which had the same stdout, has ended too
    with pytest.raises(EmporionError, match="closed"):
        odd.tool("tell")()
