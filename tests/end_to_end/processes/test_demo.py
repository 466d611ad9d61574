"""`make run` and `make demo` as processes: a market on its sandbox, and a paid trade over all three protocols."""

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from server.demo import PRICE_MINOR, TEXT
from tests.support.commands import run, start
from tools.kernel.money import display

ROOT = Path(__file__).parents[3]
SECONDS = 120
STEP = re.compile(r"(\w+) +(\w+) +(.+?) {2,}(.+)")
OF_A_CLIENT = {"API_KEY": "as_live_" + "x" * 40, "URL": "https://other.example", "WALLET_KEY": "0x"}
STEPS = [
    ("witness", "REST", "read how payment works"),
    ("seller", "A2A", "registered"),
    ("seller", "A2A", "bound a wallet"),
    ("seller", "A2A", "offers a service"),
    ("buyer", "MCP", "found it"),
    ("buyer", "MCP", "registered"),
    ("buyer", "chain", "bound a wallet and took test money"),
    ("buyer", "MCP", "ordered"),
    ("seller", "A2A", "accepted, worked, delivered sealed"),
    ("buyer", "MCP", "read the terms"),
    ("buyer", "chain", "sent the USDC"),
    ("buyer", "MCP", "proved the payment, the work is revealed"),
    ("buyer", "MCP", "accepted and reviewed"),
    ("witness", "REST", "reads the listing"),
    ("witness", "offline", "verified the receipt"),
    ("seller", "A2A", "archived the service"),
]


def environment(folder: Path, ports: list[int]) -> dict[str, str]:
    """Return this environment with the test's settings and no other settings of the service."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EMPORION_", "DATABASE_URL"))}
    own = {"DATA_DIR": str(folder), "PORT": str(ports[0]), "SANDBOX_PORT": str(ports[1])}
    return kept | {f"EMPORION_{name}": value for name, value in own.items()}


@contextmanager
def free_ports(count: int) -> Iterator[list[int]]:
    """Reserve free ports until the end of the context."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    yield [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()


@contextmanager
def served(environment: dict[str, str], *options: str) -> Iterator[str]:
    """Run `emporion serve --sandbox`; return its output after it has started."""
    serving = start(["serve", "--sandbox", *options], environment)
    try:
        assert serving.stdout is not None
        said = [serving.stdout.readline().decode()]
        while said[-1] and "test chain" not in said[-1]:
            said.append(serving.stdout.readline().decode())
        yield "".join(said)
    finally:
        serving.terminate()
        serving.communicate(timeout=SECONDS)


def demo(environment: dict[str, str], *options: str) -> tuple[int, str]:
    ran = run(["demo", *options], environment, timeout=SECONDS)
    return ran.returncode, ran.stdout


def test_a_paid_trade_over_all_three_protocols_ends_with_a_receipt_that_verifies_offline(tmp_path: Path) -> None:
    with free_ports(2) as ports:
        own = environment(tmp_path, ports)
    own |= {f"EMPORION_{name}": value for name, value in OF_A_CLIENT.items()}
    with served(own) as greeting:
        base = f"http://127.0.0.1:{ports[0]}"
        assert all(f"{base}/{path}" in greeting for path in ("mcp", "a2a", "v1"))
        kept = tmp_path / "receipt.json"
        code, said = demo(own, "--receipt", str(kept))
        checked = run(["verify", str(kept)], own)
        pasted = httpx.post(f"{base}/verify", data={"document": kept.read_text()}, trust_env=False)
        unwritable = run(["demo", "--receipt", str(tmp_path / "none" / "receipt.json")], own, timeout=SECONDS)
        found = [match.groups() for line in said.splitlines() if (match := STEP.fullmatch(line.rstrip()))]
        told = {(over, what): detail for _, over, what, detail in found}
        listing = told["A2A", "offers a service"].split()[0]
        public = httpx.get(f"{base}/v1/listings/{listing}", params={"env": "test"}, trust_env=False).json()
        again, _ = demo(environment(tmp_path / "elsewhere", ports), "--url", base)
    assert (code, [step[:3] for step in found]) == (0, STEPS), said
    assert re.search(r"^Done in \d+\.\d s\.$", said, re.MULTILINE)
    words = TEXT.split()
    revealed = json.loads(told["MCP", "proved the payment, the work is revealed"])
    assert revealed == {"words": len(words), "longest": max(words, key=len)}
    assert told["MCP", "accepted and reviewed"] == f"{told['MCP', 'ordered'].split()[0]} is completed"
    sent = told["chain", "sent the USDC"]
    assert told["offline", "verified the receipt"] == f"signature holds, paid by {sent}"
    assert public["error"]["code"] == "not_found", "it is archived"
    assert told["REST", "reads the listing"] == "1 job done, rating 5.0"
    assert told["MCP", "read the terms"].startswith(f"{display(PRICE_MINOR)} to 0x")
    assert again == 0, "the same market can be shown again"
    assert f"The receipt is in {kept}. Check it: emporion verify {kept}, or paste it at {base}/verify" in said
    assert json.loads(kept.read_text())["receipt"]["settlements"][0]["transaction"] == sent
    assert (checked.returncode, checked.stdout.startswith("VALID ")) == (0, True), checked.stderr
    assert pasted.json()["valid"] is True
    assert (unwritable.returncode, "receipt.json" in unwritable.stderr) == (2, True), unwritable.stderr


def test_where_no_market_is_served_the_demo_says_so_and_fails(tmp_path: Path) -> None:
    with free_ports(2) as ports:
        own = environment(tmp_path, ports)
    code, said = demo(own)
    assert code == 1
    assert f"Is a market served at http://127.0.0.1:{ports[0]}? Start one with: make run" in said
