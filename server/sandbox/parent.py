"""End this process together with its parent, however the parent ends."""

import os
import threading
import time
from typing import Final

_POLL_IN_SECONDS: Final = 0.5


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
