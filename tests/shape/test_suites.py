"""`make verify` runs the tests that `make test` leaves out. A time limit ends a run without failing it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.storage.test_both_databases import BRACKETS
from tests.suites import TimeLimit, mixed, suites_of


def test_every_test_belongs_to_one_suite_and_repeated_ones_to_both(collected: list[pytest.Item]) -> None:
    for item in collected:
        expected = 2 if item.get_closest_marker("repeated") and not item.get_closest_marker("verify") else 1
        assert len(suites_of(item)) <= expected, item.nodeid
        assert {*suites_of(item)} <= {"test", "verify"}


def test_make_test_leaves_out_marked_tests_and_postgresql_halves_only(collected: list[pytest.Item]) -> None:
    run = {item.nodeid for item in collected if "test" in suites_of(item)}
    for item in collected:
        if item.nodeid not in run and not item.get_closest_marker("verify"):
            assert BRACKETS.sub("sqlite", item.nodeid, count=1) in run, item.nodeid


def item_of(file: str, name: str) -> Any:
    return SimpleNamespace(path=Path(file), name=name)


def test_a_rotation_moves_whole_files_and_loses_nothing() -> None:
    items = [item_of(file, f"{file}{number}") for file in "abcde" for number in range(3)]
    orders = {tuple(one.name for one in mixed(items, str(commit))) for commit in range(20)}
    assert len(orders) > 10
    for order in orders:
        assert sorted(order) == sorted(one.name for one in items)
        assert [name[0] for name in order[::3]] == [name[0] for name in order[2::3]]


@pytest.mark.parametrize(("failed", "code"), [(0, pytest.ExitCode.OK), (1, pytest.ExitCode.INTERRUPTED)])
def test_a_run_that_its_minutes_end_fails_only_if_a_test_did(failed: int, code: pytest.ExitCode) -> None:
    distributed = SimpleNamespace(shouldstop=False)
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=lambda _: distributed))
    report: Any = SimpleNamespace(when="teardown")
    TimeLimit(config, 10).pytest_runtest_logreport(report)
    assert not distributed.shouldstop
    over = TimeLimit(config, -1)
    over.pytest_runtest_logreport(report)
    assert distributed.shouldstop
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.INTERRUPTED, testsfailed=failed)
    assert [*over.pytest_sessionfinish(session)] == [None]
    assert session.exitstatus == code
