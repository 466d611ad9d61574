"""A row is the median of rounds. What varies too widely is noisy, and what breaks fails."""

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import pytest

import benchmarks.__main__ as bench
from benchmarks.goals import GOALS, Goal
from benchmarks.rounds import Row, absolute, broken, compare, repeat, verdict

FLOOR = Goal("G", "the floor to the subject", 0.5, 0.8)
COST = Goal("C", "one call", 1_000, 700, "µs", least=False)
UNMARKED = Goal("U", "one call", unit="µs", least=False)


def costs(*given: float) -> Callable[[], float]:
    taken = cycle(given)
    return lambda: next(taken)


def test_a_ratio_compares_each_floor_with_the_subject_before_and_after_it() -> None:
    row = compare(FLOOR, costs(90, 110, 90, 110), costs(60), rounds=3, unlimited=costs(80))
    assert (row.figure, row.unlimited, row.verdict) == (0.6, 0.75, "must")
    assert row.spread == 0


def test_rounds_that_vary_widely_run_again_and_the_steadier_run_counts() -> None:
    row = compare(FLOOR, costs(100), costs(20, 90, 60, 60, 60, 60), rounds=3)
    assert (row.figure, row.spread, row.verdict) == (0.6, 0, "must")


def test_a_cost_is_the_median_of_its_rounds() -> None:
    row = repeat(COST, costs(650, 700, 600), rounds=3)
    assert (row.figure, row.verdict) == (650, "aim")


@pytest.mark.parametrize(
    ("goal", "figures", "spread", "expected"),
    [
        (FLOOR, [0.9], 0, "aim"),
        (FLOOR, [0.6], 0, "must"),
        (FLOOR, [0.4], 0, "fail"),
        (FLOOR, [0.4, 0.6, 0.6], 0.5, "noisy"),
        (FLOOR, [0.6, 0.9, 0.9], 0.5, "aim"),
        (COST, [1_001], 0, "fail"),
        (COST, [1_000], 0, "must"),
        (UNMARKED, [5], 0, ""),
    ],
)
def test_a_figure_is_judged_by_both_marks(goal: Goal, figures: list[float], spread: float, expected: str) -> None:
    assert verdict(goal, figures, spread) == expected


def test_a_missed_mark_and_a_broken_case_fail_the_bench() -> None:
    assert absolute(COST, 1_200).failed
    assert broken(UNMARKED, RuntimeError("3 wrong answers")).failed
    assert not absolute(COST, 900).failed
    assert not absolute(UNMARKED, 9_000).failed


def test_a_case_that_breaks_loses_only_the_rows_that_it_did_not_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(stage: object) -> Iterator[Row]:
        yield absolute(GOALS["G14 memory"], 10)
        raise RuntimeError("the server ended")

    monkeypatch.setattr(bench, "CASES", {"G14": breaks, "G8": lambda stage: absolute(GOALS["G8"], 100)})
    stage: Any = None
    rows = list(bench.measured(stage, ["G14", "G8"]))
    assert [(row.goal.name, row.verdict) for row in rows] == [
        ("G14 memory", "aim"),
        ("G14 idle", "broken"),
        ("G8", "aim"),
    ]
    assert rows[1].note == "RuntimeError: the server ended"
