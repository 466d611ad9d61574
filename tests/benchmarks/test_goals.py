"""The goals have two marks that agree, and each belongs to one case of the bench."""

import pytest

from benchmarks.__main__ import CASES
from benchmarks.goals import GOALS, Goal, goals_of


@pytest.mark.parametrize("goal", GOALS.values(), ids=lambda goal: goal.name)
def test_an_aim_is_at_least_as_good_as_what_a_row_must_reach(goal: Goal) -> None:
    assert (goal.must is None) == (goal.aim is None)
    if goal.must is not None and goal.aim is not None:
        assert goal.reached(goal.aim, goal.must)


def test_every_goal_belongs_to_one_case() -> None:
    found = [goal.name for case in CASES for goal in goals_of(case)]
    assert sorted(found) == sorted(GOALS)


def test_a_ratio_is_better_for_a_cheaper_subject() -> None:
    floor = Goal("floor", "the floor to the subject", 0.5, 1)
    most = Goal("most", "the subject to another", 1.3, 1.1, "times", least=False)
    assert floor.ratio(subject=100, other=50) == 0.5
    assert most.ratio(subject=100, other=50) == 2
    assert floor.reached(0.5, 0.5)
    assert not floor.reached(0.49, 0.5)
    assert most.reached(1.3, 1.3)
    assert not most.reached(1.31, 1.3)
