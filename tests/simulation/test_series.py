"""Runs of new seeds: their mix, their sums, and the first failure."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from tests.simulation import series
from tests.simulation.__main__ import main
from tests.simulation.available import ENOUGH, PLACES
from tests.simulation.matrix import NONE, ROWS, Matrix
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan
from tests.simulation.sums import MANY, Sums


def test_plans_have_new_seeds_and_a_tenth_on_postgresql() -> None:
    made = [*islice(series.plans(500, dict.fromkeys(("sqlite", "postgres"), ("default", "cheats"))), 40)]
    assert len({one.seed for one in made}) == 40
    assert [one.database for one in made].count("postgres") == 4
    assert {one.scenario for one in made if one.database == "postgres"} == {"default", "cheats"}
    assert {one.database for one in islice(series.plans(500, {"sqlite": ("calm",)}), 20)} == {"sqlite"}


def _passes(plan: Plan) -> Result:
    matrix = Matrix(Counter({(ROWS[0], NONE): 2}))
    return Result(plan.seed, 500, "", 1.0, matrix=matrix, by_cheats=50, tried=Counter({(PLACES[0], "pay"): 3}))


def _breaks(plan: Plan) -> Failure:
    return Failure(plan, 7, "it broke", "", ())


def test_a_series_ends_with_its_sums(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(series, "run", _passes)
    counts = tmp_path / "counts"
    for _ in range(2):
        assert series.torture(0, series.plans(500, {"sqlite": ("calm",)}), 1, counts) is None
    shown = capsys.readouterr().out
    assert "1 run passed: 500 operations (0 on PostgreSQL, 10% by cheats)" in shown
    assert "available_actions: 3 checks" in shown
    both = Sums.read(counts)
    assert (both.runs, both.operations, both.by_cheats, both.on_postgres) == (2, 1_000, 100, 0)
    assert (both.matrix.counts[ROWS[0], NONE], both.tried[PLACES[0], "pay"]) == (4, 6)


def test_a_series_ends_at_the_first_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "run", _breaks)
    found = series.torture(60, series.plans(500, {"postgres": ("calm",)}), 2)
    assert isinstance(found, Failure)
    assert found.plan == Plan(found.plan.seed, 500, "calm", "postgres")
    assert f"seed {found.plan.seed}, calm on postgres: failed after 7 operations: it broke" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, mistake",
    [
        ("--operations 0", "--operations must be at least 1"),
        ("--processes 0", "--processes must be at least 1"),
        ("--database both", "--database both needs --minutes"),
        ("--minutes 0", "--minutes must be more than 0"),
        ("--minutes 1 --seed 0", "takes no --seed"),
        ("--minutes 1 --matrix", "takes no --matrix"),
        ("--scenario dull", "unknown scenario dull; known: calm,"),
        ("--scenario two_processes", "add --database postgres"),
        ("--report /nowhere/page.html", "--report: /nowhere/page.html cannot be written: No such file"),
        ("--log /proc/log", "--log: /proc/log cannot be written"),
        ("--counts /", "--counts: / cannot be written: Is a directory"),
    ],
)
def test_wrong_options_are_refused_before_a_run(
    options: str, mistake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("a run begins"))
    monkeypatch.setattr("sys.argv", ["simulation", *options.split()])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert mistake in capsys.readouterr().err


@pytest.mark.parametrize("text", ["none", "[]", '{"runs": 1}'])
def test_a_file_that_has_no_sums_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text(text)
    with pytest.raises(SystemExit) as refused:
        Sums.read(wrong)
    assert refused.value.code == 2
    assert f"{wrong} is no file of sums" in capsys.readouterr().err


@pytest.mark.parametrize(
    "operations, shown", [(MANY - 1, "never checked: "), (MANY, f"fewer than {ENOUGH:,} checks: ")]
)
def test_only_a_long_series_is_expected_to_check_each_place_often(operations: int, shown: str) -> None:
    assert [*Sums(operations=operations).lines()][2].startswith(shown)
