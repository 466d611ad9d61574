"""Rounds: the subject and its floor alternate, A B A B A B A, so that other load affects both.

The ratio of a round is the floor's CPU divided by the mean of the subject's before and after it. The figure is the
median of the ratios. The spread is their width divided by their median. If it is above 35 %, the case runs once more.
If the better run is still that wide and its rounds disagree about the mark, the verdict is `noisy`, never `pass`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, median
from typing import Literal

from benchmarks.goals import Goal

Verdict = Literal["pass", "fail", "noisy"]
MAX_SPREAD = 0.35
Cost = Callable[[], float]  # one run; microseconds of CPU for one request


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report."""

    goal: Goal
    figure: float
    verdict: Verdict
    subject: str = ""
    floor: str = ""
    spread: float | None = None
    note: str = ""


def compare(goal: Goal, subject: Cost, floor: Cost, rounds: int, note: str = "") -> Row:
    """Return the ratio floor : subject of a goal."""
    row = _once(goal, subject, floor, rounds, note)
    if (row.spread or 0) > MAX_SPREAD:
        again = _once(goal, subject, floor, rounds, note)
        row = min(row, again, key=lambda one: one.spread or 0)
    return row


def absolute(goal: Goal, figure: float, subject: str = "", floor: str = "", note: str = "") -> Row:
    """Compare an absolute figure with its mark."""
    verdict: Verdict = "pass" if goal.reached(figure, goal.mark) else "fail"
    return Row(goal, figure, verdict, subject, floor, None, note)


def _once(goal: Goal, subject: Cost, floor: Cost, rounds: int, note: str) -> Row:
    ours, theirs = [subject()], []
    for _ in range(rounds):
        theirs.append(floor())
        ours.append(subject())
    ratios = [cost / mean(ours[place : place + 2]) for place, cost in enumerate(theirs)]
    figure = median(ratios)
    spread = (max(ratios) - min(ratios)) / figure
    return Row(goal, figure, _verdict(goal, ratios, spread), _micro(ours), _micro(theirs), spread, note)


def _verdict(goal: Goal, ratios: list[float], spread: float) -> Verdict:
    agree = {goal.reached(ratio, goal.mark) for ratio in ratios}
    if spread > MAX_SPREAD and len(agree) > 1:
        return "noisy"
    return "pass" if goal.reached(median(ratios), goal.mark) else "fail"


def _micro(costs: list[float]) -> str:
    return f"{median(costs):.0f} µs"
