"""The sandbox as a process of the market: it starts quickly, keeps its state, and ends with its parent."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from server.sandbox import __main__ as entry
from server.sandbox import journal as journals
from server.sandbox.evm import open_chain
from server.sandbox.process import Sandbox, SandboxRefused, start_sandbox

SOMEBODY = "0x" + "11" * 20
Start = Callable[..., Sandbox]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts sandboxes in one folder, and stops those that still run at the end."""
    started: list[Sandbox] = []

    def begin(port: int = 0, directory: Path = tmp_path) -> Sandbox:
        started.append(start_sandbox(directory, port))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def rpc(url: str, method: str, *params: object) -> Any:
    with httpx.Client(trust_env=False, verify=False, timeout=30) as client:
        reply = client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}).json()
    return reply["result"]


def everything(url: str, transactions: list[str]) -> list[Any]:
    """Return every block with its transactions, and the receipts."""
    head = int(rpc(url, "eth_blockNumber"), 16)
    blocks = [rpc(url, "eth_getBlockByNumber", hex(number), True) for number in range(head + 1)]
    return blocks + [rpc(url, "eth_getTransactionReceipt", one) for one in transactions]


def has_ended(pid: int) -> bool:
    """Check whether a process that is not our child has ended or is a zombie."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for(what: Callable[[], bool], limit_in_seconds: float = 10) -> bool:
    deadline = time.monotonic() + limit_in_seconds
    pause = threading.Event()
    while not what() and time.monotonic() < deadline:
        pause.wait(0.02)
    return what()


def test_it_is_ready_soon_gets_none_of_the_markets_secrets_and_stops(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPORION_SIGNING_SEED", "00" * 32)
    sandbox = start()
    child = psutil.Process(sandbox.process.pid)
    work = child.cpu_times()
    assert work.user + work.system < 3
    assert sandbox.url.startswith("http://127.0.0.1:")
    assert sandbox.facilitator_url == f"{sandbox.url}/facilitator"
    assert (rpc(sandbox.url, "eth_chainId"), sandbox.process.poll()) == (hex(84532), None)
    found = child.environ()
    assert "PATH" in found
    assert [name for name in found if name.startswith("EMPORION_")] == []
    sandbox.stop()
    sandbox.stop()
    assert sandbox.process.poll() is not None
    with pytest.raises(httpx.ConnectError):
        rpc(sandbox.url, "eth_chainId")


def test_after_a_restart_every_block_and_receipt_is_byte_equal_and_trade_goes_on(start: Start) -> None:
    first = start()
    sent = [rpc(first.url, "dev_faucet", SOMEBODY, amount) for amount in (1, 2)] + [rpc(first.url, "dev_gas", SOMEBODY)]
    before = everything(first.url, sent)
    first.stop()
    second = start()
    assert everything(second.url, sent) == before
    later = rpc(second.url, "dev_faucet", SOMEBODY, 3)
    assert int(rpc(second.url, "eth_getTransactionReceipt", later)["blockNumber"], 16) == 4


def test_whatever_was_answered_survives_kill_9(start: Start) -> None:
    first = start()
    answered: list[str] = []
    enough = threading.Event()

    def trade() -> None:
        try:
            while True:
                answered.append(rpc(first.url, "dev_faucet", SOMEBODY, 1))
                if len(answered) == 15:
                    enough.set()
        except httpx.TransportError:
            enough.set()

    traders = [threading.Thread(target=trade) for _ in range(3)]
    for one in traders:
        one.start()
    assert enough.wait(30)
    first.process.kill()
    for one in traders:
        one.join()
    second = start()
    receipts = [rpc(second.url, "eth_getTransactionReceipt", one) for one in answered]
    assert len(answered) >= 15
    assert {receipt["status"] for receipt in receipts} == {"0x1"}


PARENT = """
import subprocess, sys, threading
from pathlib import Path
from server.sandbox.process import start_sandbox
sandbox = start_sandbox(Path(sys.argv[1]), 0)
kept = [sandbox.process.stdin.fileno()] if sys.argv[2] == "inherited" else []
sibling = subprocess.Popen(["sleep", "120"], stdout=subprocess.DEVNULL, pass_fds=kept)
print(sandbox.url.rpartition(":")[2], sandbox.process.pid, sibling.pid, flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("pipe", ["closed", "inherited"])
def test_it_ends_with_its_parent_kill_9_included_and_leaves_port_and_journal(
    start: Start, tmp_path: Path, pipe: str
) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path), pipe]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        port, pid, sibling = (int(one) for one in parent.stdout.readline().split())
        sent = rpc(f"http://127.0.0.1:{port}", "dev_gas", SOMEBODY)
        parent.kill()
    ended, sibling_lives = wait_for(lambda: has_ended(pid)), not has_ended(sibling)
    os.kill(sibling, signal.SIGKILL)
    assert (ended, sibling_lives) == (True, True)
    again = start(port)
    assert again.url == f"http://127.0.0.1:{port}"
    assert rpc(again.url, "eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_the_end_of_the_pipe_alone_ends_it() -> None:
    program = (
        "import os, threading\n"
        "from server.child_processes import end_with_parent\n"
        "end_with_parent(os.getppid())\n"
        "threading.Event().wait()\n"
    )
    assert subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, timeout=30).returncode == 0


