"""A process that kills itself before or after a step: a function of a module, or the COMMIT of a unit of work."""

import os
import signal
from collections.abc import Callable, Collection, Sequence
from typing import Any

from storage.store import Store


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(real: Callable[..., Any], when: str, count: int) -> Callable[..., Any]:
    """Wrap a function so that the process dies before or after its run of this number.

    `when` is `before` or `after`; `count` begins with 1.
    """
    runs = [0]

    def run(*given: Any, **named: Any) -> Any:
        runs[0] += 1
        if (when, runs[0]) == ("before", count):
            die()
        done = real(*given, **named)
        if (when, runs[0]) == ("after", count):
            die()
        return done

    return run


def opened(real: Callable[..., Store], when: str, units: Collection[str], count: int = 1) -> Callable[..., Store]:
    """Wrap open_store so that the process dies before or after a COMMIT of one of these units."""
    commits = [0]

    def probe(at: str, names: Sequence[str]) -> None:
        if at == when and not {*names}.isdisjoint(units):
            commits[0] += 1
            if commits[0] == count:
                die()

    def run(*given: Any) -> Store:
        store = real(*given)
        store.fault_hook = probe
        return store

    return run
