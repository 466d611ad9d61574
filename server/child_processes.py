"""Child processes: a clean environment for them, their end, and the end of a child together with its parent."""

import os
import subprocess
import threading
import time
from typing import Any, Final

_POLL_IN_SECONDS: Final = 0.5
_STOP_LIMIT_IN_SECONDS: Final = 5.0


def clean_environment() -> dict[str, str]:
    """Return this process's environment without the market's secrets and settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}


def end_process(process: "subprocess.Popen[Any]") -> None:
    """End a process and wait until it has ended. It may be called again."""
    process.terminate()
    try:
        process.wait(_STOP_LIMIT_IN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def end_with_parent(parent_pid: int) -> None:
    """End this process at once when its parent is gone.

    Nothing is lost, because every block is on disk before clients see it. Two signs are watched. Standard input, a pipe
    that only the parent holds, reaches its end (also after kill -9, on every system). The parent's id changes, which
    works even if a sibling inherited the pipe. PR_SET_PDEATHSIG is not used: it fires when the parent's *thread*
    ends.
    """
    threading.Thread(target=_watch_pipe, daemon=True, name="parent-pipe").start()
    threading.Thread(target=_watch_id, args=(parent_pid,), daemon=True, name="parent-id").start()


def _watch_pipe() -> None:
    # The descriptor, not sys.stdin: a daemon thread that holds sys.stdin's lock aborts the interpreter's normal exit.
    while os.read(0, 4096):
        pass
    os._exit(0)


def _watch_id(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(_POLL_IN_SECONDS)
    os._exit(0)
