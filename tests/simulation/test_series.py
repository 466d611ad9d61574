"""Runs of new seeds: their mix, their sums, and the first failure."""

from itertools import islice

import pytest

from tests.simulation import series
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan


def test_plans_have_new_seeds_and_a_tenth_on_postgresql() -> None:
    made = [*islice(series.plans(500, ("sqlite", "postgres"), ("default", "cheats")), 40)]
    assert len({one.seed for one in made}) == 40
    assert [one.database for one in made].count("postgres") == 4
    assert {one.scenario for one in made if one.database == "postgres"} == {"default", "cheats"}
    assert {one.database for one in islice(series.plans(500, ("sqlite",), ("calm",)), 20)} == {"sqlite"}


def test_a_series_ends_with_its_sums(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(series, "run", lambda plan: Result(plan.seed, 500, "", 1.0, by_cheats=50))
    assert series.torture(0, 500, ("sqlite",), ("calm",)) is None
    assert "1 runs passed: 500 operations (0 on PostgreSQL, 10% by cheats)" in capsys.readouterr().out


def test_a_series_ends_at_the_first_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "run", lambda plan: Failure(plan, 7, "it broke", "", ()))
    found = series.torture(60, 500, ("postgres",), ("calm",))
    assert isinstance(found, Failure)
    assert found.plan == Plan(found.plan.seed, 500, "calm", "postgres")
    assert f"seed {found.plan.seed}, calm on postgres: failed after 7 operations: it broke" in capsys.readouterr().out
