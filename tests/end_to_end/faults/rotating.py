"""`emporion keys rotate` in a process that kills itself: `python -m tests.end_to_end.faults.rotating before commit 1`.

It runs the operator's command. A step is a function of server.keys; the process dies before or after the given run of
it. `commit` is the transaction that makes the next key current.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import server.keys
from server.cli import app
from storage.store import Store

COMMIT, UNIT = "commit", "rotate"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(real: Callable[..., Any], when: str, count: int) -> Callable[..., Any]:
    runs = [0]

    def run(*given: Any) -> Any:
        runs[0] += 1
        if (when, runs[0]) == ("before", count):
            die()
        done = real(*given)
        if (when, runs[0]) == ("after", count):
            die()
        return done

    return run


def opened(real: Callable[[str], Store], when: str) -> Callable[[str], Store]:
    def probe(at: str, names: Sequence[str]) -> None:
        if at == when and UNIT in names:
            die()

    def run(url: str) -> Store:
        store = real(url)
        store.fault_hook = probe
        return store

    return run


def main(when: str, step: str, count: str) -> None:
    module: Any = server.keys
    if step == COMMIT:
        module.open_store = opened(module.open_store, when)
    else:
        setattr(module, step, deadly(getattr(module, step), when, int(count)))
    app(["keys", "rotate"])


if __name__ == "__main__":
    main(*sys.argv[1:])
