"""Programs that can be killed at any step: a process forks them, so that imports take time only once.

A program is a function of client_programs. CRASH=n kills it at its n-th step; a step is the moment before and after each
call, each write of the journal, and each write of keys.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent


class Forks:
    """The process that forks programs."""

    def __enter__(self) -> Self:
        path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "client_forks.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: one for name, one in os.environ.items() if not name.startswith("EMPORION_")}
            | {"PYTHONPATH": path},
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.communicate()

    def start(self, program: str, *, crash: int = 0, **given: Any) -> int:
        """Start a program; return its process id."""
        return int(self._ask("start", program, crash, given))

    def wait(self, pid: int) -> int:
        """Wait for the end of a program; return its exit code, negative if a signal ended it."""
        return int(self._ask("wait", pid))

    def kill(self, pid: int, number: int = signal.SIGKILL) -> int:
        """Send a signal to a program and wait for its end."""
        os.kill(pid, number)
        return self.wait(pid)

    def run(self, program: str, *, crash: int = 0, **given: Any) -> int:
        """Run a program to its end; return its exit code."""
        return self.wait(self.start(program, crash=crash, **given))

    def _ask(self, *asked: Any) -> Any:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())


def serve() -> None:
    """Answer requests to start programs and to wait for them."""
    import client_programs

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        verb, *given = json.loads(line)
        if verb == "wait":
            _, status = os.waitpid(given[0], 0)
            answers.write(json.dumps(os.waitstatus_to_exitcode(status)) + "\n")
            continue
        program, crash, arguments = given
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                client_programs.run(program, crash, arguments)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        answers.write(json.dumps(pid) + "\n")


if __name__ == "__main__":
    serve()
