"""Rounds: the subject and its floor alternate, A B A B A B A, so that other load affects both.

The ratio of a round is the floor's CPU to the mean of the subject's before and after it. The figure is the median of
the ratios. The spread is their width divided by their median. If it is above 35 %, the case runs once more. If the
better run is still that wide and its rounds disagree about the mark, the verdict is `noisy`, never `must`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Literal

from benchmarks.goals import Goal

Verdict = Literal["aim", "must", "fail", "noisy", "broken", ""]
MAX_SPREAD = 0.35
Cost = Callable[[], float]  # one run; microseconds of CPU for one request


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report. `unlimited` is the figure of the same case with rate limits off."""

    goal: Goal
    figure: float
    verdict: Verdict
    subject: str = ""
    floor: str = ""
    spread: float | None = None
    note: str = ""
    unlimited: float | None = None

    @property
    def failed(self) -> bool:
        return self.verdict in ("fail", "broken")


def compare(goal: Goal, subject: Cost, floor: Cost, rounds: int, unlimited: Cost | None = None) -> Row:
    """Measure a ratio in rounds, twice if they vary widely."""
    row = _once(goal, subject, floor, rounds, unlimited)
    if (row.spread or 0) > MAX_SPREAD:
        again = _once(goal, subject, floor, rounds, unlimited)
        row = min(row, again, key=lambda one: one.spread or 0)
    return row


def repeat(goal: Goal, cost: Cost, rounds: int) -> Row:
    """Measure a cost several times; the figure is the median."""
    taken = [cost() for _ in range(rounds)]
    figure = median(taken)
    spread = (max(taken) - min(taken)) / figure
    return Row(goal, figure, verdict(goal, taken, spread), spread=spread)


def absolute(goal: Goal, figure: float, subject: str = "", floor: str = "", note: str = "") -> Row:
    """Compare an absolute figure with its marks."""
    return Row(goal, figure, verdict(goal, [figure], 0), subject, floor, None, note)


def broken(goal: Goal, error: Exception) -> Row:
    """Return the row of a case that raised an error."""
    return Row(goal, float("nan"), "broken", note=" ".join(f"{type(error).__name__}: {error}".split())[:300])


def noted(row: Row, note: str) -> Row:
    return replace(row, note=note)


def verdict(goal: Goal, figures: list[float], spread: float) -> Verdict:
    """Judge the median; `noisy` if the rounds vary widely and disagree about the mark."""
    if goal.must is None:
        return ""
    agree = {goal.reached(figure, goal.must) for figure in figures}
    if spread > MAX_SPREAD and len(agree) > 1:
        return "noisy"
    figure = median(figures)
    if goal.aim is not None and goal.reached(figure, goal.aim):
        return "aim"
    return "must" if goal.reached(figure, goal.must) else "fail"


def _once(goal: Goal, subject: Cost, floor: Cost, rounds: int, unlimited: Cost | None) -> Row:
    ours, theirs, off = [subject()], [], []
    for _ in range(rounds):
        theirs.append(floor())
        off += [unlimited()] if unlimited else []
        ours.append(subject())
    ratios = [goal.ratio(mean(ours[place : place + 2]), cost) for place, cost in enumerate(theirs)]
    figure = median(ratios)
    spread = (max(ratios) - min(ratios)) / figure
    without = median(map(goal.ratio, off, theirs)) if off else None
    return Row(
        goal, figure, verdict(goal, ratios, spread), _micro(ours), _micro(theirs), spread, unlimited=without
    )  # fmt: skip


def _micro(costs: list[float]) -> str:
    return f"{median(costs):.0f} µs"