def test_a_damaged_journal_stops_the_start_until_it_is_reset(start: Start, tmp_path: Path) -> None:
    chain, book = open_chain(tmp_path, 84532, lambda: 1_700_000_000)
    chain.mine(2)
    book.close()
    book.path.write_bytes(book.path.read_bytes().replace(b'"number":1', b'"number":9'))
    with pytest.raises(SandboxRefused) as refused:
        start()
    assert str(refused.value) == (
        f"{book.path}: line 2 is not block 1; "
        "`emporion sandbox reset` discards the sandbox's chain together with its database"
    )
    journals.delete_journal(tmp_path)
    fresh = start()
    assert rpc(fresh.url, "eth_blockNumber") == "0x0"
    assert int(rpc(fresh.url, "eth_getBlockByNumber", "0x0", False)["timestamp"], 16) > 1_700_000_000


def test_a_running_sandbox_is_not_reset_and_not_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(journals, "_LOCK_WAIT_IN_SECONDS", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    _, book = open_chain(tmp_path, 84532, lambda: 1_700_000_000)
    sentence = f"another sandbox is running on {tmp_path}; stop it, or use another DATA_DIR"
    with pytest.raises(journals.JournalInUse) as refused:
        journals.delete_journal(tmp_path)
    code = entry.main(["--port", "0", "--data-dir", str(tmp_path)])
    book.close()
    assert str(refused.value) == sentence
    assert (code, capsys.readouterr().out) == (1, f"refused {sentence}\n")
    assert book.path.exists()


def test_a_taken_port_or_an_unusable_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(entry, "_PORT_WAIT_IN_SECONDS", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        codes = [entry.main(["--port", str(port), "--data-dir", str(tmp_path)])]
    file = tmp_path / "file"
    file.write_text("")
    codes.append(entry.main(["--port", "0", "--data-dir", str(file)]))
    codes.append(entry.main(["--port", "65536", "--data-dir", str(tmp_path)]))
    said = capsys.readouterr().out.splitlines()
    assert codes == [1, 1, 1]
    assert said == [
        f"refused port {port} on 127.0.0.1 cannot be used (Address already in use); "
        "set EMPORION_SANDBOX_PORT to another one",
        f"refused {file} cannot be used: File exists",
        "refused 65536 is not a port; EMPORION_SANDBOX_PORT is 0 to 65535",
    ]


def test_a_sandbox_that_dies_at_once_is_reported_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SandboxRefused, match="ended with exit code 1 before it was ready"):
        start_sandbox(tmp_path, 0)


def test_the_market_never_imports_the_chain() -> None:
    program = (
        "import sys, server.sandbox.process\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & "
        "{'eth', 'eth_tester', 'eth_account', 'web3', 'x402', 'rlp', 'trie'}), "
        "sorted(name for name in sys.modules if name.startswith('server.')))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[] ['server.child_processes', 'server.sandbox', 'server.sandbox.process']\n"
