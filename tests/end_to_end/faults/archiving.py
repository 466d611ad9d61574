"""`emporion archive` in a process that kills itself: `python -m tests.end_to_end.faults.archiving before commit 1 …`.

A step is a function that writes or reads files, or `commit`, the transaction that deletes or restores the rows. The
process dies before or after the given run of it. The rest of the line are the words of the command.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import server.archive
import server.archive_files
from server.cli import app
from storage.store import Store

COMMIT, UNITS = "commit", {"archive", "restore_archive"}
FILE_STEPS = {"write_file": server.archive_files, "sync": server.archive_files, "read_part": server.archive}


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


def opened(real: Callable[..., Store], when: str, count: int) -> Callable[..., Store]:
    commits = [0]

    def probe(at: str, names: Sequence[str]) -> None:
        if at == when and UNITS & {*names}:
            commits[0] += 1
            if commits[0] == count:
                die()

    def run(*given: Any) -> Store:
        store = real(*given)
        store.fault_hook = probe
        return store

    return run


def main(when: str, step: str, count: str, *words: str) -> None:
    module: Any = FILE_STEPS.get(step, server.archive)
    if step == COMMIT:
        module.open_store = opened(module.open_store, when, int(count))
    else:
        setattr(module, step, deadly(getattr(module, step), when, int(count)))
    app([*words])


if __name__ == "__main__":
    main(*sys.argv[1:])
