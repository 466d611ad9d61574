"""Start and stop the sandbox from the market's process, which never imports the chain itself."""

import os
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from server.child_processes import clean_environment, end_process

_SILENCE_LIMIT_IN_SECONDS: Final = 60.0
_STOP_LIMIT_IN_SECONDS: Final = 5.0


class SandboxRefused(Exception):
    """The sandbox does not start; the message is for the terminal's user."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A running sandbox: JSON-RPC and `dev_faucet` at `url`, x402 at `facilitator_url`."""

    url: str
    genesis: str  # the hash of block 0, which is different for each chain that was ever made
    process: "subprocess.Popen[str]"

    @property
    def facilitator_url(self) -> str:
        """The base URL of /supported, /verify and /settle."""
        return f"{self.url}/facilitator"

    def stop(self) -> None:
        """End the process and wait until it has ended. It may be called again."""
        end_process(self.process)


def start_sandbox(data_dir: Path, port: int, *, chain_id: int = 84532) -> Sandbox:
    """Start the sandbox on 127.0.0.1 and wait until it answers; port 0 takes a free port.

    It ends with this process, however that ends. Raises SandboxRefused if it does not start: the port is taken, the
    journal in `data_dir` is damaged or in use, or a package is missing.
    """
    command = [sys.executable, "-m", "server.sandbox", "--port", str(port), "--data-dir", str(data_dir)]
    command += ["--parent-pid", str(os.getpid()), "--chain-id", str(chain_id)]
    process = subprocess.Popen(  # noqa: S603 - our own module, run by our own interpreter
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        # The market handles interrupts from the terminal: the chain must outlive its last requests.
        start_new_session=True,
    )
    try:
        url, genesis = _wait_until_ready(process)
    except BaseException:
        end_process(process)
        raise
    return Sandbox(url, genesis, process)


def _wait_until_ready(process: "subprocess.Popen[str]") -> list[str]:
    """Return the URL and the hash of block 0, which the sandbox says at last."""
    assert process.stdout is not None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True, name="sandbox-output").start()
    while True:
        try:
            word, _, rest = lines.get(timeout=_SILENCE_LIMIT_IN_SECONDS).strip().partition(" ")
        except queue.Empty as problem:
            raise SandboxRefused(f"the sandbox said nothing for {_SILENCE_LIMIT_IN_SECONDS:.0f} seconds") from problem
        if word == "ready":
            return rest.split()
        if word == "refused":
            raise SandboxRefused(rest)
        if not word:
            code = process.wait(_STOP_LIMIT_IN_SECONDS)
            raise SandboxRefused(f"the sandbox ended with exit code {code} before it was ready")


def _read(output: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    """Put every line into the queue, then an empty one at the end of the output."""
    with output:
        for line in output:
            lines.put(line)
    lines.put("")
