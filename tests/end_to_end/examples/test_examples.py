"""Each program of examples/ runs against a served sandbox, and so does the code of the README."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from emporion_client import EmporionError, InvalidRequest, Market, NotDelivered
from tests.end_to_end.processes.test_demo import environment, free_ports, served

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
SECONDS = 60
MAX_LINES = 40
MCP_SERVER = """
import sys
from fastmcp import FastMCP
server = FastMCP("Shapes")
@server.tool
def area(width: int, height: int) -> dict[str, int]:
    "The area of a rectangle."
    return {"area": width * height}
@server.tool
def perimeter(width: int, height: int) -> dict[str, int]:
    "The perimeter of a rectangle."
    return {"perimeter": 2 * (width + height)}
http = {"transport": "http", "host": "127.0.0.1", "port": int(sys.argv[1])} if sys.argv[1:] else {}
server.run(**http, show_banner=False)
"""
HANDLER = (
    f"#!{sys.executable}\nimport json, sys\nprint(json.dumps({{'upper': json.load(sys.stdin)['text'].upper()}}))\n"
)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Place:
    """A served market, the environment of a program, and an agent that looks at the market."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.buyer = Market(url, name="Test buyer", home=folder / "test-buyer")
        (folder / "emporion-client").write_text(f'#!/bin/sh\nexec {sys.executable} -m emporion_client "$@"\n')
        (folder / "emporion-client").chmod(0o755)

    def environment(self, home: str, **more: str) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
        own |= {"EMPORION_URL": self.url, "EMPORION_HOME": str(self.folder / home), "PYTHON": sys.executable}
        own |= {"HOME": str(self.folder / home), "PYTHONPATH": str(ROOT / "clients/python")}
        own |= {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        return own | more

    def run(self, name: str, *words: str, home: str, **more: str) -> str:
        """Run an example to its end; return its output."""
        ended = ran([*interpreter(name), str(EXAMPLES / name), *words], self.environment(home, **more), ROOT)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def refused(self, name: str, *, home: str, **more: str) -> str:
        """Run an example that fails; return the one line that it says."""
        return one_line(ran([*interpreter(name), str(EXAMPLES / name)], self.environment(home, **more), ROOT))

    @contextmanager
    def running(self, path: Path, *words: str, title: str, **more: str) -> Iterator[str]:
        """Run a seller until its listing is found; yield the listing's id."""
        command = [*interpreter(path.name), str(path), *words]
        with subprocess.Popen(
            command, env=self.environment(path.stem + "-".join(words)[:9], **more), cwd=ROOT
        ) as seller:
            try:
                yield self.listing(title)
            finally:
                seller.terminate()

    def listing(self, title: str) -> str:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            found = self.buyer.search_listings(q=title, env="test")["data"]
            for one in found:
                if one["title"] == title:
                    return str(one["id"])
            time.sleep(0.1)
        raise AssertionError(f"no listing {title!r}")


def ran(command: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def one_line(ended: subprocess.CompletedProcess[str]) -> str:
    """Return what a program said that failed; it is one line."""
    assert ended.returncode == 1, ended.stderr
    (line,) = ended.stderr.splitlines()
    return line


def listens(port: int) -> None:
    """Wait until a program listens on this port."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on {port}")


def interpreter(name: str) -> list[str]:
    return ["sh"] if name.endswith(".sh") else [sys.executable]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("market")
    with free_ports(2) as ports:
        own = environment(folder, ports)
    with served(own, "--desk"):
        place = Place(f"http://127.0.0.1:{ports[0]}", folder)
        yield place
        place.buyer.close()


@contextmanager
def judging() -> Iterator[str]:
    """Serve POST /judge, which finds every text friendly."""

    class Judge(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["idempotency-key"]
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"tone": "friendly"}')

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_examples_are_short_and_all_of_them_run_here() -> None:
    shown = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh")}
    assert [name for name in shown if len((EXAMPLES / name).read_text().splitlines()) >= MAX_LINES] == []
    here = Path(__file__).read_text()
    assert [name for name in shown if f'"{name}"' not in here] == []
    explained = (EXAMPLES / "README.md").read_text()
    assert [name for name in shown if f"| `{name}` |" not in explained] == []


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("buyer_mcp.py", [], 'set LISTING_ID to what this prints: .venv/bin/emporion-client find "count words"'),
        ("peer_a2a.py", [], 'set LISTING_ID to what this prints: .venv/bin/emporion-client find "count words"'),
        ("seller_model.py", [], "Set MODEL_URL to the address of a service"),
        ("seller_webhook.py", [], "Set PUBLIC_URL, for example to http://127.0.0.1:9000"),
        ("resilient_buyer.py", [], "Name a CSV file"),
        ("sell_mcp.sh", ["mcp"], "usage: sell_mcp.sh mcp http://127.0.0.1:9000/mcp area"),
        ("sell_mcp.sh", [], "usage: sell_mcp.sh http http://127.0.0.1:9001/forecast"),
    ],
)
def test_an_example_that_lacks_a_word_says_which(tmp_path: Path, name: str, words: list[str], said: str) -> None:
    client = tmp_path / ".venv/bin/emporion-client"
    client.parent.mkdir(parents=True)
    client.write_text("")
    client.chmod(0o755)
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    own = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "clients/python")}
    command = [*interpreter(name), str(tmp_path / "examples" / name), *words]
    ended = ran(command, own, tmp_path)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("buyer_mcp.py", [], "http://127.0.0.1:1): start `make run`, or set EMPORION_URL"),
        ("peer_a2a.py", [], "http://127.0.0.1:1 (ConnectError): start `make run`, or set EMPORION_URL"),
        ("trade.sh", [], "http://127.0.0.1:1: start `make run`, or set EMPORION_URL"),
        ("resilient_buyer.py", ["nope.csv"], "nope.csv is no CSV file with the columns id and text"),
        ("resilient_buyer.py", ["."], ". is no CSV file with the columns id and text"),
        ("resilient_buyer.py", [str(EXAMPLES / "README.md")], "README.md is no CSV file with the columns id and text"),
    ],
)
def test_an_example_that_cannot_begin_says_so_in_one_line(
    tmp_path: Path, name: str, words: list[str], said: str
) -> None:
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "clients/python")}
    own |= {"PYTHON": sys.executable, "EMPORION_URL": "http://127.0.0.1:1", "LISTING_ID": "lst_x"}
    assert said in one_line(ran([*interpreter(name), str(EXAMPLES / name), *words], own, tmp_path))


def test_the_trade_names_the_python_that_cannot_sign(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    own, command = {"PATH": os.environ["PATH"]}, ["sh", str(tmp_path / "examples/trade.sh")]
    said = "has no eth-account; run: make install, or set PYTHON"
    assert one_line(ran(command, own, Path("/"))) == f"{tmp_path}/.venv/bin/python {said}"
    assert one_line(ran(command, own | {"PYTHON": "./none"}, Path("/"))) == f"./none {said}"


def test_the_command_of_the_client_is_found_beside_the_examples(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    own, script = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, str(tmp_path / "examples/sell_mcp.sh")
    words = ["sh", script, "http", "http://127.0.0.1:9001/forecast"]
    ended = ran(words, own, Path("/"))
    assert (ended.returncode, ended.stderr) == (1, "emporion-client is not installed; run: make install\n")
    client = tmp_path / ".venv/bin/emporion-client"
    client.parent.mkdir(parents=True)
    client.write_text('#!/bin/sh\necho "$EMPORION_HOME" "$@"\n')
    client.chmod(0o755)
    ended = subprocess.run(words, env=own, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=True)
    assert ended.stdout == (
        f"{tmp_path}/.emporion/sell-mcp sell --http http://127.0.0.1:9001/forecast --title Forecast --price 0.01\n"
    )


def test_a_function_is_sold_to_each_buyer(place: Place, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text\n1,a b c\n2,d e\n")
    with place.running(EXAMPLES / "seller.py", title="Count the words of a text") as listing:
        assert place.run("buyer.py", home="buyer") == "{'words': 3}\n"
        for _ in range(2):
            assert place.run("resilient_buyer.py", str(rows), home="rows") == "1 {'words': 3}\n2 {'words': 2}\n"
        assert place.run("buyer_mcp.py", home="mcp", LISTING_ID=listing) == "{'words': 3}\n"
        followed = place.run("peer_a2a.py", home="a2a", LISTING_ID=listing).splitlines()
        assert "stop it, or use another home" in place.refused("seller.py", home="seller")
    assert followed[0] == "TASK_STATE_SUBMITTED"
    assert followed[-1].startswith("send 10000 of 0x")
    orders = Market(place.url, home=place.folder / "rows" / f"127.0.0.1-{place.url.rsplit(':', 1)[1]}-test")
    assert len(orders.list_jobs(role="buyer")["data"]) == 2
    orders.close()


def test_a_model_is_sold_with_types_and_a_check(place: Place) -> None:
    with (
        judging() as url,
        place.running(EXAMPLES / "seller_model.py", title="Judge the tone of a text", MODEL_URL=url) as listing,
    ):
        assert "stop it, or use another home" in place.refused("seller_model.py", home="seller_model", MODEL_URL=url)
        assert place.buyer.buy(listing, {"text": "Thank you."}, max_price="0.02").output == {"tone": "friendly"}
        with pytest.raises(EmporionError, match="At most 2000 words"):
            place.buyer.buy(listing, {"text": "word " * 2001}, max_price="0.02")


@pytest.mark.parametrize("name", ["buyer_mcp.py", "peer_a2a.py"])
def test_an_order_that_the_market_refuses_ends_with_its_reason(place: Place, name: str) -> None:
    assert "there is no such listing" in place.refused(name, home="refused", LISTING_ID="lst_none")


def test_a_webhook_works_each_order_also_after_a_restart(place: Place) -> None:
    with free_ports(1) as ports:
        url = f"http://127.0.0.1:{ports[0]}"
    name, own = "seller_webhook.py", {"home": "webhook", "PORT": str(ports[0]), "PUBLIC_URL": url}
    command, said = [sys.executable, str(EXAMPLES / name)], []
    for text, word in (("one three", "three"), ("four six", "four")):
        with subprocess.Popen(command, env=place.environment(**own), stdout=subprocess.PIPE, text=True) as seller:
            try:
                assert seller.stdout is not None
                said.append(seller.stdout.readline())
                listing = place.listing("Find the longest word, by webhook")
                assert place.buyer.buy(listing, {"text": text}, max_price="0.02").output == {"word": word}
                with pytest.raises(NotDelivered, match="There is no word in this text"):
                    place.buyer.buy(listing, {"text": " "}, max_price="0.02")
                with pytest.raises(InvalidRequest, match='"type": "string"'):
                    place.buyer.buy(listing, {"text": 5}, max_price="0.02")
                assert httpx.post(url, content=b"{}").status_code == 401
                assert "another process already does this (seller)" in place.refused(name, **own)
            finally:
                seller.terminate()
    assert said == [f"selling {listing} at {url}\n"] * 2
    with Market(place.url, home=place.folder / "webhook/.emporion/webhook-seller") as market:
        assert [one["id"] for one in market.list_my_listings()["data"]] == [listing]
        assert [one["url"] for one in market.list_webhooks()["data"]] == [url]


def test_a_tool_and_a_command_and_a_service_are_sold_by_one_line(place: Place, tmp_path: Path) -> None:
    handler, schema, tool = tmp_path / "handler", tmp_path / "schema.json", tmp_path / "tool.py"
    handler.write_text(HANDLER)
    handler.chmod(0o755)
    schema.write_text(json.dumps(SCHEMA))
    tool.write_text(MCP_SERVER)
    script = EXAMPLES / "sell_mcp.sh"
    with place.running(script, "run", str(handler), str(schema), title="Upper case") as listing:
        assert place.buyer.buy(listing, {"text": "abc"}, max_price="0.01").output == {"upper": "ABC"}
    with judging() as url, place.running(script, "http", f"{url}/judge", title="Forecast") as listing:
        assert place.buyer.get_listing(listing_id=listing, env="test")["status"] == "active"
    with place.running(script, "stdio", f"{sys.executable} {tool}", "perimeter", title="Perimeter") as listing:
        assert place.buyer.buy(listing, {"width": 2, "height": 3}, max_price="0.01").output == {"perimeter": 10}
    with free_ports(1) as ports:
        port = str(ports[0])
    with subprocess.Popen([sys.executable, str(tool), port]) as server:
        try:
            listens(int(port))
            with place.running(script, "mcp", f"http://127.0.0.1:{port}/mcp", "area", title="Area") as listing:
                output = place.buyer.buy(listing, {"width": 2, "height": 3}, max_price="0.01").output
        finally:
            server.terminate()
    assert output == {"area": 6}


def test_a_whole_trade_needs_only_curl_and_jq(place: Place) -> None:
    said = place.run("trade.sh", home="curl").splitlines()
    assert said[-3:] == ['{"paid":"paid","output":{"words":2}}', "the job is completed", "the listing is archived"]


def test_the_code_of_the_readme_buys_from_the_desk_and_sells(place: Place, tmp_path: Path) -> None:
    buying, selling = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    place.listing("Validate JSON documents against a JSON Schema")
    buyer, seller = tmp_path / "paste.py", tmp_path / "shop.py"
    buyer.write_text(buying)
    seller.write_text(selling)
    own = place.environment("readme")
    ended = subprocess.run(
        [sys.executable, str(buyer)], env=own, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert "'valid': False" in ended.stdout
    with place.running(seller, title="Count the words of a text") as listing:
        assert place.buyer.buy(listing, {"text": "one two"}, max_price="0.02").output == {"words": 2}
