"""Run the project's commands in forked processes, so that their imports take time only once per test process.

`start` and `run` take the words after `python -m MODULE` and return what subprocess.Popen and subprocess.run do.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing import reduction
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.support.command_preload"])


class Inherited:
    """A file descriptor of this process; the forked process unpickles its own number for it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _number_there, (reduction.DupFd(self.number),)


def _number_there(duplicate: Any) -> int:
    return int(duplicate.detach())


class Started:
    """A running command, with the part of subprocess.Popen's interface that tests use."""

    def __init__(self, process: Any, stdout: IO[bytes] | None) -> None:
        self.process, self.stdout = process, stdout
        self.pid: int = process.pid

    @property
    def returncode(self) -> int | None:
        code: int | None = self.process.exitcode
        return code

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raise subprocess.TimeoutExpired after `timeout` seconds."""
        self.process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("emporion", timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, None]:
        """Return the rest of the output after the command has ended."""
        self.wait(timeout)
        text = b"" if self.stdout is None else self.stdout.read()
        if self.stdout is not None:
            self.stdout.close()
        return text, None

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    words: Sequence[str],
    env: Mapping[str, str],
    *,
    module: str = "server",
    cwd: Path = ROOT,
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
    source: int | None = None,
    new_session: bool = False,
    umask: int = 0o022,
) -> Started:
    """Start a command that reads from the descriptor `source`.

    Without `output`, its output can be read from `stdout`.
    """
    reading, writing = (None, output.fileno()) if output is not None else os.pipe()
    given = (module, list(words), dict(env), str(cwd), new_session, umask, source and Inherited(source))
    err = errors.fileno() if errors is not None else sys.__stderr__.fileno() if sys.__stderr__ else 2
    process = FORKS.Process(target=_run, args=(*given, Inherited(writing), Inherited(err)))
    process.start()
    if reading is None:
        return Started(process, None)
    os.close(writing)
    return Started(process, os.fdopen(reading, "rb"))


def run(
    words: Sequence[str], env: Mapping[str, str], *, module: str = "server", cwd: Path = ROOT, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a command for at most `timeout` seconds; return its exit code and its output."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = start(words, env, module=module, cwd=cwd, output=output, errors=errors)
        try:
            code = started.wait(timeout)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
            raise
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([module, *words], code, *texts)


def _run(
    module: str,
    words: list[str],
    env: dict[str, str],
    cwd: str,
    new_session: bool,
    umask: int,
    source: int | None,
    out: int,
    err: int,
) -> None:
    """Become the command: its environment, folder, arguments, input and output."""
    if source is not None:
        os.dup2(source, 0)
        os.close(source)
        sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing has replaced it
    os.dup2(out, 1)
    os.dup2(err, 2)
    if new_session:
        os.setsid()
    os.umask(umask)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [module, *words]
    found = import_module(module).__file__
    assert found is not None
    path = Path(found)
    runpy.run_path(str(path.with_name("__main__.py") if path.name == "__init__.py" else path), run_name="__main__")
