"""Runs a module's tests against its changes: one forked process for each, after all slow imports.

A child forgets our own modules, loads the changed one instead of the file, and runs pytest until the first failure.
Only processor time is limited, because a busy machine must not make a change look noticed. A child that uses up its
time or its memory has noticed the change: the real tests would not end either.
"""

import importlib
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

import hypothesis
import pytest

from tests.mutants.changes import ROOT, Change, Source

ARGUMENTS = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", f"--rootdir={ROOT}")
PASSED, FAILED, INTERRUPTED, INTERNAL = 0, 1, 2, 3  # pytest's exit codes; a failed import gives INTERRUPTED
MIN_SECONDS, TIMES_SLOWER = 5, 4
MEMORY_BYTES = 2 * 2**30  # in addition to the parent's mapped memory
EXAMPLES = 50  # per property-based test that sets no number itself
OURS = ("tools", "tests")
KEPT = ("tests.mutants", "tests.requirements")


class Unusable(RuntimeError):
    """A module's tests fail or cannot be run while nothing is changed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a child: its exit status (negative: a signal) and its processor seconds."""

    status: int
    seconds: float

    @property
    def noticed(self) -> bool:
        return self.status in (FAILED, INTERRUPTED, INTERNAL) or self.status < 0


class Replaced(Loader, MetaPathFinder):
    """Imports one module from compiled code instead of its file."""

    def __init__(self, module: str, path: Path, code: CodeType) -> None:
        self.module, self.path, self.code = module, path, code

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(fullname, self.path, loader=self) if fullname == self.module else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def plugins() -> None:
    """Load only one plugin of pytest: most are slow, and those that measure fail in forks."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    importlib.import_module("pytest_asyncio.plugin")


def prepare(tests: Iterable[str]) -> None:
    """Import pytest's plugin and everything that the tests import, before forking."""
    plugins()
    hypothesis.settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=EXAMPLES,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")
    for path in tests:
        importlib.import_module(path.removesuffix(".py").replace("/", "."))


def limit_of(source: Source, tests: list[str]) -> int:
    """Return the limit in processor seconds of a module's changes.

    Raises Unusable if the tests do not pass unchanged.
    """
    ((_, ended),) = run([(source, None)], {source.module: tests}, {}, workers=1)
    if ended.status != PASSED:
        raise Unusable(
            f"{source.module}: its tests end with {ended.status} while nothing is changed: {' '.join(tests)}"
        )
    return MIN_SECONDS + round(TIMES_SLOWER * ended.seconds)


def run(
    wanted: Iterable[tuple[Source, Change | None]],
    tests: dict[str, list[str]],
    limits: dict[str, int],
    *,
    workers: int,
) -> Iterator[tuple[Change | None, Ended]]:
    """Try each change in its own process, a few at a time; yield how each ended."""
    queue, running = iter(wanted), dict[int, Change | None]()
    while True:
        while len(running) < workers and (one := next(queue, None)) is not None:
            source, change = one
            running[_forked(source, change, tests[source.module], limits.get(source.module))] = change
        if not running:
            return
        pid, status, used = os.wait4(-1, 0)
        change = running.pop(pid)
        ended = Ended(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)
        if not ended.noticed and ended.status != PASSED:
            raise Unusable(f"pytest ended with {ended.status} at {change.name if change else 'no change'}")
        yield change, ended


def _forked(source: Source, change: Change | None, tests: list[str], limit: int | None) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _tried(source, change, tests, limit)
    return pid


def _tried(source: Source, change: Change | None, tests: list[str], limit: int | None) -> NoReturn:
    """Run the tests in this process, and end it with pytest's status."""
    status = INTERNAL
    try:
        silent()
        _bounded(limit)
        forget()
        sys.dont_write_bytecode = True
        sys.meta_path.insert(0, Replaced(source.module, source.path, source.compiled(change)))
        status = int(pytest.main([*ARGUMENTS, "--noconftest", *tests]))
    finally:
        os._exit(status)


def silent() -> None:
    """Disconnect this process from input and output."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _bounded(limit: int | None) -> None:
    """Limit the processor time and memory of this process."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if Path("/proc").is_dir() else 0
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def forget() -> None:
    """Forget our own modules, so that all of them are imported again with the changed one."""
    for name in list(sys.modules):
        if name.partition(".")[0] in OURS and not name.startswith(KEPT) and name != "tests":
            del sys.modules[name]
