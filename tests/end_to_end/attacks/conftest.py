"""The fixtures of the attacks, started once for each test process, and a summary of the closed findings."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.end_to_end.attacks.world import TREE, Arena

FINDINGS = range(1, 21)


@pytest.fixture(scope="session")
def processes() -> Iterator[Arena]:
    """The arena and its processes, which run as long as the tests."""
    made = Arena()
    yield made
    made.stop()


@pytest.fixture
async def arena(processes: Arena) -> AsyncIterator[Arena]:
    """The arena for one test; its connections are closed after the test."""
    yield processes
    await processes.leave()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests without a finding to make verify."""
    for item in items:
        if "tests/end_to_end/attacks/" in item.nodeid and item.get_closest_marker("finding") is None:
            item.add_marker(pytest.mark.verify)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    mark = item.get_closest_marker("finding")
    if mark is not None:
        outcome.get_result().user_properties.append(("finding", mark.args[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many findings have a marked test, and how many of those tests passed and failed."""
    held, broken, seen = 0, 0, set()
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            found = [value for name, value in getattr(report, "user_properties", ()) if name == "finding"]
            if not found or (outcome == "passed" and report.when != "call"):
                continue
            seen.update(found)
            held, broken = held + (outcome == "passed"), broken + (outcome != "passed")
    if seen:
        terminalreporter.write_line(
            f"findings: {len(seen)} of {len(FINDINGS)} have a marked test; marked tests: {held} passed, {broken} failed "
            f"(tree: {TREE.name})"
        )
