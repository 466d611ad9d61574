"""A command, an HTTP API and tools of an MCP server are sold by the command line, as processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from client_market import eventually, serving

from emporion_client import EmporionError, Market, NotDelivered, mcp_tools
from emporion_client.cli import main
from emporion_client.mcp_tools import McpServer
from emporion_client.receipts import verified_receipt

HANDLER = """
import json, os, sys
given = json.load(sys.stdin)
if given["text"] == "bad":
    sys.exit(print("reason: no bad texts", file=sys.stderr) or 65)
secrets = [name for name in os.environ if name.startswith("EMPORION_")]
print(json.dumps({"text": given["text"].upper(), "seen": sorted(secrets)}))
"""
TOOLS = """
import sys
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
server = FastMCP("Shapes")

@server.tool
def area(width: float, height: float) -> dict[str, float]:
    "Multiply width and height."
    if width < 0:
        raise ToolError("No negative sides.")
    return {"area": width * height}

@server.tool
def shape(sides: int) -> str:
    "Name a shape by the number of its sides."
    return {3: "triangle"}.get(sides, "polygon")

server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
"""


@contextmanager
def selling(url: str, home: Path, *words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command line of a seller until the context is left; a signal then ends it."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1]), "EMPORION_API_KEY": ""} | more
    command = [
        sys.executable,
        "-m",
        "emporion_client",
        "--market",
        url,
        "--home",
        str(home),
        "--name",
        "Source",
        *words,
    ]
    running = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        yield running
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.wait()


def listed(market: Market, title: str) -> str:
    """Wait for a listing; return its id."""

    def found() -> str:
        time.sleep(0.5)  # because searches are limited
        page = market.search_listings(q=title, env="test", sort="newest")["data"]
        return next((one["id"] for one in page if one["title"] == title), "")

    return str(eventually(found, 60))


def test_a_command_is_sold_without_seeing_a_key(buyer: Market, tmp_path: Path, market_url: str) -> None:
    handler, schema = tmp_path / "handler.py", tmp_path / "schema.json"
    handler.write_text(HANDLER)
    schema.write_text(json.dumps({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}))
    words = ["sell", "--run", f"{sys.executable} {handler}", "--title", "Upper case by command", "--price", "0.01"]
    with selling(market_url, tmp_path / "home", *words, "--schema", str(schema)):
        listing = listed(buyer, "Upper case by command")
        seen = ["EMPORION_ATTEMPT", "EMPORION_JOB_ID", "EMPORION_KEY"]
        assert buyer.buy(listing, {"text": "abc"}, "0.01").output == {"text": "ABC", "seen": seen}
        with pytest.raises(NotDelivered, match="no bad texts") as ended:
            buyer.buy(listing, {"text": "bad"}, "0.01")
        assert ended.value.job["status"] == "declined"
    assert buyer.get_listing(listing_id=listing)["status"] == "paused"


@contextmanager
def api() -> Iterator[tuple[str, list[str]]]:
    """Serve an HTTP API that fails once, refuses -1 and otherwise doubles."""
    keys: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            keys.append(self.headers["idempotency-key"])
            status = 503 if len(keys) == 1 else 422 if given["number"] < 0 else 200
            body = json.dumps({"number": given["number"] * 2}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        yield f"{url}/double", keys


def test_an_http_api_is_sold_and_tried_again_with_the_same_key(buyer: Market, tmp_path: Path, market_url: str) -> None:
    with api() as (url, keys):
        words = [
            "sell",
            "--http",
            url,
            "--title",
            "Double by HTTP",
            "--price",
            "0.01",
            "--description",
            "Doubles a number.",
        ]
        with selling(market_url, tmp_path, *words):
            listing = listed(buyer, "Double by HTTP")
            assert buyer.buy(listing, {"number": 4}, "0.01").output == {"number": 8}
            assert len(keys) == 2
            assert len(set(keys)) == 1
            with pytest.raises(NotDelivered, match="HTTP 422"):
                buyer.buy(listing, {"number": -1}, "0.01")


@pytest.fixture(scope="module")
def mcp_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an MCP server with two tools."""
    program = tmp_path_factory.mktemp("mcp") / "tools.py"
    program.write_text(TOOLS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    running = subprocess.Popen([sys.executable, str(program), str(port)], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        eventually(lambda: answers(url), 60)
        yield url
    finally:
        running.terminate()
        running.wait()


def answers(url: str) -> bool:
    try:
        httpx.get(url, trust_env=False)
    except httpx.HTTPError:
        time.sleep(0.1)
        return False
    return True


def test_tools_of_an_mcp_server_are_sold_by_one_command(
    buyer: Market, tmp_path: Path, market_url: str, mcp_url: str
) -> None:
    with selling(market_url, tmp_path, "sell-mcp", mcp_url, "--price", "0.01"):
        assert buyer.buy(listed(buyer, "Area"), {"width": 2, "height": 3}, "0.01").output == {"area": 6.0}
        assert buyer.buy(listed(buyer, "Shape"), {"sides": 3}, "0.01").output == {"result": "triangle"}
        with pytest.raises(NotDelivered, match="No negative sides"):
            buyer.buy(listed(buyer, "Area"), {"width": -2, "height": 3}, "0.01")


def test_a_session_that_the_mcp_server_forgot_is_opened_again(mcp_url: str) -> None:
    server = McpServer(mcp_url)
    assert set(server.tools()) == {"area", "shape"}
    server._session = "forgotten"
    assert server.tool("area")(width=1, height=2) == {"area": 2.0}
    server.close()


WRONG = {
    "list": b"[]",
    "deep": b"[" * 100_000,
    "half": b'{"id": 2, "result": {"content": [{"type": "text", "text": "\\ud800"}]}}',
    "text": b'{"id": 2, "result": {"content": "text"}}',
    "nothing": b"null",
}


class OddTools(BaseHTTPRequestHandler):
    """Answers too much, too long, with an empty event first or in a wrong form."""

    session = ""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = asked.get("params", {}).get("name")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if name else "application/json")
        if self.session:
            self.send_header("mcp-session-id", self.session)
        self.end_headers()
        told = json.dumps({"id": asked.get("id"), "result": {"structuredContent": {"name": name}}}).encode()
        told = WRONG.get(name, told)
        with suppress(OSError):
            while name == "drips" or "id" not in asked:
                self.wfile.write(b": ping\n\n")
                time.sleep(0.1)
            if name == "floods":
                self.wfile.write(b"data: " + b"x" * 2000)
            self.wfile.write(b"id: 1\ndata: \n\ndata: " + told + b"\r\n\r\n" if name else told)


def test_an_answer_over_http_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "MAX_ANSWER_BYTES", 1000)
    with serving(OddTools) as url:
        server = McpServer(url, timeout=1)
        assert server.tool("good")() == {"name": "good"}
        with pytest.raises(EmporionError, match="longer than 1000 bytes"):
            server.tool("floods")()
        with pytest.raises(EmporionError, match=r"does not end in time|ReadTimeout"):
            server.tool("drips")()
        server.close()


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_over_http_in_a_wrong_form_is_an_error_with_a_name(name: str) -> None:
    with serving(OddTools) as url:
        server = McpServer(url, timeout=5)
        with pytest.raises(EmporionError):
            server.tool(name)()
        server.close()


