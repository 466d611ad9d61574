"""The tests that `make test` runs, those that `make verify` adds, and the part of them that a time limit leaves."""

import hashlib
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

SUITES = ("all", "test", "verify")
ROOT = Path(__file__).parent
LONG_BEFORE = 0.6  # the part of a run in which the files of LONG begin
LONG = (ROOT / "end_to_end", ROOT / "server/desk", ROOT.parent / "clients")
# For these folders, the PostgreSQL half repeats logic that the SQLite half tests. Their SQL is in storage/.
ONE_DATABASE = (
    "tools", "protocol", "rest", "server", "end_to_end/a2a_states", "end_to_end/faults", "end_to_end/modeluser", "end_to_end/test_auth_bypass.py",
    "end_to_end/world",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suites."""
    parser.addoption("--suite", choices=SUITES, default="all", help="test: what make test runs; verify: all the rest")
    parser.addoption("--minutes", type=float, help="begin no test after so many minutes")
    parser.addoption("--rotate", default="", help="begin with another file for each value, such as a commit")


def suites_of(item: pytest.Item) -> tuple[str, ...]:
    """Name the suites a test belongs to: one, or both if `make verify` repeats it more often."""
    if only_verify(item):
        return ("verify",)
    return ("test", "verify") if item.get_closest_marker("repeated") else ("test",)


def repetitions(item: pytest.Item) -> int:
    """Return how often the test repeats itself: fewer times in `make test` than anywhere else."""
    mark = item.get_closest_marker("repeated")
    assert mark is not None, "the test has no mark repeated(often, seldom)"
    often, seldom = mark.args
    return int(seldom if item.config.getoption("--suite") == "test" else often)


def only_verify(item: pytest.Item) -> bool:
    """Tell whether `make test` leaves the test to `make verify`."""
    if item.get_closest_marker("verify"):
        return True
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    repeats = parameters.get("database") == "postgres" and any(
        item.path.is_relative_to(ROOT / folder) for folder in ONE_DATABASE
    )
    return repeats and not item.get_closest_marker("both_databases")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the suite that is asked for, in the order of the rotation."""
    suite = config.getoption("--suite")
    if suite != "all":
        left_out = [item for item in items if suite not in suites_of(item)]
        config.hook.pytest_deselected(items=left_out)
        gone = {id(item) for item in left_out}
        items[:] = [item for item in items if id(item) not in gone]
    items[:] = mixed(items, config.getoption("--rotate"))


def mixed(items: list[pytest.Item], rotation: str) -> list[pytest.Item]:
    """Order the tests file by file, the files by a hash of their name and the rotation.

    Tests of processes wait more than they compute, so they run beside others; they are long, so they begin early.
    """

    def place(tests: list[pytest.Item]) -> float:
        path = tests[0].path
        digest = hashlib.sha256(f"{rotation}:{path.name}".encode()).digest()
        fraction = int.from_bytes(digest[:4]) / 2**32
        return fraction * (LONG_BEFORE if any(map(path.is_relative_to, LONG)) else 1)

    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    return [item for tests in sorted(files, key=place) for item in tests]


class TimeLimit:
    """Ends a run after some minutes. Tests that were not started do not fail."""

    def __init__(self, config: pytest.Config, minutes: float) -> None:
        self.config, self.ends = config, time.monotonic() + minutes * 60
        self.done = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.done += report.when == "teardown"
        if time.monotonic() > self.ends:
            distributed = self.config.pluginmanager.getplugin("dsession")
            if distributed is not None:
                distributed.shouldstop = "the minutes are over"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Count a run that the time limit ended as a success if no test failed."""
        if session.exitstatus == pytest.ExitCode.INTERRUPTED and not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK
        yield

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"{self.done} tests were run within the time limit")


def limit_time(config: pytest.Config) -> None:
    """Register the time limit in the process that distributes the tests."""
    minutes = config.getoption("--minutes")
    if minutes is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(TimeLimit(config, minutes))