def test_a_session_id_that_the_protocol_does_not_allow_is_refused() -> None:
    with (
        serving(type("Odd", (OddTools,), {"session": "\xe9 \xff"})) as url,
        pytest.raises(EmporionError, match="session"),
    ):
        McpServer(url, timeout=5)


@pytest.mark.parametrize("url", ["ftp://x", "http://[", "http://127.0.0.1:1/mcp", "nonsense"])
def test_an_mcp_server_that_cannot_be_reached_is_named(url: str) -> None:
    with pytest.raises(EmporionError, match="does not answer initialize"):
        McpServer(url, timeout=5)


def test_the_command_line_finds_buys_and_finishes(
    market_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], clerk: Any
) -> None:
    own = ["--market", market_url, "--home", str(tmp_path)]
    main([*own, "find", "count words"])
    said = capsys.readouterr()
    listing = said.out.strip()
    assert (listing, said.err) == (clerk.listing("count"), "Count the words of a text\n")
    main([*own, "buy", listing, '{"text": "one two"}', "--max-price", "0.01"])
    said = capsys.readouterr()
    assert json.loads(said.out) == {"words": 2}
    (shown,) = said.err.splitlines()
    assert shown.startswith("Its receipt: emporion-client receipt job_")
    job = shown.split()[-1]
    main([*own, "receipt", job])
    signed = json.loads(capsys.readouterr().out)
    with Market(market_url, home=tmp_path) as market:
        assert verified_receipt(signed, market.get_platform_keys())["job"]["id"] == job
    with pytest.raises(SystemExit, match="no such job"):
        main([*own, "receipt", "job_0"])
    main([*own, "finish-payments"])
    assert "Nothing is open" in capsys.readouterr().out
    for words in (["buy", listing, "{}", "--max-price", "0.001"], ["--live", "buy", listing, "{}", "--max-price", "1"]):
        with pytest.raises(SystemExit) as ended:
            main([*own, *words])
        assert isinstance(ended.value.code, str)


def test_a_tool_that_is_not_there_is_named(market_url: str, tmp_path: Path, mcp_url: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--market", market_url, "--home", str(tmp_path), "sell-mcp", mcp_url, "--tool", "no", "--price", "1.00"])
    assert "it has area, shape" in str(ended.value.code)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--run", "./nothandler"], "./nothandler cannot be run"),
        (["--run", "/"], "/ cannot be run"),
        (["--run", ""], "An empty command cannot be run"),
        (["--run", "cat", "--schema", "/none.json"], "/none.json cannot be read: No such file"),
        (["--run", "cat", "--schema", __file__], "test_client_sources.py is no JSON"),
        (["--run", "cat", "--schema", "LIST"], "holds no JSON object"),
    ],
)
def test_a_source_that_cannot_be_sold_is_refused_at_the_start(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "list.json").write_text("[1]")
    words = [str(tmp_path / "list.json") if one == "LIST" else one for one in words]
    with pytest.raises(SystemExit) as ended:
        main(["--home", str(tmp_path / "home"), "sell", *words, "--title", "Nothing", "--price", "0.01"])
    assert told in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def test_the_command_line_names_its_own_options(market_url: str, tmp_path: Path, clerk: Any) -> None:
    own = ["--market", market_url, "--home"]
    for words, told in (
        ([*own, str(clerk.market.account.folder), "find", "count words"], "a buyer needs another home: --home"),
        ([*own, str(tmp_path), "--live", "buy", clerk.listing("count"), "{}", "--max-price", "1"], ": --spend 5.00"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert str(ended.value.code).endswith(told)


def test_a_title_cannot_command_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Market, "find", lambda *_: "lst_1")
    monkeypatch.setattr(Market, "get_listing", lambda *_, **__: {"title": "Count\x1b[2J\nwords \u202e"}, raising=False)
    main(["--home", str(tmp_path), "find", "count"])
    assert capsys.readouterr() == ("lst_1\n", "Count\\x1b[2J\\nwords \\u202e\n")


def test_errors_of_this_package_have_one_base() -> None:
    assert issubclass(NotDelivered, EmporionError)
